// SPDX-License-Identifier: MIT
#pragma once

#include "sched/worker.hpp"
#include "weft/detail/job.hpp"

namespace weft::inline v0::detail {

// A job that somebody else than its forker runs needs a record.
TaskCore* task_for_job(Worker& worker, Job* job);

}  // namespace weft::inline v0::detail
