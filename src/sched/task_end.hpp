// SPDX-License-Identifier: MIT
// What: how tasks end, whether they ran or not, and who is told.
#pragma once

#include <cstdint>
#include <exception>
#include <source_location>
#include <string>

#include "sched/runtime_core.hpp"
#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {

// A child begins. It is counted only now, and not at all if it ends where it began to run in place: until then the
// owner of its nursery stands for it, who ends later [LIVE-1].
inline void count_begun(Worker& worker, const TaskCore& task) {
  if (task.nursery != nullptr) worker.runtime->live.started(worker.index);
}

// The body is over, and what it bound is to die.
void end_body(TaskCore* task, std::exception_ptr failure);
enum class TaskEnd : std::uint8_t { over, cancelled, unstarted };
// The same when nothing is bound. Not after this: the record may be another task's.
void end_task(TaskCore* task, std::exception_ptr failure, TaskEnd how);
// It was asked to stop before it started: its closure is destroyed, here, as a task.
void cancel_unstarted(TaskCore* task);
// There is no stack for it. On the worker's loop: the destructor of its closure holds up the worker if it waits.
void fail_unstarted(TaskCore* task, std::exception_ptr why);

// Nobody will ever look at this failure: says so on stderr, with its trace.
void report_unobserved(const TaskCore& task, const std::exception_ptr& failure);
void report_failure(const std::string& who, const std::source_location& site, const std::exception_ptr& failure);

// It was never launched and will not be: its closure is destroyed; the drop of its handle frees the record.
void abandon_task(TaskCore* task);

}  // namespace weft::inline v0::detail
