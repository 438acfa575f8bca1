// SPDX-License-Identifier: MIT
// What: who is there, in which state, waiting for what. weft::dump() is the public half.
//
// What is safe: records are never unmapped, everything else is read by peek() and checked afterwards (task_view.hpp),
// so a dump beside running tasks neither crashes nor holds them up. What is not: without process_vm_readv a stack that
// is given back to the system just then is a fault; and a line about a running task may mix two of its moments.
#pragma once

#include <string>

#include "sched/runtime_core.hpp"

namespace weft::inline v0::detail {

// The tree of one runtime's tasks that have not ended, with stacks. `count`: how many.
std::string dump_runtime(const RuntimeCore& runtime, std::size_t& count);
// The tasks that were still there when shutdown's time was up, on stderr.
void report_refusers(const RuntimeCore& runtime);
// The tasks that were there when shutdown began, and how many values went with their channels, on stderr, if there are
// any.
void report_left_over(RuntimeCore& runtime);

}  // namespace weft::inline v0::detail
