// SPDX-License-Identifier: MIT
// What: who is there, in which state, waiting for what.
#pragma once

#include <string>

#include "sched/runtime_core.hpp"

namespace weft::inline v0::detail {

// The tasks that were still there when shutdown's time was up, on stderr.
void report_refusers(const RuntimeCore& runtime);

}  // namespace weft::inline v0::detail
