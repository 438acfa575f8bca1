// SPDX-License-Identifier: MIT
// What: a lock with one favoured side. The owner (whoever is the worker now) takes it by a plain store and a light
// fence; the others, who come rarely, pay a heavy fence.
//
//   busy     1 while the owner holds it; written by the owner only
//   taken    1 while one of the others holds it or waits for the owner; written under `others` only
//   others   settles it among the others; the owner stands in this queue too when it finds `taken`
//
// Invariants
//   [OWN-1] Owner: busy = 1; light fence; taken? Other: taken = 1; heavy fence; busy? At least one of the two sees the
//           other's store (SEAM-2), so never both hold it.
//   [OWN-2] An owner that finds `taken` goes back (busy = 0) before it waits: of the two the other goes first, so they
//           never wait for each other.
//   [OWN-3] Under `others` nobody has `taken`, so an owner that waited there sets busy without a fence: the next of the
//           others sees it by the lock.
//   [OWN-4] Each side leaves by a release store of 0 to its own flag, which the other side acquires.
// Threads: lock_owner and unlock_owner by one thread at a time, handed on with synchronisation of its own; the rest by
// any other thread. Not recursive on either side. Waits spin a bounded time, then yield, then sleep (SEAM-3).
// Rejected: a locked exchange on both sides (lock and unlock 15 ns; the owner's pair here 3 ns with asymmetric fences,
// 15 with real ones; the other's 3-4 us); the owner spinning on `taken` itself (others that come in a row would starve
// it).
// Relaxed: the flags are ordered by the light and heavy fences of [OWN-1], or written under `others`.
#pragma once

#include <cstdint>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

class OwnerLock {
 public:
  OwnerLock() = default;
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;

  [[gnu::always_inline]] void lock_owner() noexcept {
    busy_.store(1, std::memory_order_relaxed);
    seam::light_fence();  // [OWN-1], pairs with the heavy fences below
    look_for_others();
  }
  // For an owner that knows fences to be asymmetric.
  [[gnu::always_inline]] void lock_owner_free() noexcept {
    busy_.store(1, std::memory_order_relaxed);
    seam::free_light_fence();  // as above
    look_for_others();
  }
  // The same, but it does not wait: false if one of the others is here [OWN-2].
  [[gnu::always_inline]] bool try_lock_owner_free() noexcept {
    busy_.store(1, std::memory_order_relaxed);
    seam::free_light_fence();  // as above
    if (taken_.load(std::memory_order_acquire) == 0) [[likely]]
      // acquire: [OWN-4]
      return true;
    unlock_owner();
    return false;
  }
  [[gnu::always_inline]] void unlock_owner() noexcept { busy_.store(0, std::memory_order_release); }

  void lock_other() noexcept {
    others_.lock();
    taken_.store(1, std::memory_order_relaxed);
    seam::heavy_fence();  // [OWN-1]
    constexpr int spins = 128;
    constexpr int yields = 64;
    for (int round = 0; busy_.load(std::memory_order_acquire) != 0; ++round) {  // acquire: [OWN-4]
      if (round < spins) {
        seam::pause();
      } else if (round < spins + yields) {
        seam::yield_thread();
      } else {
        seam::sleep_ns(50'000);
      }
    }
  }
  // Does not wait; may fail, too, because the owner was just about to take it.
  bool try_lock_other() noexcept {
    if (busy_.load(std::memory_order_relaxed) != 0 || !others_.try_lock()) return false;
    taken_.store(1, std::memory_order_relaxed);
    seam::heavy_fence();  // [OWN-1]
    if (busy_.load(std::memory_order_acquire) == 0) return true;
    unlock_other();
    return false;
  }
  void unlock_other() noexcept {
    taken_.store(0, std::memory_order_release);
    others_.unlock();
  }

 private:
  [[gnu::always_inline]] void look_for_others() noexcept {
    if (taken_.load(std::memory_order_acquire) != 0) [[unlikely]]  // acquire: [OWN-4]
      wait_for_others();
  }
  [[gnu::noinline]] void wait_for_others() noexcept {
    busy_.store(0, std::memory_order_release);  // [OWN-2]
    others_.lock();
    busy_.store(1, std::memory_order_relaxed);  // [OWN-3]
    others_.unlock();
  }

  seam::Atomic<std::uint32_t> busy_{0};
  seam::Atomic<std::uint32_t> taken_{0};
  seam::SpinLock others_;
};

}  // namespace weft::inline v0::detail
