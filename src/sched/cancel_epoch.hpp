// SPDX-License-Identifier: MIT
// What: the cancel epoch of the process, which spares a scope the walk to its root while nothing is requested [SCP-4];
// see include/weft/detail/scope_core.hpp for the rules.
// Threads: any.
#pragma once

#include <cstdint>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

struct CancelEpoch {
  using Word = seam::Atomic<std::uint32_t>;

  // By who has set a request or opened a shield: who sees the new epoch sees that, too.
  static void grow(Word& epoch) { epoch.fetch_add(1, std::memory_order_release); }

  // The same by who then wakes those that have looked before. A parker that still finds the old epoch after its light
  // fence is found parking [SCP-2].
  static void grow_before_walk(Word& epoch) {
    grow(epoch);
    seam::heavy_fence();  // [SCP-2]
  }

  // Does walk() find a request? It is called only if something was requested since the last that found none.
  template <class Scope, class Walk>
  static bool look(const Word& epoch, Scope& scope, Walk&& walk) {
    const std::uint32_t before = epoch.load(std::memory_order_acquire);
    // relaxed: a number that is compared with the process's, which is acquired
    if (scope.clean_epoch.load(std::memory_order_relaxed) == before) [[likely]]
      return false;
    if (walk()) return true;
    scope.clean_epoch.store(before, std::memory_order_relaxed);
    return false;
  }
};

}  // namespace weft::inline v0::detail
