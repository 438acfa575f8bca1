// SPDX-License-Identifier: MIT
// What: what the fiber floor keeps per OS thread: the root fiber, a cache of stacks, a block of ids, the alternate
// signal stack. Reached through a fiber's root, never through a thread_local address kept over a switch.
// Threads: its own thread only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fiber/tool_hooks.hpp"
#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {

struct Failure;  // the trace of the last error that left a fiber on this thread

struct Carrier {
  static constexpr std::size_t cache_size = 64;

  FiberCore root;
  Slot cache[cache_size];     // stacks of the default size
  unsigned cached_shift = 0;  // that size; 0 until one was made here
  std::size_t cached = 0;
  std::size_t limit = cache_size;  // 0 while the thread ends: nothing is cached any more
  std::uint64_t next_id = 0;
  std::uint64_t end_id = 0;
  Failure* failure = nullptr;
  void* alt_stack = nullptr;
};

std::uint64_t fresh_id_block(Carrier& carrier);
Slot take_stack_slow(Carrier& carrier, std::size_t usable);
void give_stack_slow(Carrier& carrier, Slot slot) noexcept;

inline std::uint64_t fresh_id(Carrier& carrier) {
  if (carrier.next_id == carrier.end_id) [[unlikely]]
    return fresh_id_block(carrier);
  return carrier.next_id++;
}

inline Slot take_stack(Carrier& carrier, std::size_t usable) {
  if (usable == 0 && carrier.cached > 0) [[likely]]
    return carrier.cache[--carrier.cached];
  return take_stack_slow(carrier, usable);
}

inline void give_stack(Carrier& carrier, Slot slot) noexcept {
  forget_stack_contents(slot);
  if (slot.shift == carrier.cached_shift && carrier.cached < carrier.limit) [[likely]] {
    carrier.cache[carrier.cached++] = slot;
    return;
  }
  give_stack_slow(carrier, slot);
}
void drop_failure(Carrier& carrier) noexcept;

}  // namespace weft::inline v0::detail
