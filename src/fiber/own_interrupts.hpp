// SPDX-License-Identifier: MIT
// What: the interrupts of who runs on a root, as that one sees them: a count, and the root's alert that says when to
// look at it.
// Invariants
//   [INT-4] While one is pending for the task that runs on a root, or for one in whose place it runs, the root is
//           alerted, or who raises it is about to. So the alert is taken down before the last look at the counts.
// Threads: the one that runs the root; others raise them (interrupt_task).
// Relaxed: a count that is missed comes with an alert; the exchange that takes one checks the first load.
#pragma once

#include "fiber/carrier.hpp"
#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {

struct OwnInterrupts {
  // Interrupter adds to the count, then sets the alert. So the alert is taken down first and put up again if more came.
  // In somebody's place it may be his.
  [[gnu::noinline]] static void lower_alert(FiberCore* root) {
    root->alert.fetch_and(~std::uint32_t{alert_interrupt}, std::memory_order_seq_cst);
    const bool in_place = root->base != nullptr && root->task != root->base;
    if (in_place ? root->carrier->interrupted_in_place(*root) : root->interrupts().load(std::memory_order_seq_cst) != 0)
      root->alert.fetch_or(alert_interrupt, std::memory_order_relaxed);
  }

  static bool take(FiberCore* root) {
    seam::Atomic<std::uint32_t>& count = root->interrupts();
    std::uint32_t pending = count.load(std::memory_order_relaxed);
    while (pending != 0 &&
           !count.compare_exchange_weak(pending, pending - 1, std::memory_order_acquire, std::memory_order_relaxed)) {
    }
    if (pending <= 1) lower_alert(root);
    return pending != 0;
  }

  // An alert without interrupts is left behind by one that was taken before its Interrupter had come to the alert.
  static bool pending(FiberCore* root) {
    if (root->interrupts().load(std::memory_order_relaxed) != 0) return true;
    if (root->alert.load(std::memory_order_relaxed) & alert_interrupt) lower_alert(root);
    return false;
  }
};

}  // namespace weft::inline v0::detail
