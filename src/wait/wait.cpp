// SPDX-License-Identifier: MIT
// Relaxed: alerts are raised where they matter; a task's own deadline, before its ticket.
#include "sched/director.hpp"
#include "sched/dispatch.hpp"
#include "sched/park.hpp"
#include "sched/scope.hpp"
#include "sched/virtual_time.hpp"
#include "weft/detail/point.hpp"
#include "weft/detail/wait_core.hpp"

namespace weft::inline v0 {

const char* to_string(WaitResult result) {
  switch (result) {
    case WaitResult::done:
      return "done";
    case WaitResult::timed_out:
      return "timed_out";
    case WaitResult::cancelled:
      return "cancelled";
  }
  return "?";
}

}  // namespace weft::inline v0

namespace weft::inline v0::detail {

bool begin_round(WaitRound& round, const WaitInfo& info, WaitEnd& end) {
  if (round.task == nullptr) round.task = task_here();
  TaskCore& task = *round.task;
  if (round.raise == Raise::quietly && cancel_due(task)) {
    end = WaitEnd::cancelled;
    return false;
  }
  if (round.raise == Raise::yes && !round.offered) {
    round.offered = true;
    offer_wait(info, round.deadline);
  }
  begin_wait(task, info, round.deadline, round.raise);
  if (round.deadline != seam::no_deadline && time_here() >= round.deadline) {
    end_round(round);
    end = WaitEnd::timed_out;
    return false;
  }
  return true;
}

void end_round(WaitRound& round) {
  round.task->wait = nullptr;
}

WakeReason park_round(WaitRound& round) {
  return finish_wait(*round.task, round.raise);
}

bool go_on(WaitRound& round, WakeReason reason, WaitEnd& end) {
  TaskCore& task = *round.task;
  if (round.raise == Raise::yes && (reason == WakeReason::cancel || reason == WakeReason::timeout))
    raise_if_cancelled(task);
  if (round.raise == Raise::quietly && cancel_due(task)) {
    end = WaitEnd::cancelled;
    return false;
  }
  if (reason == WakeReason::timeout && round.deadline != seam::no_deadline && time_here() >= round.deadline) {
    end = WaitEnd::timed_out;
    return false;
  }
  return true;
}

const TaskCore* running_task() {
  return this_task();
}

void take_turn() {
  if (points_are_on && director_here() != nullptr) [[unlikely]] {
    come_to_point("turn");
    return look_here("turn");
  }
  yield_and_look();
}

}  // namespace weft::inline v0::detail
