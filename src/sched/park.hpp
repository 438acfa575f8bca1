// SPDX-License-Identifier: MIT
// What: waiting, from the inside: how a task that found nothing to do leaves its stack, and what it looks at before.
//
//   begin_wait(info, deadline)      raises what is pending, registers the task, notes what it waits for
//   [lock] word.begin_park(); link [unlock]          the waitable's own
//   reason = finish_wait()          looks at the flags, arms the timer, leaves; returns why it came back
//
// Invariants
//   [WAIT-1] Between begin_park() and the switch: no user code, no allocation, no syscall.
//   [WAIT-3] A wait may end by `timeout` before the deadline it was given: a deadline of a scope around it, or the
//            limit of a shield, which ends nothing [SCP-5]. The caller looks at its own deadline, and waits again.
//   [WAIT-2] Whatever the reason, the caller unlinks its node (under the object's lock) before it uses the result.
#pragma once

#include <cstdint>

#include "weft/detail/task_core.hpp"
#include "weft/detail/wait_core.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0::detail {

// If a fiber above catches wait or await it gets the request first, once per wait [WAIT-5].
void offer_wait(const WaitInfo& info, std::int64_t deadline);

// A suspension point begins. With Raise::yes what is pending is thrown. `info` lives until finish_wait returns.
void begin_wait(TaskCore& task, const WaitInfo& info, std::int64_t deadline, Raise raise);
// Parks; the word is PARKING. With Raise::no a cancelled scope does not end the wait.
WakeReason finish_wait(TaskCore& task, Raise raise);
// The word is PARKING, and what was to be waited for has happened: goes on RUNNING.
void call_off_wait(TaskCore& task);

// After a wait that ended by `cancel`: throws if the task is (still) asked to stop; else the wait was woken for
// nothing.
void raise_if_cancelled(TaskCore& task);
// Is it asked to stop, by a deadline that has passed, too?
bool cancel_due(TaskCore& task);

// Ends one wait of a task, with nothing to bring. False: that wait is over.
bool wake_task(TaskCore* task, Ticket ticket, WakeReason reason);

// Raises what is pending, and does not wait.
void look_here(const char* kind);

void yield_task();
// The suspension point: raises what is pending first.
void yield_and_look();
WaitEnd sleep_until_ns(std::int64_t deadline, Raise raise);

// Waits until the task has ended.
void join_task(TaskCore& target, std::int64_t deadline, Raise raise, WakeReason& reason);

}  // namespace weft::inline v0::detail
