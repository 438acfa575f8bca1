// SPDX-License-Identifier: MIT
// What: fork() while a runtime lives. The child has one thread, the one that forked, and none of the workers, so
// nothing that waits there would ever go on. exec and _exit are what such a child may do; whatever would wait, yield,
// spawn from outside, run or end a task is refused with a message, and the child exits with 70.
// Without a living runtime a fork is nobody's concern: the child may start one.
// Invariants
//   [FORK-1] The handler runs in the child before fork() returns there, and only stores two flags.
//   [FORK-2] The alert of the thread's root sends each suspension point by its slow path, which asks; so the fast ones
//            pay nothing.
// Threads: any.
#pragma once

#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {

// When the first runtime is made.
void watch_forks();
// Is this a child of a process with runtimes, which it has not got?
bool is_fork_child() noexcept;
[[noreturn]] void refuse_fork_child() noexcept;

// At a suspension point. relaxed: the flag is this thread's own
inline void refuse_if_forked(const FiberCore& root) {
  if (root.alert.load(std::memory_order_relaxed) & alert_forked) [[unlikely]]
    refuse_fork_child();
}

}  // namespace weft::inline v0::detail
