// SPDX-License-Identifier: MIT
// Relaxed: alerts are raised where they matter; a task's own deadline, before its ticket.
#include "sched/dispatch.hpp"
#include "sched/park.hpp"
#include "sched/scope.hpp"
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

namespace {

// The common case of what begin_round does: nothing is pending, no deadline, nobody catches waits, not the first wait.
[[gnu::always_inline]] inline bool begin_plain(WaitRound& round, const WaitInfo& info) {
  FiberCore* self = current_core();
  FiberCore* root = self->root;
  TaskCore* task = root->task;
  if (root->worker == nullptr || task == nullptr || root->alert.load(std::memory_order_relaxed) != 0 ||
      (self->above() & above_wait) || round.raise != Raise::yes || round.deadline != seam::no_deadline ||
      !(task->flags & task_registered) || !surely_unasked(*task) || task->scope->deadline_within != seam::no_deadline)
    return false;
  round.task = task;
  round.offered = true;
  task->wait = &info;
  task->deadline.store(seam::no_deadline, std::memory_order_relaxed);
  return true;
}

}  // namespace

bool begin_round(WaitRound& round, const WaitInfo& info, WaitEnd& end) {
  if (begin_plain(round, info)) [[likely]]
    return true;
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
  if (round.deadline != seam::no_deadline && seam::monotonic_ns() >= round.deadline) {
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
  if (reason == WakeReason::timeout && round.deadline != seam::no_deadline && seam::monotonic_ns() >= round.deadline) {
    end = WaitEnd::timed_out;
    return false;
  }
  return true;
}

const TaskCore* running_task() {
  return this_task();
}

void take_turn() {
  yield_and_look();
}

void deliver_wake(TaskCore* task) {
  if (task->word.deliver() == TaskWord::Queue::you) make_ready(task, WakeReason::data);
}

}  // namespace weft::inline v0::detail
