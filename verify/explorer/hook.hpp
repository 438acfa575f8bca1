// SPDX-License-Identifier: MIT
#pragma once
// What: what the instrumented seam tells the explorer. An operation calls point(), which returns when this logical
//   thread is the one to go on, then acts, then calls done() with the values it saw and left.
// Invariants:
//   [HOOK-1] Between the return of point() and the next point() no other logical thread runs.
//   [HOOK-2] Nothing here is called unless exploring() is true: code outside an exploration does the real operation.
// Threads: the one OS thread that explores.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

namespace weft::inline v0::verify::hook {

enum class Op : std::uint8_t {
  begin,
  load,
  store,
  exchange,
  compare_exchange,
  compare_exchange_weak,
  fetch_add,
  fetch_sub,
  fetch_and,
  fetch_or,
  fetch_xor,
  fence,
  light_fence,
  heavy_fence,
  lock,
  try_lock,
  unlock,
  futex_wait,
  futex_sleep,
  futex_wake,
  pause,
  yield,
  sleep,
  start,
  join,
};

struct Access {
  Op op = Op::begin;
  const void* object = nullptr;  // atomic, lock or futex word; for join the thread
  std::memory_order order = std::memory_order_seq_cst;
  bool pointer = false;  // the values are addresses: shown as labels
};

extern bool running;  // user code of a logical thread is on the processor
inline bool exploring() noexcept {
  return running;
}

void point(const Access& access) noexcept;
// The step read `before` and left `after`; wrote says whether it changed the object. A compare_exchange that failed
// gives its failure order.
void done(std::uint64_t before, std::uint64_t after, bool wrote, std::memory_order order) noexcept;

// An atomic object came to life at this address: what was known of the address is forgotten.
void created(const void* object) noexcept;

// Store buffers. store_delayed() after point(store): keep the value back. pending_store() finds the thread's own one.
using WriteBack = void (*)(void* object, const void* bytes);
bool store_delayed() noexcept;
void buffer_store(void* object, const void* bytes, std::size_t size, WriteBack write) noexcept;
bool pending_store(const void* object, void* bytes, std::size_t size) noexcept;
bool cas_fails_spuriously() noexcept;

enum class Wake : std::uint8_t { woken, timed_out };
Wake futex_sleep(const void* word, std::int64_t deadline) noexcept;
int futex_wake(const void* word, int count) noexcept;
std::int64_t now() noexcept;
void advance(std::int64_t ns) noexcept;
std::uint64_t seed() noexcept;

int start_thread(const char* name, std::move_only_function<void()> body);
void join_thread(int thread) noexcept;

// Race check of a plain variable; no scheduling point.
void plain_access(const void* object, bool write) noexcept;

template <class T>
std::uint64_t to_bits(const T& value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value < sizeof bits ? sizeof value : sizeof bits);
  return bits;
}

}  // namespace weft::inline v0::verify::hook
