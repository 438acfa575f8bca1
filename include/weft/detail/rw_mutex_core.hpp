// SPDX-License-Identifier: MIT
// What: many readers or one writer, in the order in which they came: readers who stand together go in together.
//
//   word   | readers: 62 | QUEUED | WRITER |
//
// Invariants
//   [RWM-1] While QUEUED is set nobody enters but through settle(), under the lock; a reader that is not the last may
//           still leave by one exchange. QUEUED is set exactly while the list is not empty.
//   [RWM-2] settle() lets in from the head of the list what fits: one writer, or readers up to the next writer. It runs
//           wherever something may have changed: the last one out, and every waiter that leaves the list without
//           having been let in [HB10]. A lost claim means the next.
//   [RWM-3] The exchange, or the unlock of `lock_`, is the last access.
// Threads: any.
// Rejected: readers that pass a waiting writer (it starves).
// Relaxed: a first look that the exchange checks; QUEUED is set and cleared under the lock.
#pragma once

#include <cstdint>
#include <mutex>

#include "weft/detail/seam.hpp"
#include "weft/detail/wait_spot.hpp"

namespace weft::inline v0::detail {

enum class RwSide : std::uint32_t { write, read };

template <class Task>
class RwMutexCoreOf {
 public:
  [[gnu::always_inline]] bool try_lock() {
    std::uint64_t now = 0;
    return word_.compare_exchange_strong(now, writer, std::memory_order_acquire, std::memory_order_relaxed);
  }
  [[gnu::always_inline]] bool try_lock_shared() {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    while (!(now & (writer | queued))) {
      if (word_.compare_exchange_weak(now, now + reader, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    }
    return false;
  }
  [[gnu::always_inline]] void unlock() {
    std::uint64_t now = writer;
    if (!word_.compare_exchange_strong(now, 0, std::memory_order_release, std::memory_order_relaxed)) [[unlikely]]
      leave_slow(writer);
  }
  [[gnu::always_inline]] void unlock_shared() {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    while (!(now & queued) || now >= 2 * reader) {
      if (word_.compare_exchange_weak(now, now - reader, std::memory_order_release, std::memory_order_relaxed))
          [[likely]]
        return;
    }
    leave_slow(reader);
  }

  Published publish(Task& me, WaitSpotOf<Task>& spot, RwSide side) {
    const std::lock_guard guard(lock_);
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (fits(now, side) && !(now & queued)) {
        if (word_.compare_exchange_weak(now, now + share_of(side), std::memory_order_acquire,
                                        std::memory_order_relaxed))
          return Published::done;
      } else if (word_.compare_exchange_weak(now, now | queued, std::memory_order_relaxed)) {
        break;
      }
    }
    spot.node.number = static_cast<std::uint32_t>(side);
    spot.park_in(list_, me);
    return Published::parking;
  }
  // Of one that was not let in [RWM-2].
  void leave(WaitSpotOf<Task>& spot) {
    ClaimedOf<Task> claimed;
    {
      const std::lock_guard guard(lock_);
      list_.remove(spot.node);
      settle(claimed);
    }
    claimed.deliver([](Task* task) { deliver_wake(task); });
  }

  bool is_written() const { return word_.load(std::memory_order_relaxed) & writer; }
  std::uint64_t readers() const { return word_.load(std::memory_order_relaxed) / reader; }
  bool has_waiters() const { return word_.load(std::memory_order_relaxed) & queued; }

 private:
  static constexpr std::uint64_t writer = 1;
  static constexpr std::uint64_t queued = 2;
  static constexpr std::uint64_t reader = 4;

  static bool fits(std::uint64_t now, RwSide side) {
    return side == RwSide::write ? (now & ~queued) == 0 : !(now & writer);
  }
  static std::uint64_t share_of(RwSide side) { return side == RwSide::write ? writer : reader; }

  // Somebody waits: a share is given back, and whoever fits goes in.
  [[gnu::noinline]] void leave_slow(std::uint64_t share) {
    ClaimedOf<Task> claimed;
    for (;;) {
      {
        const std::lock_guard guard(lock_);
        if (!list_.empty()) {
          word_.fetch_sub(share, std::memory_order_acq_rel);
          settle(claimed);
          break;
        }
      }
      // All who waited have left: as if nobody had [RWM-3].
      std::uint64_t now = word_.load(std::memory_order_relaxed);
      while (!(now & queued)) {
        if (word_.compare_exchange_weak(now, now - share, std::memory_order_release, std::memory_order_relaxed)) return;
      }
    }
    claimed.deliver([](Task* task) { deliver_wake(task); });
  }
  void settle(ClaimedOf<Task>& claimed) {
    while (auto* first = list_.first()) {
      const auto side = static_cast<RwSide>(first->number);
      if (!fits(word_.load(std::memory_order_acquire), side)) return;
      if (list_.claim(*first, WakeReason::data) == nullptr) continue;
      word_.fetch_add(share_of(side), std::memory_order_relaxed);
      claimed.add(first);
    }
    word_.fetch_and(~queued, std::memory_order_release);
  }

  seam::Atomic<std::uint64_t> word_{0};
  WaitListOf<Task> list_;  // guarded by lock_
  seam::SpinLock lock_;
};

template <class Task>
class RwWaitOf {
 public:
  RwWaitOf(RwMutexCoreOf<Task>& mutex, RwSide side) : mutex_(mutex), side_(side) {}
  bool try_complete() { return side_ == RwSide::write ? mutex_.try_lock() : mutex_.try_lock_shared(); }
  Published publish(Task& me) { return mutex_.publish(me, spot_, side_); }
  void unpublish() {
    if (!spot_.claimed()) mutex_.leave(spot_);
  }

 private:
  RwMutexCoreOf<Task>& mutex_;
  RwSide side_;
  WaitSpotOf<Task> spot_;
};

struct RwMutexRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Outcome = Published;
  using Side = RwSide;
  template <class Task>
  using Core = RwMutexCoreOf<Task>;
  template <class Task>
  using Wait = RwWaitOf<Task>;
};

}  // namespace weft::inline v0::detail
