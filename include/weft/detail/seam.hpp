// SPDX-License-Identifier: MIT
#pragma once
// What: the one door through which the runtime reaches atomics, fences, locks, futexes, clocks, entropy and threads.
//   Normal build: aliases and thin inlines of the real thing. Verification build (WEFT_VERIFY=1): the same names come
//   from verify/explorer/seam.hpp and tell the explorer of each operation before it happens; code outside an
//   exploration still runs the real operation there.
// Invariants:
//   [SEAM-1] Runtime code names std::atomic, std::mutex, std::thread, a clock or a syscall nowhere but here and in
//            sys.hpp.
//   [SEAM-2] A store before light_fence() in one thread and a store before heavy_fence() in another: at least one of
//            the two sees the other's store in a load after its own fence.
//   [SEAM-3] A SpinLock waiter spins a bounded time, then yields, then sleeps: a stopped holder costs no core.
// Threads: everything here may be called from any thread.
// Rejected: light_fence() as a compiler barrier from the start. membarrier may be missing or filtered by seccomp, and
//   it costs 15 us into a busy core; real fences are the default and enable_asymmetric_fences() asks for the other
//   kind.
// Relaxed: Guessed is a plain variable in everything but the data race; see there.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

#if defined(WEFT_VERIFY) && WEFT_VERIFY
#define WEFT_SEAM_VERIFY 1
#else
#define WEFT_SEAM_VERIFY 0
#endif

namespace weft::inline v0::seam {

// Absolute CLOCK_MONOTONIC time in nanoseconds.
inline constexpr std::int64_t no_deadline = std::numeric_limits<std::int64_t>::max();

enum class WaitResult : std::uint8_t {
  woken,      // by futex_wake, a signal, or for no reason: look again
  changed,    // the word did not hold the expected value
  timed_out,  // the deadline has passed
};

enum class FenceKind : std::uint8_t { real, asymmetric };

#if defined(__SANITIZE_THREAD__)
#define WEFT_SEAM_TSAN 1
#elif defined(__has_feature)
#define WEFT_SEAM_TSAN __has_feature(thread_sanitizer)
#else
#define WEFT_SEAM_TSAN 0
#endif

namespace real {

// 0: real fences on both sides. 1: heavy_fence uses membarrier, light_fence is still real. 2: light_fence is free.
// Written by enable_asymmetric_fences() only, 0 -> 1 -> 2.
extern std::atomic<int> fence_phase;

std::int64_t monotonic_ns() noexcept;
std::uint64_t random_seed() noexcept;
void heavy_fence() noexcept;
void yield_thread() noexcept;
void sleep_ns(std::int64_t ns) noexcept;
WaitResult futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t deadline) noexcept;
int futex_wake(const std::atomic<std::uint32_t>& word, int count) noexcept;
void name_this_thread(const char* name) noexcept;

inline void fence(std::memory_order order) noexcept {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  std::atomic_thread_fence(order);
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

[[gnu::always_inline]] inline void light_fence() noexcept {
  if (fence_phase.load(std::memory_order_acquire) == 2) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    fence(std::memory_order_seq_cst);
  }
}

// For who has seen that fences are asymmetric, which is never taken back: no look at the phase.
[[gnu::always_inline]] inline void free_light_fence() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

// A started OS thread; join before it is destroyed.
class Thread {
 public:
  Thread() = default;
  template <class F>
  static Thread start(const char* name, F&& body) {
    Thread thread;
    thread.thread_ = std::thread([name, body = std::forward<F>(body)]() mutable {
      name_this_thread(name);
      body();
    });
    return thread;
  }
  void join() { thread_.join(); }
  bool joinable() const noexcept { return thread_.joinable(); }

 private:
  std::thread thread_;
};

}  // namespace real

// A word that one thread writes and others may guess at: a plain variable in everything but the data race. What a
// guesser sees decides nothing by itself. No step of an exploration.
template <class T>
class Guessed {
 public:
  constexpr Guessed(T value = T{}) : value_(value) {}  // NOLINT(google-explicit-constructor): a variable of that type
  Guessed(const Guessed& other) : value_(T{other}) {}
  Guessed& operator=(const Guessed& other) { return *this = T{other}; }
  Guessed& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const { return value_.load(std::memory_order_relaxed); }  // NOLINT(google-explicit-constructor)
  T operator->() const { return *this; }
  // By the one thread that writes it: one instruction where the machine has it, never torn.
  [[gnu::always_inline]] Guessed& operator+=(T more) {
#if defined(__x86_64__)
    if constexpr (sizeof(T) == 8) {
      asm("addq %1, %0" : "+m"(value_) : "er"(static_cast<std::uint64_t>(more)) : "cc");
      return *this;
    } else if constexpr (sizeof(T) == 4) {
      asm("addl %1, %0" : "+m"(value_) : "er"(static_cast<std::uint32_t>(more)) : "cc");
      return *this;
    }
#endif
    return *this = static_cast<T>(T{*this} + more);
  }
  Guessed& operator|=(T bits) { return *this = static_cast<T>(T{*this} | bits); }
  Guessed& operator&=(T bits) { return *this = static_cast<T>(T{*this} & bits); }

 private:
  std::atomic<T> value_;
};

// Turns light_fence() into a compiler barrier and heavy_fence() into membarrier. False, and nothing changes, where the
// kernel refuses (ENOSYS, EPERM). May be called at any time, by any thread, more than once.
bool enable_asymmetric_fences() noexcept;
FenceKind fence_kind() noexcept;

}  // namespace weft::inline v0::seam

#if WEFT_SEAM_VERIFY
#include "explorer/seam.hpp"
#else

namespace weft::inline v0::seam {

template <class T>
using Atomic = std::atomic<T>;
// By the one thread that writes it: a load and a store, in one instruction where the machine has it.
[[gnu::always_inline]] inline void own_add(Atomic<std::uint64_t>& word, std::uint64_t more,
                                           std::memory_order order) noexcept {
#if defined(__x86_64__) && !WEFT_SEAM_TSAN
  (void)order;  // every store of this machine is a release
  asm volatile("addq %1, %0" : "+m"(word) : "er"(more) : "cc", "memory");
#else
  word.store(word.load(std::memory_order_relaxed) + more, order);
#endif
}
using Thread = real::Thread;
using real::fence;
using real::free_light_fence;
using real::futex_wait;
using real::futex_wake;
using real::heavy_fence;
using real::light_fence;
using real::monotonic_ns;
using real::pause;
using real::random_seed;
using real::sleep_ns;
using real::yield_thread;

}  // namespace weft::inline v0::seam

#endif

#include "weft/detail/seam_locks.hpp"
