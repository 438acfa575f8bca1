// SPDX-License-Identifier: MIT
// What: the shared pools behind the per-thread stack caches (src/fiber/carrier.hpp).
// Invariants: [POOL-1] pool_release never allocates and never fails.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/stack.hpp"

namespace weft::inline v0::detail {

// The size class that serves `usable` bytes (0: the default). Throws StackError when none does.
unsigned shift_for(std::size_t usable);
Slot pool_allocate(unsigned shift);
// All of one size.
void pool_release(const Slot* slots, std::size_t count) noexcept;

// Pooled stacks keep the pages that they have touched; all but the 1024 used last give them back. With a keeper, who
// calls trim_cold_stacks() from time to time, those give back which nobody has needed for a second; without one
// (fibers, and no runtime) releasing does it at once.
void begin_keeping_stacks() noexcept;
void end_keeping_stacks() noexcept;
// Returns when to call it again: no_deadline if nothing is to be given back.
std::int64_t trim_cold_stacks(std::int64_t now) noexcept;

}  // namespace weft::inline v0::detail
