// SPDX-License-Identifier: MIT
// What: who runs next, and how control gets there. The only code that takes from run queues, and, with make_ready and
// inject, the only code that puts into them.
// Relaxed: for dumps only.
#pragma once

#include "sched/runtime_core.hpp"
#include "weft/detail/nursery_core.hpp"

namespace weft::inline v0::detail {

// --- On any stack of the worker.

// The stack that was left becomes somebody else's to run. First thing after every switch [WKR-1].
void arrive(Worker& worker);

// The next thing to run, from what is this worker's own; nothing, also now and then when there is something: then the
// loop looks at everything.
Entry next_local(Worker& worker);

// Leaves `self` for what `entry` names, or for the loop if it names nothing. Returns when somebody comes back to
// `self`, with what they passed.
void* leave_for(Worker& worker, FiberCore* self, Entry entry);

// --- Putting in.

// Where a task belongs that has begun and not ended. A nursery's children run where their nursery does, which is told
// without a look at the stack of the task: of a million that wait that is in no cache.
inline RuntimeCore* runtime_of(const TaskCore& task) {
  if (task.nursery != nullptr && task.nursery->runtime != nullptr) return task.nursery->runtime;
  return task.root->worker->runtime;
}

// The caller owns the word (Queue::you, or a task that yields): makes it runnable and queues it, once.
void make_ready(TaskCore* task, WakeReason why);
// The same for a batch: true if the task is in `into`, for the caller to queue; false if it had to go elsewhere.
bool gather_ready(RuntimeCore& runtime, TaskCore* task, Chain& into);
// May a task that this worker has woken stand in its queue right away, RUNNABLE, and does nobody want to be told?
bool stays_on(const Worker& worker, const TaskCore& task);
// So many of those, and one more: as if each was made ready, `last` at the end.
void queue_here(Worker& worker, Chain&& ready, std::size_t count, TaskCore* last);
// For the trace, by who claimed it, before it becomes runnable.
void note_wake(const TaskCore& task);
// By who has just ended the last child of `joiner`, on a virtual core that goes back to its loop: the joiner goes on
// right there, without a queue, if it may.
void wake_joiner(Worker& worker, TaskCore* joiner, Ticket ticket);
// From outside, or where there is no place of one's own: the shared queue, and somebody wakes.
void inject(RuntimeCore& runtime, Entry entry);
// To the worker it is pinned to. `here`: the caller's, or null.
void push_pinned(RuntimeCore& runtime, const Worker* here, TaskCore* task);
// migration_check: to a worker that it did not run on last.
void push_elsewhere(RuntimeCore& runtime, TaskCore* task);
// A task that was just spawned, and counted. `young`: to the end of the deque where its joiner looks first.
void launch(RuntimeCore& runtime, Worker* worker, TaskCore* task, bool young);

// --- The worker's own stack.

enum class Until : std::uint8_t {
  stopped,    // the runtime ends
  main_done,  // worker 0 in run()
  drained,    // worker 0 in shutdown(): nothing lives, or the deadline has passed
  polled,     // worker 0 in poll(): something has run and nothing is ready, or the deadline has passed
};
void worker_loop(Worker& worker, Until until);
// The same for a directed runtime, until its director says that it is over.
void directed_loop(Worker& worker);

// From its first instruction to its end, whoever's stack this is. One that was asked to stop before never runs.
void run_body(TaskCore* task);

}  // namespace weft::inline v0::detail
