// SPDX-License-Identifier: MIT
//
// What: our own bugs stop the program with one line that says what was wrong and where. What the world can cause is
// never an assertion (it is a Result or a signal).
//   WEFT_ASSERT(condition, "text")  always checked
//   WEFT_DEBUG(condition, "text")   checked unless NDEBUG; for hot paths
//   WEFT_SPEC(condition, "text")    a rule of the task lifecycle: checked unless NDEBUG, and with NDEBUG as soon as
//                                   spec_assertions is set, by WEFT_SPEC_ASSERT=1 or RuntimeOptions::spec_assert
// Threads: any, signal handlers included. The hook is called first, on the failing thread, with the text; upper floors
// add what they know (fiber, state, trace tail), a test or the explorer may leave it by an exception.
#pragma once

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

using AssertHook = void (*)(const char* text, const char* condition, const char* file, int line);

// Returns the hook that was set before; null is none.
AssertHook set_assert_hook(AssertHook hook) noexcept;

// Of the process; never taken back. Who reads it too early misses a check, nothing else.
extern seam::Guessed<bool> spec_assertions;

[[noreturn]] void assert_failed(const char* text, const char* condition, const char* file, int line);

}  // namespace weft::inline v0::detail

#define WEFT_ASSERT(condition, text) \
  (__builtin_expect(!(condition), 0) ? ::weft::detail::assert_failed(text, #condition, __FILE__, __LINE__) : (void)0)

#ifdef NDEBUG
#define WEFT_DEBUG(condition, text) ((void)sizeof(!(condition)))
#else
#define WEFT_DEBUG(condition, text) WEFT_ASSERT(condition, text)
#endif

// WEFT_SPEC_IF(wanted, ...): where the caller knows at compile time that nobody has asked for them, debug builds alone
// check.
#if defined(NDEBUG) && !WEFT_SEAM_VERIFY
#define WEFT_SPEC_IF(wanted, condition, text) ((wanted) ? WEFT_SPEC(condition, text) : (void)0)
#define WEFT_SPEC_ON() __builtin_expect(::weft::detail::spec_assertions, 0)
#define WEFT_SPEC(condition, text) (WEFT_SPEC_ON() ? WEFT_ASSERT(condition, text) : (void)0)
#else
#define WEFT_SPEC_IF(wanted, condition, text) WEFT_ASSERT(condition, text)
#define WEFT_SPEC_ON() true
#define WEFT_SPEC(condition, text) WEFT_ASSERT(condition, text)
#endif
