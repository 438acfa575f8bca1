// SPDX-License-Identifier: MIT
// What: where task records come from: a free list per worker, and one locked pool of the process behind them. Records
// are never given back to the system [TASK-1].
#pragma once

#include <cstddef>

#include "weft/detail/worker_core.hpp"

namespace weft::inline v0::detail {

// For threads without a worker. Throws std::bad_alloc.
TaskCore* take_shared_record();
void give_shared_record(TaskCore* task) noexcept;
// All of a worker's, when it ends.
void give_all_records(WorkerCore* worker) noexcept;

struct RecordStats {
  std::size_t made = 0;    // ever
  std::size_t pooled = 0;  // in the shared pool
};
RecordStats record_stats();
// Visits every record ever made; for dumps.
void for_each_record(void (*visit)(TaskCore* task, void* context), void* context);

// Puts a record that will never be waited for again back where it came from.
void free_record(TaskCore* task) noexcept;

// The task of a plain thread: word and futex, so that the same protocol serves it.
TaskCore* make_thread_task(FiberCore* root);
// How many threads have one.
unsigned thread_tasks() noexcept;
// Each of them, which does not end meanwhile.
void for_each_thread_task(void (*visit)(const TaskCore& task, void* context), void* context);
// Makes it if there is none; without memory the thread stays unknown.
void know_this_thread() noexcept;
// This thread's, if it has one, goes: until its next use of a primitive nobody knows the thread.
void drop_thread_task() noexcept;

}  // namespace weft::inline v0::detail
