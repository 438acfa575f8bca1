// SPDX-License-Identifier: MIT
// What: the interrupts of a whole runtime: how many are pending, and the roots on which somebody may catch one.
//
//   raise()     counts one more, then alerts every root that listens
//   a root      listens from when a fiber that catches interrupts comes to it until its stack is given back
//   at a point  alerted, and a fiber above catches it: takes one; none is left: the alert goes down
//
// Invariants
//   [INT-1] Each raise() is taken once, by whichever root comes first to a point where it may be raised.
//   [INT-2] While some are pending every root that listens is alerted. raise() counts, then alerts; listen() looks
//           under the same lock; who takes its alert down looks at the count afterwards, and puts it up again.
//   [INT-3] A root leaves the list before its memory is anybody else's.
// Threads: raise: any, but no signal handler. The rest: the thread that runs the root.
// Relaxed: the links are guarded by the lock; a count that is missed here comes with an alert.
// Rejected: alerting what the workers run just now (a stack may be gone while one writes to it, and who is parked
// would have to be found, too); a look at the count at every point (a load more on everybody's fast paths).
#pragma once

#include <cstdint>
#include <mutex>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

// Root: seam::Atomic<std::uint32_t> alert; and, guarded by the lock, Root* listens_next; Root** listens_prev.
template <class Root, std::uint32_t alert_bit>
class SharedInterrupts {
 public:
  void raise() noexcept {
    const std::lock_guard guard(lock_);
    pending_.fetch_add(1, std::memory_order_relaxed);
    for (Root* root = roots_; root != nullptr; root = root->listens_next)
      root->alert.fetch_or(alert_bit, std::memory_order_release);  // [INT-2]
  }

  // Once, then forget() once.
  void listen(Root& root) noexcept {
    const std::lock_guard guard(lock_);
    root.listens_next = roots_;
    if (roots_ != nullptr) roots_->listens_prev = &root.listens_next;
    roots_ = &root;
    root.listens_prev = &roots_;
    if (pending_.load(std::memory_order_relaxed) != 0) root.alert.fetch_or(alert_bit, std::memory_order_relaxed);
  }

  void forget(Root& root) noexcept {
    const std::lock_guard guard(lock_);
    *root.listens_prev = root.listens_next;
    if (root.listens_next != nullptr) root.listens_next->listens_prev = root.listens_prev;
  }

  // By a root that is alerted. False: none is left, and it is not alerted any more.
  bool pending(Root& root) noexcept {
    if (pending_.load(std::memory_order_relaxed) != 0) return true;
    root.alert.fetch_and(~alert_bit, std::memory_order_acquire);  // [INT-2] pairs with raise
    if (pending_.load(std::memory_order_relaxed) == 0) return false;
    root.alert.fetch_or(alert_bit, std::memory_order_relaxed);
    return true;
  }

  // [INT-1]
  bool take() noexcept {
    std::uint32_t count = pending_.load(std::memory_order_relaxed);
    while (count != 0 && !pending_.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) {
    }
    return count != 0;
  }

 private:
  seam::Atomic<std::uint32_t> pending_{0};
  seam::SpinLock lock_;
  Root* roots_ = nullptr;  // guarded by lock_
};

struct InterruptRules {
  template <class Root, std::uint32_t alert_bit>
  using Shared = SharedInterrupts<Root, alert_bit>;
};

}  // namespace weft::inline v0::detail
