// SPDX-License-Identifier: MIT
#include "fiber/carrier.hpp"

#include <cxxabi.h>
#include <pthread.h>

#include <new>
#include <utility>

#include "fiber/bindings.hpp"
#include "fiber/options.hpp"
#include "fiber/overflow.hpp"
#include "fiber/stack_pool.hpp"
#include "fiber/terminate.hpp"
#include "fiber/tool_hooks.hpp"

namespace weft::inline v0::detail {
namespace {

// Storage without constructor or destructor, so that fibers may be used by, and after, other thread_local objects.
alignas(Carrier) thread_local unsigned char carrier_storage[sizeof(Carrier)];
thread_local Carrier* this_carrier = nullptr;

// All cached ones but the first `keep`.
void give_back(Carrier& carrier, std::size_t keep) noexcept {
  Slot slots[Carrier::cache_size];
  for (std::size_t i = keep; i < carrier.cached; ++i) slots[i] = carrier.cache[i]->slot;
  pool_release(slots + keep, carrier.cached - keep);
  carrier.cached = keep;
}

void close_carrier(Carrier& carrier) noexcept {
  if (auto* at_end = std::exchange(carrier.at_end, nullptr)) at_end(carrier);
  carrier.limit = 0;
  give_back(carrier, 0);
  drop_failure(carrier);
  release_bindings(std::exchange(carrier.root.bindings, nullptr));
  remove_alt_stack(carrier.alt_stack);
  carrier.alt_stack = nullptr;
}

struct CloseAtThreadEnd {
  ~CloseAtThreadEnd() {
    if (this_carrier != nullptr) close_carrier(*this_carrier);
  }
};
thread_local CloseAtThreadEnd close_at_thread_end;

[[gnu::noinline, gnu::cold]] Carrier* open_carrier() {
  read_options();
  install_terminate_report();
  auto* carrier = new (carrier_storage) Carrier;
  (void)&close_at_thread_end;  // registers its destructor
  FiberCore& root = carrier->root;
  root.mask = sig::all;
  root.state = State::alive;
  root.flags = flag_root;
  root.root = &root;
  root.carrier = carrier;
  root.thread_eh = reinterpret_cast<ThreadEh*>(abi::__cxa_get_globals());
  static seam::Atomic<std::uint32_t> next_root{1};
  const std::uint32_t number = next_root.fetch_add(1, std::memory_order_relaxed);
  root.place = Place{number} << place_root_shift;
  root.claim.favour(number);
  (void)root.claim.take_owned();
  describe_thread_stack(root.tools);
  static const bool asymmetric = seam::enable_asymmetric_fences();
  (void)asymmetric;
  this_carrier = carrier;
  carrier->alt_stack = install_alt_stack();
  return carrier;
}

}  // namespace

FiberCore* thread_root() {
  Carrier* carrier = this_carrier;
  if (carrier == nullptr) [[unlikely]]
    carrier = open_carrier();
  return &carrier->root;
}

std::uint64_t fresh_id_block(Carrier& carrier) {
  static seam::Atomic<std::uint64_t> next_block{1};
  constexpr std::uint64_t block = 1024;
  carrier.next_id = next_block.fetch_add(block, std::memory_order_relaxed);
  carrier.end_id = carrier.next_id + block;
  return carrier.next_id++;
}

FiberCore* take_core_slow(Carrier& carrier, std::size_t usable) {
  const unsigned shift = shift_for(usable);
  if (usable == 0) carrier.cached_shift = shift;
  const Slot slot = pool_allocate(shift);
  auto* core = new (core_of(slot)) FiberCore;
  core->slot = slot;
  return core;
}

void give_core_slow(Carrier& carrier, FiberCore* core) noexcept {
  if (core->slot.shift != carrier.cached_shift || carrier.limit == 0) {
    const Slot slot = core->slot;
    pool_release(&slot, 1);
    return;
  }
  give_back(carrier, Carrier::cache_size / 2);
  carrier.cache[carrier.cached++] = core;
}

Slot allocate_stack(std::size_t usable) {
  const Slot slot = pool_allocate(shift_for(usable));
  open_stack(slot);
  return slot;
}

void release_stack(Slot slot) noexcept {
  pool_release(&slot, 1);
}

}  // namespace weft::inline v0::detail
