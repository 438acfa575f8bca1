// SPDX-License-Identifier: MIT
// What: how deep the tasks of each spawn site have used their stacks, with WEFT_STACK_WATERMARK=1. Without it nothing
// is measured and nothing paid: workers watch their switches only if somebody wants to see them. Threads: note by who
// runs on the stack; the text any.
#pragma once

#include <source_location>
#include <string>

#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {

// A task of this site has ended on this stack, whose next user shall not see its traces. To within a page.
void note_stack_depth(const FiberCore& core, const std::source_location& site);
// A line per site, 'stack_high_water{site="file:line"} bytes'.
std::string stack_marks_text();

}  // namespace weft::inline v0::detail
