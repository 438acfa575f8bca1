// SPDX-License-Identifier: MIT
// What: threads that are no workers of a runtime and are queueing one of its tasks just now. As soon as the task is
// queued it may run and end, and the runtime with it, while such a thread has yet to look whether somebody sleeps.
// Invariants
//   [VIS-1] A visitor counts itself before it queues the task, while that task, alive, keeps the runtime; and counts
//           itself out by its last access to the runtime.
//   [VIS-2] Who ends the runtime waits for zero after it has seen that nothing lives (acquire, so the visitor's count
//           is in view), and before anything is freed.
// Threads: any.
// Relaxed: counting in is ordered before the end of the task by the queue that the task goes through.
#pragma once

#include <cstdint>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

class Visitors {
 public:
  Visitors() = default;
  Visitors(const Visitors&) = delete;
  Visitors& operator=(const Visitors&) = delete;

  void enter() { count_.fetch_add(1, std::memory_order_relaxed); }
  void leave() { count_.fetch_sub(1, std::memory_order_release); }

  // By who ends the runtime; they have a few instructions to go.
  void wait_for_none() const {
    while (count_.load(std::memory_order_acquire) != 0) seam::yield_thread();
  }

 private:
  seam::Atomic<std::uint32_t> count_{0};
};

class Visit {
 public:
  explicit Visit(Visitors& visitors) : visitors_(visitors) { visitors_.enter(); }
  ~Visit() { visitors_.leave(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  Visitors& visitors_;
};

}  // namespace weft::inline v0::detail
