// SPDX-License-Identifier: MIT
// What: how deep a stack was used, seen by the deepest word on it that is not zero. Fresh memory is zero; fibers that
// had the stack before leave traces, unless WEFT_STACK_WATERMARK=1 has each one erase its own.
// Threads: the stack's owner, or anybody while nothing runs on it.
#pragma once

#include <cstdint>

namespace weft::inline v0::detail {

// The lowest non-zero word in [floor, top), or top. Looks at resident pages only.
std::uintptr_t deepest_word(std::uintptr_t floor, std::uintptr_t top) noexcept;
// Zeroes everything from the deepest word up to top.
void erase_stack(std::uintptr_t floor, std::uintptr_t top) noexcept;

}  // namespace weft::inline v0::detail
