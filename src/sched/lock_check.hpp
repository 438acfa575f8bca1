// SPDX-License-Identifier: MIT
// What: the scheduler's half of weft/lock_check.hpp.
#pragma once

#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {

// The task is about to wait or to yield, and its root says that it holds something (alert_held). Before it is PARKING.
void report_held(const TaskCore& task);

}  // namespace weft::inline v0::detail
