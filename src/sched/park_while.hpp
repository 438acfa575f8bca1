// SPDX-License-Identifier: MIT
// What: parks for as long as a flag stays as it is, with whoever changes it ending the wait by wake_task. The flag is
// looked at again after PARKING and a full fence; who changes it runs one, too, before it looks at the task.
#pragma once

#include "base/clock.hpp"
#include "sched/park.hpp"
#include "sched/scope.hpp"
#include "sched/virtual_time.hpp"
#include "weft/wait.hpp"

namespace weft::inline v0::detail {

// unchanged(): an acquire load.
template <class F>
WaitOutcome park_while(F&& unchanged, const WaitInfo& info, std::int64_t deadline, Raise raise) {
  TaskCore& self = *task_here();
  if (!unchanged()) return WaitOutcome::changed;
  if (raise == Raise::quietly && cancel_due(self)) return WaitOutcome::cancelled;
  if (raise == Raise::yes) {
    offer_wait(info, deadline);
    if (!unchanged()) return WaitOutcome::changed;
  }
  for (;;) {
    begin_wait(self, info, deadline, raise);
    (void)self.word.begin_park();
    seam::fence(std::memory_order_seq_cst);  // PARKING before the look; pairs with the changer's
    if (!unchanged()) {
      call_off_wait(self);
      return WaitOutcome::changed;
    }
    const WakeReason reason = finish_wait(self, raise);
    if (!unchanged()) return WaitOutcome::changed;
    if (raise == Raise::yes && (reason == WakeReason::cancel || reason == WakeReason::timeout))
      raise_if_cancelled(self);
    if (raise == Raise::quietly && cancel_due(self)) return WaitOutcome::cancelled;
    if (raise == Raise::no && reason == WakeReason::cancel) continue;
    if (reason != WakeReason::timeout) return WaitOutcome::woken;
    if (time_here() >= deadline) return WaitOutcome::timed_out;
    // Only a shield's time was over [SCP-5], and nothing around it asks.
  }
}

// The same, also ended by an unpark that came before it began [UNP-1].
template <class F>
WaitOutcome park_unless_unparked(F&& unchanged, const WaitInfo& info, std::int64_t deadline, Raise raise) {
  auto& life = task_here()->life;
  const WaitOutcome outcome = park_while([&] { return unchanged() && !UnparkLatch::set(life); }, info, deadline, raise);
  const bool unparked = UnparkLatch::clear(life);  // [UNP-2]
  return unparked && outcome != WaitOutcome::cancelled && unchanged() ? WaitOutcome::woken : outcome;
}

}  // namespace weft::inline v0::detail
