// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace weft::inline v0::detail {

// What two cores fight over. A constant of ours, not std::hardware_destructive_interference_size: that one changes with
// compiler flags, and layouts must not.
inline constexpr std::size_t cache_line = 64;

}  // namespace weft::inline v0::detail
