// SPDX-License-Identifier: MIT
#include "sched/park.hpp"
#include "sched/scope.hpp"
#include "weft/wait.hpp"

namespace weft::inline v0 {

using namespace detail;

const char* to_string(WaitOutcome outcome) {
  switch (outcome) {
    case WaitOutcome::changed:
      return "changed";
    case WaitOutcome::woken:
      return "woken";
    case WaitOutcome::timed_out:
      return "timed_out";
    case WaitOutcome::cancelled:
      return "cancelled";
  }
  return "?";
}

void Unparker::unpark() const {
  if (task_ == nullptr || task_->id != id_) return;
  seam::fence(std::memory_order_seq_cst);  // the flag before the look; pairs with park_if's
  const TaskMoment now = task_->word.look();
  if (now.state() == TaskState::parking) wake_task(task_, now.ticket(), WakeReason::flag);
}

Unparker unparker() {
  TaskCore* task = task_here();
  return {task, task->id};
}

namespace {

WaitOutcome park(const std::atomic<std::uint32_t>& flag, std::uint32_t expected, std::int64_t deadline, Raise raise) {
  TaskCore& self = *task_here();
  if (flag.load(std::memory_order_acquire) != expected) return WaitOutcome::changed;
  const WaitInfo info{"park_if", &flag, nullptr};
  if (raise == Raise::yes) {
    offer_wait(info, deadline);
    if (flag.load(std::memory_order_acquire) != expected) return WaitOutcome::changed;
  }
  for (;;) {
    begin_wait(self, info, deadline, raise);
    (void)self.word.begin_park();
    seam::fence(std::memory_order_seq_cst);  // PARKING before the look; pairs with unpark's
    if (flag.load(std::memory_order_acquire) != expected) {
      call_off_wait(self);
      return WaitOutcome::changed;
    }
    const WakeReason reason = finish_wait(self, raise);
    if (flag.load(std::memory_order_acquire) != expected) return WaitOutcome::changed;
    if (raise == Raise::yes && (reason == WakeReason::cancel || reason == WakeReason::timeout))
      raise_if_cancelled(self);
    if (raise == Raise::quietly && cancel_due(self)) return WaitOutcome::cancelled;
    if (reason != WakeReason::timeout) return WaitOutcome::woken;
    if (seam::monotonic_ns() >= deadline) return WaitOutcome::timed_out;
    // Only a shield's time was over [SCP-5], and nothing around it asks.
  }
}

}  // namespace

WaitOutcome park_if(const std::atomic<std::uint32_t>& flag, std::uint32_t expected) {
  return park(flag, expected, seam::no_deadline, Raise::yes);
}

WaitOutcome park_if_for(const std::atomic<std::uint32_t>& flag, std::uint32_t expected, std::chrono::nanoseconds span) {
  return park(flag, expected, deadline_after(span), Raise::yes);
}

WaitOutcome park_if_quietly(const std::atomic<std::uint32_t>& flag, std::uint32_t expected) noexcept {
  if (flag.load(std::memory_order_acquire) == expected && cancel_due(*task_here())) return WaitOutcome::cancelled;
  return park(flag, expected, seam::no_deadline, Raise::quietly);
}

}  // namespace weft::inline v0
