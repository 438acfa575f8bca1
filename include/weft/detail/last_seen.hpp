// SPDX-License-Identifier: MIT
// What: who used something last, noted in debug builds for the reports of deadlocks. A hint, not proof.
// Threads: any.
#pragma once

#include "weft/detail/wait_core.hpp"

namespace weft::inline v0::detail {

#ifdef NDEBUG
inline constexpr bool notes_use = false;
#else
inline constexpr bool notes_use = true;
#endif

// The running task has used it.
inline void note_use([[maybe_unused]] seam::Guessed<const TaskCore*>& side) {
  if constexpr (notes_use) side = running_task();
}
// ... and does not any more.
inline void forget_use([[maybe_unused]] seam::Guessed<const TaskCore*>& side) {
  if constexpr (notes_use) {
    const TaskCore* const seen = side;
    if (seen == running_task()) side = nullptr;
  }
}

}  // namespace weft::inline v0::detail
