// SPDX-License-Identifier: MIT
#include "fiber/tool_hooks.hpp"

#include <pthread.h>

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

}  // namespace weft::inline v0::detail
