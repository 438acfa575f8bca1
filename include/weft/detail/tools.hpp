// SPDX-License-Identifier: MIT
// What: what AddressSanitizer and ThreadSanitizer must be told of each switch, and of exceptions that threads share. In
// a plain build all of it is empty. (Valgrind learns of stacks when they are carved, src/fiber/tool_hooks.hpp, and sees
// the rest.)
#pragma once

#include <cstddef>
#include <exception>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_TSAN 1
#endif
#endif
#ifndef WEFT_ASAN
#define WEFT_ASAN 0
#endif
#ifndef WEFT_TSAN
#define WEFT_TSAN 0
#endif

#if WEFT_ASAN
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom, std::size_t size);
void __sanitizer_finish_switch_fiber(void* fake_stack_save, const void** bottom_old, std::size_t* size_old);
void __asan_poison_memory_region(const volatile void* address, std::size_t size);
void __asan_unpoison_memory_region(const volatile void* address, std::size_t size);
}
#endif
#if WEFT_TSAN
extern "C" {
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace weft::inline v0::detail {

// Kept in every fiber so that its layout does not depend on the build; unused words in a plain build.
struct ToolState {
  const void* bottom = nullptr;  // lowest usable address of the stack
  std::size_t size = 0;
  void* fake_stack = nullptr;  // ASan's, of who has left with the intent to come back
  void* tsan_fiber = nullptr;
};

[[gnu::always_inline]] inline void tools_before_switch([[maybe_unused]] ToolState& from, [[maybe_unused]] ToolState& to,
                                                       [[maybe_unused]] bool last) {
#if WEFT_ASAN
  __sanitizer_start_switch_fiber(last ? nullptr : &from.fake_stack, to.bottom, to.size);
#endif
#if WEFT_TSAN
  __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
}

[[gnu::always_inline]] inline void tools_after_switch([[maybe_unused]] ToolState& self) {
#if WEFT_ASAN
  void* const kept = self.fake_stack;
  self.fake_stack = nullptr;
  __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
#endif
}

// The owners of an exception are counted inside libstdc++, where ThreadSanitizer does not look: who has read one says
// so, and who keeps one for later does before it may be the last to let it go.
inline void tools_error_was_read([[maybe_unused]] const std::exception_ptr& error) noexcept {
#if WEFT_TSAN
  if (error != nullptr) __tsan_release(*reinterpret_cast<void* const*>(&error));
#endif
}
inline void tools_error_goes([[maybe_unused]] const std::exception_ptr& error) noexcept {
#if WEFT_TSAN
  if (error != nullptr) __tsan_acquire(*reinterpret_cast<void* const*>(&error));
#endif
}

}  // namespace weft::inline v0::detail
