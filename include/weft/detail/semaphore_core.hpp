// SPDX-License-Identifier: MIT
// What: a number of permits, taken in the order in which they were asked for.
//
//   word   | permits: 63 | QUEUED |
//
// Invariants
//   [SEM-1] While QUEUED is set the word is changed under the lock only; it is set exactly while the list is not empty.
//   [SEM-2] Permits go to the oldest waiter as soon as there are enough for it, and never past it: who needs many does
//           not starve. Giving is a claim; the permits of a lost claim stay.
//   [SEM-3] Leaving is a release point: if the oldest leaves, those behind it are looked at again [HB10].
//   [SEM-4] The exchange, if nobody waits, or the unlock is the last access of release(): whoever got the permits may
//           destroy it.
// Threads: any.
// Relaxed: a first look that the exchange checks; QUEUED is set and cleared under the lock.
#pragma once

#include <cstdint>
#include <mutex>

#include "weft/detail/seam.hpp"
#include "weft/detail/wait_spot.hpp"

namespace weft::inline v0::detail {

template <class Task>
class SemaphoreCoreOf {
 public:
  static constexpr std::uint64_t most = std::uint64_t{1} << 62;

  explicit SemaphoreCoreOf(std::uint64_t permits) : word_(permits << 1) {}

  bool try_acquire(std::uint32_t count) {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    while (!(now & queued) && now >> 1 >= count) {
      // [LP permits taken] acquire: what who gave them back wrote
      if (word_.compare_exchange_weak(now, now - one * count, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    }
    return false;
  }
  // False: too many.
  bool release(std::uint32_t count) {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    for (;;) {
      if ((now >> 1) + count > most) return false;
      if (now & queued) {
        if (release_slow(count)) return true;
        now = word_.load(std::memory_order_relaxed);
      } else if (word_.compare_exchange_weak(now, now + one * count, std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
        return true;  // [LP permits given back] release: what their holder wrote [SEM-4]
      }
    }
  }

  Published publish(Task& me, WaitSpotOf<Task>& spot, std::uint32_t count) {
    const std::lock_guard guard(lock_);
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (!(now & queued) && now >> 1 >= count) {
        if (word_.compare_exchange_weak(now, now - one * count, std::memory_order_acquire, std::memory_order_relaxed))
          return Published::done;
      } else if (word_.compare_exchange_weak(now, now | queued, std::memory_order_relaxed)) {
        break;
      }
    }
    spot.node.number = count;
    spot.park_in(list_, me);
    return Published::parking;
  }
  // Of one that was not claimed [SEM-3].
  void leave(WaitSpotOf<Task>& spot) {
    ClaimedOf<Task> claimed;
    {
      const std::lock_guard guard(lock_);
      list_.remove(spot.node);
      settle(claimed);
    }
    claimed.deliver([](Task* task) { deliver_wake(task); });
  }

  std::uint64_t permits() const { return word_.load(std::memory_order_relaxed) >> 1; }
  bool has_waiters() const { return word_.load(std::memory_order_relaxed) & queued; }

 private:
  static constexpr std::uint64_t queued = 1;
  static constexpr std::uint64_t one = 2;

  // False: nobody waits any more; as if nobody had [SEM-4].
  bool release_slow(std::uint32_t count) {
    ClaimedOf<Task> claimed;
    {
      const std::lock_guard guard(lock_);
      if (list_.empty()) return false;
      word_.fetch_add(one * count, std::memory_order_acq_rel);
      settle(claimed);
    }
    claimed.deliver([](Task* task) { deliver_wake(task); });
    return true;
  }
  // Gives what can be given [SEM-2].
  void settle(ClaimedOf<Task>& claimed) {
    while (auto* first = list_.first()) {
      const std::uint64_t count = first->number;
      if (word_.load(std::memory_order_acquire) >> 1 < count) return;
      if (list_.claim(*first, WakeReason::data) == nullptr) continue;
      word_.fetch_sub(one * count, std::memory_order_relaxed);
      claimed.add(first);
    }
    word_.fetch_and(~queued, std::memory_order_release);
  }

  seam::Atomic<std::uint64_t> word_;
  WaitListOf<Task> list_;  // guarded by lock_
  seam::SpinLock lock_;
};

template <class Task>
class AcquireWaitOf {
 public:
  AcquireWaitOf(SemaphoreCoreOf<Task>& semaphore, std::uint32_t count) : semaphore_(semaphore), count_(count) {}
  bool try_complete() { return semaphore_.try_acquire(count_); }
  Published publish(Task& me) { return semaphore_.publish(me, spot_, count_); }
  void unpublish() {
    if (!spot_.claimed()) semaphore_.leave(spot_);
  }

 private:
  SemaphoreCoreOf<Task>& semaphore_;
  std::uint32_t count_;
  WaitSpotOf<Task> spot_;
};

struct SemaphoreRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Outcome = Published;
  template <class Task>
  using Core = SemaphoreCoreOf<Task>;
  template <class Task>
  using Wait = AcquireWaitOf<Task>;
};

}  // namespace weft::inline v0::detail
