// SPDX-License-Identifier: MIT
#include "fiber/tool_hooks.hpp"

#include <pthread.h>

#include "weft/detail/fiber_core.hpp"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define WEFT_VALGRIND 1
#endif

namespace weft::inline v0::detail {

bool on_valgrind() noexcept {
#ifdef WEFT_VALGRIND
  return RUNNING_ON_VALGRIND != 0;
#else
  return false;
#endif
}

ToolsLookAway::ToolsLookAway() noexcept {
#ifdef WEFT_VALGRIND
  VALGRIND_DISABLE_ERROR_REPORTING;
#endif
}

ToolsLookAway::~ToolsLookAway() {
#ifdef WEFT_VALGRIND
  VALGRIND_ENABLE_ERROR_REPORTING;
#endif
}

void describe_thread_stack([[maybe_unused]] ToolState& state) {
#if WEFT_ASAN
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* bottom = nullptr;
    std::size_t size = 0;
    pthread_attr_getstack(&attributes, &bottom, &size);
    pthread_attr_destroy(&attributes);
    state.bottom = bottom;
    state.size = size;
  }
#endif
#if WEFT_TSAN
  state.tsan_fiber = __tsan_get_current_fiber();
#endif
}

#if WEFT_ASAN
namespace {

// Says to be there for a moment, and then to leave for ever. Its own frame has no place in what goes.
[[gnu::no_sanitize("address")]] void leave_for_ever(const ToolState& gone, const ToolState& here) noexcept {
  void* mine = nullptr;
  __sanitizer_start_switch_fiber(&mine, gone.bottom, gone.size);
  __sanitizer_finish_switch_fiber(gone.fake_stack, nullptr, nullptr);
  __sanitizer_start_switch_fiber(nullptr, here.bottom, here.size);
  __sanitizer_finish_switch_fiber(mine, nullptr, nullptr);
}

}  // namespace

void drop_fake_stack(ToolState& state) noexcept {
  leave_for_ever(state, current_core()->tools);
  state.fake_stack = nullptr;
}
#endif

}  // namespace weft::inline v0::detail
