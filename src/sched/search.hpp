// SPDX-License-Identifier: MIT
// What: what a worker does on its own stack: looks at everything, steals, watches, sleeps.
#pragma once

#include "sched/dispatch.hpp"
#include "sched/strand.hpp"

namespace weft::inline v0::detail {

// A ready task that nobody on this runtime's workers woke.
void wake_from_outside(RuntimeCore& runtime, TaskCore* task);
void requeue_yielder(Worker& worker, TaskCore* task);
// From the loop: runs what the entry names until somebody comes back to the loop.
void run_entry(Worker& worker, Entry entry);
// A task that never ran, and may run on the stack at hand; takes the entry then.
TaskCore* fresh_task_of(Worker& worker, Entry& entry);
std::size_t stack_wish(const TaskCore& task);

// Fires what is due in the wheel of `owner`; `worker` may be somebody who rescues it. Returns how many.
std::size_t fire_timers(Worker& worker, Worker& owner, std::int64_t now);

}  // namespace weft::inline v0::detail
