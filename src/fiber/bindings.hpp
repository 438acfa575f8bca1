// SPDX-License-Identifier: MIT
// What: dynamic bindings as an immutable, reference-counted list. A fiber holds the head of its own list, or looks at
// the list of the fiber it shares with; setting makes a new head, so a snapshot is one retained pointer.
// Threads: nodes are immutable and counted atomically; a head belongs to its fiber.
#pragma once

#include "weft/detail/fiber_core.hpp"
#include "weft/payload.hpp"

namespace weft::inline v0::detail {

struct Binding {
  seam::Atomic<std::uint32_t> refs{1};
  const void* key = nullptr;
  Payload value;
  Binding* next = nullptr;
};

inline FiberCore* bindings_holder(FiberCore* fiber) {
  return fiber->shared_with != nullptr ? fiber->shared_with : fiber;
}
Binding* retain_bindings(Binding* head) noexcept;
void release_bindings(Binding* head) noexcept;
// The fiber stops looking at another one's bindings and sees none.
void stop_sharing(FiberCore* fiber) noexcept;

}  // namespace weft::inline v0::detail
