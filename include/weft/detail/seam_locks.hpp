// SPDX-License-Identifier: MIT
#pragma once
// What: the locks of the runtime, written on the seam's own atomics. Include weft/detail/seam.hpp, not this file.
//   SpinLock and Mutex are what code uses. In a verification build they are modelled as one step each, so that
//   scenarios of other things stay small; TasLock and FutexMutex are always this code and have scenarios of their own.
// Invariants:
//   [LOCK-1] At most one thread is between lock() and unlock(); unlock() synchronises with the next lock().
//   [LOCK-2] FutexMutex: word 2 whenever a waiter may sleep; unlock() wakes one if it finds 2.
// Threads: any; the unlocking thread is the locking one.

#include "weft/detail/seam.hpp"

namespace weft::inline v0::seam {

// Test-and-test-and-set.
class TasLock {
 public:
  TasLock() = default;
  TasLock(const TasLock&) = delete;
  TasLock& operator=(const TasLock&) = delete;

  void lock() noexcept {
    if (!try_lock()) lock_slow();
  }
  bool try_lock() noexcept { return word_.exchange(1, std::memory_order_acquire) == 0; }
  void unlock() noexcept { word_.store(0, std::memory_order_release); }

 private:
  // [SEAM-3] 128 pauses, then 64 yields, then sleeps of 50 us.
  [[gnu::noinline]] void lock_slow() noexcept {
    constexpr int spins = 128;
    constexpr int yields = 64;
    for (int round = 0;; ++round) {
      if (word_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
      if (round < spins) {
        pause();
      } else if (round < spins + yields) {
        yield_thread();
      } else {
        sleep_ns(50'000);
      }
    }
  }

  Atomic<std::uint32_t> word_{0};  // 0 free, 1 held; release by unlock pairs with acquire by try_lock [LOCK-1]
};

class FutexMutex {
 public:
  FutexMutex() = default;
  FutexMutex(const FutexMutex&) = delete;
  FutexMutex& operator=(const FutexMutex&) = delete;

  void lock() noexcept {
    if (!try_lock()) lock_slow();
  }
  bool try_lock() noexcept {
    std::uint32_t free = 0;  // relaxed on failure: nothing was locked
    return word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    if (word_.exchange(0, std::memory_order_release) == 2) futex_wake(word_, 1);
  }

 private:
  [[gnu::noinline]] void lock_slow() noexcept {
    // Whoever slept locks with 2: it cannot know whether others sleep still [LOCK-2].
    while (word_.exchange(2, std::memory_order_acquire) != 0) futex_wait(word_, 2, no_deadline);
  }

  Atomic<std::uint32_t> word_{0};  // 0 free, 1 held, 2 held and somebody may sleep
};

#if WEFT_SEAM_VERIFY
using SpinLock = ModelLock;
using Mutex = ModelLock;
#else
using SpinLock = TasLock;
using Mutex = FutexMutex;
#endif

}  // namespace weft::inline v0::seam
