// SPDX-License-Identifier: MIT
// What: floating-point control words for fibers that asked for their own. Such a fiber and everything that it resumes
// is a domain; leaving a domain saves the words there, entering one loads them. The side that leaves does both.
#pragma once

#include <cstdint>

#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {

// The present thread's words are those of this fiber's domain: by who may be entered before it was left with care. A
// worker's loop is left as if nobody had words of his own, until somebody has.
void fp_words_note(FiberCore* fiber);
// And they become those again.
void fp_words_recall(FiberCore* fiber);
void fp_words_change(FiberCore* from, FiberCore* to);
void fp_words_default(std::uint32_t (&words)[2]);

inline void fp_words_switch(FiberCore* from, FiberCore* to) {
  if ((from->place | to->place) & above_fp) [[unlikely]]
    fp_words_change(from, to);
}

}  // namespace weft::inline v0::detail
