// SPDX-License-Identifier: MIT
// refused: throw_bad_mask_letter
#include "weft/mask.hpp"

constexpr weft::Mask mask = "yez";
