// SPDX-License-Identifier: MIT
// What: a clock that stands still while anything can run: the deadlines of all tasks of a runtime in one list, ordered
// by (deadline, order of arming), and the time, which moves to the first of them when nothing else can happen.
// Invariants
//   [VT-1] The time moves in step() only, and step() is called when nobody runs, is ready or is awaited from outside.
//   [VT-2] A node that was left armed by an earlier wait moves no clock: it is dropped, or goes to where its task waits
//          now.
//   [VT-3] It does not move while an external party is known: a request to the outside, an ExternalWait, another
//          runtime that runs or will by itself, a thread that has used a primitive and neither waits in one for ever
//          nor drives a runtime. These are looked at twice, before and after the runtime's own queues, and did nothing
//          in between.
// Threads: now: any; arm: the task; forget: who ends it; step: whoever found the runtime quiet.
// Rejected: the wheels of the workers (they round to 65 us, and know no order among them).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/detail/chain.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {

class VirtualTime {
 public:
  static constexpr std::uint16_t place = 0xffff;  // TaskCore::timer_place of who stands in the list

  // acquire: who sees a later time sees what was done before it moved
  std::int64_t now() const { return now_.load(std::memory_order_acquire); }
  // The task is PARKING. One whose deadline has passed is not to wait.
  void arm(TaskCore& task, std::int64_t deadline);
  void forget(TaskCore& task);
  // When the next task is due; no_deadline: none.
  std::int64_t earliest();
  // To the next deadline, unless that is after `limit`. Who is due goes to `into`, in order, but for those that are
  // queued already (pinned, of a strand). False: the time has not moved.
  bool step(std::int64_t limit, Chain& into, std::size_t& count);
  // Whether somebody who may do something holds it: then it is looked at again soon, for who ends tells nobody.
  // Under Settling::looking, as let_go. relaxed: a hint for who goes to sleep
  void hold(std::int64_t real_now);
  void let_go() {
    held_.store(false, std::memory_order_relaxed);
    held_since_ = 0;
  }
  bool held() const { return held_.load(std::memory_order_relaxed); }
  // To a time at which something else happens, before any of the deadlines. Never back. relaxed: a director is alone.
  void move_to(std::int64_t when) {
    now_.store(std::max(when, now_.load(std::memory_order_relaxed)), std::memory_order_release);
  }

 private:
  void insert(TaskCore& task, std::int64_t deadline);
  void remove(TaskCore& task);
  TaskCore* first();  // that waits for its time [VT-2]

  seam::SpinLock lock_;
  TimerLink head_{&head_, &head_};  // guarded by lock_
  seam::Atomic<std::int64_t> now_{0};
  seam::Atomic<bool> held_{false};
  std::int64_t held_since_ = 0;  // guarded by Settling::looking, as told_
  bool told_ = false;
};

struct RuntimeCore;
std::int64_t time_of(const RuntimeCore& runtime);
// What time it is for the caller: its runtime's, or the machine's.
std::int64_t time_here();

}  // namespace weft::inline v0::detail
