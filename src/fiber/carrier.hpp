// SPDX-License-Identifier: MIT
// What: what the fiber floor keeps per OS thread: the root fiber, a cache of blank fibers, a block of ids, the
// alternate signal stack. Reached through a fiber's root, never through a thread_local address kept over a switch.
// Invariants
//   [CAR-1] A cached core is blank: every field below "Cold" is as the constructor leaves it. create_core writes the
//           others, so a fiber that lived plainly is used again without being built anew (448 bytes of zeros less).
// Threads: its own thread only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fiber/shared_interrupts.hpp"
#include "fiber/tool_hooks.hpp"
#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {

struct TaskCore;
struct Failure;  // the trace of the last error that left a fiber on this thread

struct RuntimeInterrupts : SharedInterrupts<FiberCore, alert_runtime> {};

struct Carrier {
  static constexpr std::size_t cache_size = 64;

  FiberCore root;
  FiberCore* cache[cache_size];  // blank ones, on stacks of the default size [CAR-1]
  unsigned cached_shift = 0;     // that size; 0 until one was made here
  std::size_t cached = 0;
  std::size_t limit = cache_size;  // 0 while the thread ends: nothing is cached any more
  std::uint64_t next_id = 0;
  std::uint64_t end_id = 0;
  Failure* failure = nullptr;
  void* alt_stack = nullptr;
  void (*at_end)(Carrier&) = nullptr;       // of the floors above: the thread ends
  const TaskCore* behalf = nullptr;         // of them, too: the task for which this thread makes a blocking call
  RuntimeInterrupts* interrupts = nullptr;  // of the runtime whose worker this thread is
  // And whether one is pending for any of the tasks that run on the stack of a root, in each other's place.
  bool (*interrupted_in_place)(const FiberCore& root) = nullptr;
  // The shield of a cleanup for the task that runs on a root, as a scope in this room. Known wherever there is a task.
  void (*open_shield)(const FiberCore& root, void* room) = nullptr;
  void (*close_shield)(void* room) = nullptr;
};

std::uint64_t fresh_id_block(Carrier& carrier);
FiberCore* take_core_slow(Carrier& carrier, std::size_t usable);
void give_core_slow(Carrier& carrier, FiberCore* core) noexcept;

inline std::uint64_t fresh_id(Carrier& carrier) {
  if (carrier.next_id == carrier.end_id) [[unlikely]]
    return fresh_id_block(carrier);
  return carrier.next_id++;
}

// Blank, on a stack with at least `usable` bytes (0: the default).
inline FiberCore* take_core(Carrier& carrier, std::size_t usable) {
  FiberCore* core =
      usable == 0 && carrier.cached > 0 ? carrier.cache[--carrier.cached] : take_core_slow(carrier, usable);
  open_stack(core->slot);
  return core;
}

inline void give_core(Carrier& carrier, FiberCore* core) noexcept {
  close_stack(core->slot, core);
  if (core->slot.shift == carrier.cached_shift && carrier.cached < carrier.limit) [[likely]] {
    carrier.cache[carrier.cached++] = core;
    return;
  }
  give_core_slow(carrier, core);
}
void drop_failure(Carrier& carrier) noexcept;

}  // namespace weft::inline v0::detail
