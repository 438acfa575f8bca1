// SPDX-License-Identifier: MIT
// What: a gate in front of any number of waiters: open while its number is 0. An event sets the number to 0 and 1, a
// latch and a wait group count it down.
//
// Invariants
//   [GATE-1] The number becomes 0 under the lock only, and all who wait then are claimed under the same lock: nobody
//            who comes later is among them, nobody of them is left behind [B12].
//   [GATE-2] They are delivered after the unlock, which is the last access to the gate: whoever is let through first
//            may destroy it.
//   [GATE-3] Who finds it open without having waited takes the lock once before it says so: whoever opened it is out.
// Threads: any.
// Relaxed: a first look that the exchange or the lock checks; adding orders nothing, what is counted down is.
#pragma once

#include <cstdint>
#include <mutex>

#include "weft/detail/seam.hpp"
#include "weft/detail/wait_spot.hpp"

namespace weft::inline v0::detail {

template <class Task>
class GateCoreOf {
 public:
  explicit GateCoreOf(std::int64_t number) : number_(number) {}

  bool is_open() {
    if (number_.load(std::memory_order_acquire) != 0) return false;
    const std::lock_guard guard(lock_);  // [GATE-3]
    return true;
  }
  std::int64_t number() const { return number_.load(std::memory_order_relaxed); }

  void open() {
    ClaimedOf<Task> claimed;
    {
      const std::lock_guard guard(lock_);
      // [LP gate opened] under the lock [GATE-1]; release: for who looks without having waited
      number_.store(0, std::memory_order_release);
      claim_all(claimed);
    }
    claimed.deliver([](Task* task) { deliver_wake(task); });
  }
  // Whoever waits goes on; who comes after waits.
  void pulse() {
    ClaimedOf<Task> claimed;
    {
      const std::lock_guard guard(lock_);
      claim_all(claimed);
    }
    claimed.deliver([](Task* task) { deliver_wake(task); });
  }
  void close() {
    const std::lock_guard guard(lock_);
    number_.store(1, std::memory_order_relaxed);
  }

  // False: the sum would be less than 0 or too large; nothing has happened.
  bool add(std::int64_t more) {
    std::int64_t now = number_.load(std::memory_order_relaxed);
    do {
      if (more < 0 || now > most - more) return false;
    } while (!number_.compare_exchange_weak(now, now + more, std::memory_order_relaxed));
    return true;
  }
  // The last one opens it. False: fewer are left; nothing has happened.
  bool count_down(std::int64_t by) {
    std::int64_t now = number_.load(std::memory_order_relaxed);
    for (;;) {
      if (by < 0 || now < by) return false;
      if (by == 0) return true;
      if (now == by) break;
      // release: what was done before is seen by who is let through; acquire: on behalf of who counts down after us
      if (number_.compare_exchange_weak(now, now - by, std::memory_order_acq_rel, std::memory_order_relaxed))
        return true;
    }
    return count_down_last(by);
  }

  Published publish(Task& me, WaitSpotOf<Task>& spot) {
    const std::lock_guard guard(lock_);
    if (number_.load(std::memory_order_acquire) == 0) return Published::done;
    spot.park_in(list_, me);
    return Published::parking;
  }
  // --- For select: looks_open() is advice, the rest is used under the lock.
  bool looks_open() const { return number_.load(std::memory_order_relaxed) == 0; }
  seam::SpinLock& lock() { return lock_; }
  bool open_now() const { return number_.load(std::memory_order_acquire) == 0; }
  WaitListOf<Task>& list() { return list_; }

  // Of one that was not claimed.
  void leave(WaitSpotOf<Task>& spot) {
    const std::lock_guard guard(lock_);
    list_.remove(spot.node);
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 62;

  bool count_down_last(std::int64_t by) {
    ClaimedOf<Task> claimed;
    bool counted = true;
    {
      const std::lock_guard guard(lock_);
      std::int64_t now = number_.load(std::memory_order_relaxed);
      do {
        counted = now >= by;  // others may have counted meanwhile
      } while (counted &&
               !number_.compare_exchange_weak(now, now - by, std::memory_order_acq_rel, std::memory_order_relaxed));
      if (counted && now == by) claim_all(claimed);
    }
    claimed.deliver([](Task* task) { deliver_wake(task); });
    return counted;
  }
  void claim_all(ClaimedOf<Task>& claimed) {
    while (auto* node = list_.claim_first(WakeReason::data)) claimed.add(node);
  }

  seam::Atomic<std::int64_t> number_;
  WaitListOf<Task> list_;  // guarded by lock_
  seam::SpinLock lock_;
};

template <class Task>
class GateWaitOf {
 public:
  explicit GateWaitOf(GateCoreOf<Task>& gate) : gate_(gate) {}
  bool try_complete() { return gate_.is_open(); }
  Published publish(Task& me) { return gate_.publish(me, spot_); }
  void unpublish() {
    if (!spot_.claimed()) gate_.leave(spot_);
  }

 private:
  GateCoreOf<Task>& gate_;
  WaitSpotOf<Task> spot_;
};

struct GateRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Outcome = Published;
  template <class Task>
  using Core = GateCoreOf<Task>;
  template <class Task>
  using Wait = GateWaitOf<Task>;
};

}  // namespace weft::inline v0::detail
