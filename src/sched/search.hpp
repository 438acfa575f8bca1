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
// A task that never ran, and may run on the stack at hand; takes the entry then. Neither locks, allocates nor throws.
TaskCore* fresh_task_of(Worker& worker, Entry& entry);
std::size_t stack_wish(const TaskCore& task);

// Into the worker's own queues.
void queue_woken(Worker& worker, Chain& woken, std::size_t count);

TaskCore* task_of_timer(TimerNode& node);
// Fires what is due in the wheel of `owner`, who is the caller if `own`. `into`: tasks that are ready now; pinned ones
// and those of strands are queued already. Counts in `counters`, which is the caller's. Returns how many are in `into`.
std::size_t fire_wheel(Worker& owner, bool own, std::int64_t now, WorkerCounters& counters, Chain& into);
// The same by the owner, into its own queues.
void fire_timers(Worker& worker, std::int64_t now);

}  // namespace weft::inline v0::detail
