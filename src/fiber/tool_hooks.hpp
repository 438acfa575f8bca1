// SPDX-License-Identifier: MIT
// What: what memory tools are told outside of switches: the contents of a stack are garbage now, a fiber came or went.
// Rejected: VALGRIND_STACK_REGISTER. Valgrind keeps one current stack for all threads: a frame that a thread begins
//   after another one has run counts as a switch, and writing to it as an error. Two stacks are at least 256 KiB apart,
//   so --max-stackframe=65536 tells it what is a switch and what a frame, on every thread.
#pragma once

#include <cstdint>

#include "weft/detail/stack.hpp"
#include "weft/detail/tools.hpp"

namespace weft::inline v0::detail {

void describe_thread_stack(ToolState& state);

bool on_valgrind() noexcept;

// While one lives, Valgrind does not report what this thread reads or writes.
class ToolsLookAway {
 public:
  ToolsLookAway() noexcept;
  ~ToolsLookAway();
  ToolsLookAway(const ToolsLookAway&) = delete;
  ToolsLookAway& operator=(const ToolsLookAway&) = delete;
};

inline void open_tool_state([[maybe_unused]] ToolState& state, [[maybe_unused]] Slot slot) {
#if WEFT_ASAN
  state.bottom = reinterpret_cast<const void*>(slot.floor());
  state.size = slot.ceiling() - slot.floor();
  state.fake_stack = nullptr;
#endif
#if WEFT_TSAN
  state.tsan_fiber = __tsan_create_fiber(0);
#endif
}

#if WEFT_ASAN
// ASan frees what it keeps beside a stack at the last switch from it. This does so for a stack that was left to be gone
// on with, and is not.
void drop_fake_stack(ToolState& state) noexcept;
#endif

inline void close_tool_state([[maybe_unused]] ToolState& state) {
#if WEFT_ASAN
  if (state.fake_stack != nullptr) drop_fake_stack(state);
#endif
#if WEFT_TSAN
  __tsan_destroy_fiber(state.tsan_fiber);
#endif
}

// Nobody runs on it any more: who still points into its frames is told so [B5]. `core`: what lies above them, and may
// be looked at all the same [STK-2].
inline void close_stack([[maybe_unused]] Slot slot, [[maybe_unused]] const void* core) {
#if WEFT_ASAN
  const auto top = reinterpret_cast<std::uintptr_t>(core);
  __asan_unpoison_memory_region(core, slot.ceiling() - top);
  __asan_poison_memory_region(reinterpret_cast<void*>(slot.floor()), top - slot.floor());
#endif
}
// Before anything is written to it.
inline void open_stack([[maybe_unused]] Slot slot) {
#if WEFT_ASAN
  __asan_unpoison_memory_region(reinterpret_cast<void*>(slot.floor()), slot.ceiling() - slot.floor());
#endif
}

}  // namespace weft::inline v0::detail
