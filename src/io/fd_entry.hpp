// SPDX-License-Identifier: MIT
// What: what is known of one descriptor: which use of its number is meant, who uses it just now, whether it is ready as
// far as an engine has heard, and who waits for that.
//
//   adopt -> an issue      enter ... leave by each operation      close: nobody enters any more, who waits is woken;
//                                                                 the last to leave closes the descriptor
//
// Invariants
//   [FD-1] A number is given back to the kernel only when nobody is between enter() and leave(): an operation never
//          meets the next owner of its number.
//   [FD-2] An event carries the issue for which it was asked. One of an earlier issue changes nothing.
//   [FD-3] `ready` is a hint that may be true for nothing, never false while the kernel has told otherwise: who was
//          told EAGAIN takes back what it saw, and not what has come since (the tick).
//   [FD-4] An event sets `ready` before it looks for waiters under the lock; a waiter looks at `ready` under the lock
//          before it links itself. The same holds for `closing`.
// Threads: any.
// Relaxed: a word's first look, which its compare-exchange checks; what is to be tried may be tried too often.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "weft/detail/descriptor.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/wait_spot.hpp"
#include "weft/io_request.hpp"

namespace weft::inline v0::detail {

template <class Task>
struct alignas(64) FdEntryOf {
  static constexpr std::uint64_t closing_bit = std::uint64_t{1} << 31;
  static constexpr std::uint64_t users_mask = closing_bit - 1;
  static constexpr std::uint32_t tick = 8;  // above the bits of IoReady

  seam::Atomic<std::uint64_t> use{0};    // issue:32, closing:1, users:31
  seam::Atomic<std::uint32_t> ready{0};  // IoReady, tick
  seam::SpinLock lock;
  WaitListOf<Task> waiters;               // guarded by lock; a node's number holds what it waits for
  seam::Atomic<std::uint64_t> engine{0};  // that watches this issue
  std::uint32_t threads = 0;              // guarded by lock; plain threads in poll(2)
  FdKind kind = fd_plain;

  std::uint32_t issue() const { return static_cast<std::uint32_t>(use.load(std::memory_order_acquire) >> 32); }
  bool closing() const { return (use.load(std::memory_order_acquire) & closing_bit) != 0; }

  // A new issue, to be tried in both directions.
  std::uint32_t adopt(FdKind what = fd_plain) {
    std::uint32_t next = issue() + 1;
    if (next == 0) next = 1;
    kind = what;
    engine.store(0, std::memory_order_relaxed);
    ready.store(io_readable | io_writable, std::memory_order_relaxed);
    use.store(std::uint64_t{next} << 32, std::memory_order_release);
    return next;
  }
  // False: it is closed, or another issue.
  [[nodiscard]] bool enter(std::uint32_t mine) {
    std::uint64_t now = use.load(std::memory_order_relaxed);
    do {
      if (now >> 32 != mine || (now & closing_bit) != 0) return false;
      // [LP descriptor in use] [FD-1]
    } while (!use.compare_exchange_weak(now, now + 1, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
  }
  // True: the caller is the last, and closes the descriptor.
  [[nodiscard]] bool leave() {
    const std::uint64_t before = use.fetch_sub(1, std::memory_order_acq_rel);
    return (before & closing_bit) != 0 && (before & users_mask) == 1;
  }
  // By who has entered. True: nobody did before; who waits is claimed, and `sleepers` plain threads are to be told.
  [[nodiscard]] bool begin_close(ClaimedOf<Task>& claimed, std::uint32_t& sleepers) {
    if ((use.fetch_or(closing_bit, std::memory_order_acq_rel) & closing_bit) != 0) return false;
    const std::lock_guard guard(lock);
    claim_locked(~std::uint32_t{0}, claimed);
    sleepers = std::exchange(threads, 0);
    return true;
  }

  // What was seen in `before` is not so any more.
  void unready(std::uint32_t before, std::uint32_t bits) {
    ready.compare_exchange_strong(before, before & ~bits, std::memory_order_relaxed);
  }
  // For who knows that it is not, whatever was heard.
  void unready(std::uint32_t bits) { ready.fetch_and(~bits, std::memory_order_relaxed); }
  // An engine has heard: sets the bits and claims who waits for one of them [FD-4].
  void heard(std::uint32_t bits, ClaimedOf<Task>& claimed) {
    std::uint32_t now = ready.load(std::memory_order_relaxed);
    // release: for who acquires it and then asks the kernel
    while (
        !ready.compare_exchange_weak(now, (now | bits) + tick, std::memory_order_release, std::memory_order_relaxed)) {
    }
    claim(bits, claimed);
  }
  void claim(std::uint32_t bits, ClaimedOf<Task>& claimed) {
    const std::lock_guard guard(lock);
    claim_locked(bits, claimed);
  }

 private:
  void claim_locked(std::uint32_t bits, ClaimedOf<Task>& claimed) {
    for (WaitNodeOf<Task>* node = waiters.first(); node != nullptr;) {
      WaitNodeOf<Task>* next = node->next;
      if ((node->number & bits) != 0)
        if (WaitNodeOf<Task>* mine = waiters.claim(*node, WakeReason::data)) claimed.add(mine);
      node = next;
    }
  }
};

// A wait until a descriptor is ready for `want`, or, if it is ours, closes.
template <class Task>
class FdWaitOf {
 public:
  FdWaitOf(FdEntryOf<Task>& entry, bool owned, std::uint32_t want) : entry_(entry), owned_(owned), want_(want) {}
  bool try_complete() {
    return (entry_.ready.load(std::memory_order_acquire) & want_) != 0 || (owned_ && entry_.closing());
  }
  Published publish(Task& me) {
    const std::lock_guard guard(entry_.lock);
    if (try_complete()) return Published::done;
    spot_.node.number = want_ | io_hung_up;
    spot_.park_in(entry_.waiters, me);
    return Published::parking;
  }
  void unpublish() {
    if (spot_.claimed()) return;
    const std::lock_guard guard(entry_.lock);
    entry_.waiters.remove(spot_.node);
  }

 protected:
  FdEntryOf<Task>& entry_;

 private:
  const bool owned_;
  const std::uint32_t want_;
  WaitSpotOf<Task> spot_;
};

struct FdRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Outcome = Published;
  template <class Task>
  using Entry = FdEntryOf<Task>;
  template <class Task>
  using Wait = FdWaitOf<Task>;
  template <class Task>
  using Claimed = ClaimedOf<Task>;
};

}  // namespace weft::inline v0::detail
