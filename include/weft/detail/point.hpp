// SPDX-License-Identifier: MIT
// What: where a simulation may let another task go on although the running one need not wait: before a lock, a channel
// operation, a spawn. Elsewhere it costs a load and a compare, or nothing at all (a channel compares its turn with the
// mask instead of with a constant).
// Invariants
//   [POINT-1] Nobody comes to a point with a spin lock held: whoever runs meanwhile would spin for ever.
// Threads: any; switched on while some runtime of the process is directed.
#pragma once

#include <cstdint>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

inline seam::Guessed<bool> points_are_on = false;
inline seam::Guessed<std::uint32_t> turn_mask = 63;  // each 64th operation of a channel lets others run; 0: each one

// Returns at once outside of a simulation. Raises nothing.
void come_to_point(const char* what) noexcept;

[[gnu::always_inline]] inline void point(const char* what) {
  if (points_are_on) [[unlikely]]
    come_to_point(what);
}

}  // namespace weft::inline v0::detail
