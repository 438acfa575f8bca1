// SPDX-License-Identifier: MIT
// What: the shared pools behind the per-thread stack caches (src/fiber/carrier.hpp).
// Invariants: [POOL-1] pool_release never allocates and never fails.
// Threads: any.
#pragma once

#include <cstddef>

#include "weft/detail/stack.hpp"

namespace weft::inline v0::detail {

// The size class that serves `usable` bytes (0: the default). Throws StackError when none does.
unsigned shift_for(std::size_t usable);
Slot pool_allocate(unsigned shift);
// All of one size.
void pool_release(const Slot* slots, std::size_t count) noexcept;

}  // namespace weft::inline v0::detail
