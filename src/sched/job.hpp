// SPDX-License-Identifier: MIT
#pragma once

#include "sched/worker.hpp"
#include "weft/detail/job.hpp"

namespace weft::inline v0::detail {

// A job that somebody else than its forker runs needs a record. The worker has a free one.
TaskCore* task_for_job(Worker& worker, Job* job);
// It is taken, and nobody can run it: its frame has failed with that. On the worker's own stack.
void fail_job(Worker& worker, Job* job, std::exception_ptr why);

}  // namespace weft::inline v0::detail
