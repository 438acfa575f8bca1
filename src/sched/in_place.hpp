// SPDX-License-Identifier: MIT
// What: what the scheduler must know of children that run on their joiner's stack.
//
//   joiner's frames | joiner's call of join | child A's frames | A's join | A's child | ...     one stack, one root
//
// Invariants
//   [PLACE-1] A child that ends where it began, without a wait, a failure or anything left behind, was a call: for its
//             time root->task names it, its word says RUNNING, and nothing else in the world has changed. Its joiner is
//             RUNNING, too; it is counted in ran_in_place alone.
//   [PLACE-2] Before a stack is left for the first time by a task, all who run in place on it stand out: each has
//             task_in_place and is counted as begun [LIVE-1], and its joiner is JOINING. So who ends without the flag
//             has never been away, and is on the worker on which it began.
// Threads: the one that runs the task.
// Rejected: marking the joiner at each join in place (two stores and eight instructions, for a state that nobody
// sees unless the child waits).
#pragma once

#include "weft/detail/nursery_core.hpp"
#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {

// By the running task, once for all before it first leaves its stack [PLACE-2].
void stand_out(TaskCore& task);

// Is an interrupt pending for any of those who run on this stack, one in the place of the other?
bool is_interrupted_in_place(const FiberCore& root);

// How far down a stack must not reach when tasks are to run in place on it: half of it must be left. The highest
// address: they must not at all; or, flat: not without a closer look.
std::uintptr_t in_place_floor(const TaskCore& joiner, const FiberCore& self);
std::uintptr_t flat_floor(const TaskCore& joiner, const FiberCore& core);

}  // namespace weft::inline v0::detail
