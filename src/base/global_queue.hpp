// SPDX-License-Identifier: MIT
//
// What: the queue that all workers share: a ring, and behind it a list under a mutex for what does not fit. A push
// never waits for room and never fails.
// Invariants:
//   [GLOBAL-1] Entries move from the list to the ring, never back, and the list's count falls only after the entry is
//              in the ring. So whoever reads the count first and the ring second sees every entry.
//   [GLOBAL-2] While the list has entries, pushes go to the list: the ring is always the older part, order is FIFO but
//              for pushes that overlap, and nothing starves behind a ring that never gets empty.
//   [GLOBAL-3] The mutex is held for a bounded number of steps (refill_limit), and never across user code.
// Threads: any; not from signal handlers (the mutex).
// Rejected: taking from the list only when the ring is empty and pushing to the ring whenever it has room: entries in
// the list starve under load. Emptying the whole list into the ring under the lock: thousands of steps.
// Relaxed: a hint whose being wrong costs order between overlapping pushes [GLOBAL-2].
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ring.hpp"
#include "weft/detail/cache_line.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

class GlobalQueue {
 public:
  static constexpr std::size_t default_capacity = 4096;
  static constexpr std::size_t refill_limit = 64;

  explicit GlobalQueue(std::size_t capacity = default_capacity) : ring_(capacity) {}
  GlobalQueue(const GlobalQueue&) = delete;
  GlobalQueue& operator=(const GlobalQueue&) = delete;

  void push(Entry entry) {
    // relaxed: a hint; being wrong costs order between overlapping pushes, nothing else.
    if (overflow_count_.load(std::memory_order_relaxed) == 0 && ring_.push(entry)) return;
    mutex_.lock();
    overflow_.push_back(entry);
    // release: pairs with the acquire in pop and size. Written only under the mutex, so no RMW is needed.
    overflow_count_.store(overflow_count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    mutex_.unlock();
  }

  Entry pop() {
    for (;;) {
      // acquire: pairs with the release in refill: what left the list is in the ring [GLOBAL-1].
      const std::size_t behind = overflow_count_.load(std::memory_order_acquire);
      if (const Entry entry = ring_.pop()) return entry;
      if (behind == 0) return {};
      if (const Entry entry = pop_overflow()) return entry;
      // Others have moved the list to the ring meanwhile; look there.
    }
  }

  // False if anything at all has been pushed and not popped, half-done pushes to the ring included [RING-3]; the one to
  // ask in the sleep handshake, whose fence is the caller's.
  bool empty() const { return size() == 0; }
  std::size_t size() const {
    const std::size_t behind = overflow_count_.load(std::memory_order_acquire);  // first [GLOBAL-1]
    return behind + ring_.size();
  }
  std::size_t overflow_size() const { return overflow_count_.load(std::memory_order_relaxed); }
  std::size_t capacity() const { return ring_.capacity(); }

 private:
  Entry pop_overflow() {
    mutex_.lock();
    const Entry first = overflow_.pop_front();
    if (first) {
      std::size_t left = overflow_count_.load(std::memory_order_relaxed) - 1;
      for (std::size_t moved = 0; moved < refill_limit && !overflow_.empty(); ++moved) {
        // Off the chain first: in the ring it may be popped, run and gone at once.
        const Entry next = overflow_.pop_front();
        if (!ring_.push(next)) {
          overflow_.push_front(next);
          break;
        }
        --left;
      }
      // release: after the ring's pushes [GLOBAL-1].
      overflow_count_.store(left, std::memory_order_release);
    }
    mutex_.unlock();
    return first;
  }

  Ring ring_;
  alignas(cache_line) seam::Mutex mutex_;
  Chain overflow_;                               // guarded by mutex_
  seam::Atomic<std::size_t> overflow_count_{0};  // written under mutex_, read by all
};

}  // namespace weft::inline v0::detail
