// SPDX-License-Identifier: MIT
//
// What: our own bugs stop the program with one line that says what was wrong and where. What the world can cause is
// never an assertion (it is a Result or a signal).
//   WEFT_ASSERT(condition, "text")  always checked
//   WEFT_DEBUG(condition, "text")   checked unless NDEBUG; for hot paths
// Threads: any, signal handlers included. The hook is called first, on the failing thread, with the text; upper floors
// add what they know (fiber, state, trace tail), a test or the explorer may leave it by an exception.
#pragma once

namespace weft::inline v0::detail {

using AssertHook = void (*)(const char* text, const char* condition, const char* file, int line);

// Returns the hook that was set before; null is none.
AssertHook set_assert_hook(AssertHook hook) noexcept;

[[noreturn]] void assert_failed(const char* text, const char* condition, const char* file, int line);

}  // namespace weft::inline v0::detail

#define WEFT_ASSERT(condition, text) \
  (__builtin_expect(!(condition), 0) ? ::weft::detail::assert_failed(text, #condition, __FILE__, __LINE__) : (void)0)

#ifdef NDEBUG
#define WEFT_DEBUG(condition, text) ((void)sizeof(!(condition)))
#else
#define WEFT_DEBUG(condition, text) WEFT_ASSERT(condition, text)
#endif
