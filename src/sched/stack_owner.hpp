// SPDX-License-Identifier: MIT
// What: the rules about stacks that debug builds and WEFT_SPEC_ASSERT=1 check at every switch.
// Invariants
//   [OWN-1] A stack has one worker at a time: from the switch to it until whoever runs after it has arrived.
//   [OWN-2] Nobody who stands on a stack says that it is left, or puts it into a pool.
// Threads: the worker that comes or goes. `owner` of a virtual core is for these checks only.
#pragma once

#include "weft/detail/assert.hpp"
#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {

inline bool stands_on(const FiberCore& core) {
  const std::uintptr_t sp = stack_pointer();
  return core.slot && sp >= core.slot.base && sp < core.slot.ceiling();
}

// [OWN-1]
inline void take_stack(FiberCore& core, unsigned worker) {
  const std::uint32_t before = core.owner.exchange(worker + 1, std::memory_order_acquire);
  WEFT_ASSERT(before == 0, "a stack that another worker runs is switched to");
}
inline void give_stack(FiberCore& core) {
  core.owner.store(0, std::memory_order_release);
}

// [OWN-2]
inline void check_left(const FiberCore& core) {
  WEFT_ASSERT(!stands_on(core), "a stack is said to be left, or pooled, by who stands on it");
}

}  // namespace weft::inline v0::detail
