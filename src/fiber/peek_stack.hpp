// SPDX-License-Identifier: MIT
// What: the stack of a chain of fibers that stands still, walked by somebody else: from the fiber that was left up to
// its root. Frame pointers only.
// Threads: any; the caller checks afterwards that the chain did stand still. It never faults [PEEK-1], and garbage ends
// the walk: each step stays within the stack and goes up.
#pragma once

#include "weft/detail/fiber_core.hpp"
#include "weft/trace.hpp"

namespace weft::inline v0::detail {

Trace peek_stack(const FiberCore* innermost);

}  // namespace weft::inline v0::detail
