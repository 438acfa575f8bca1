// SPDX-License-Identifier: MIT
// What: who waits for the end of a task. Nodes lie on the waiters' stacks, in a list of the record; the lists of all
// records share a few locks, by address. The protocol is join_list.hpp's.
#pragma once

#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {

struct TaskWaiter {
  TaskWaiter* next = nullptr;
  TaskCore* task = nullptr;
  Ticket ticket;
  bool linked = false;
};

seam::SpinLock& waiters_lock(const TaskCore& task);
void wake_waiters(TaskCore& ended);

// Takes the task's timer out of the wheel it may still stand in.
void forget_timer(TaskCore& task);

}  // namespace weft::inline v0::detail
