// SPDX-License-Identifier: MIT
// What: BlockingIo: everything on the calling thread. What is spawned runs at once, to its end, inside spawn_raw; so a
// future is born ready, and race takes the first argument that succeeds. Answers equal the runtime's for tasks that do
// not wait for one another; a wait that only such a task could end raises Deadlock at once.
//
//   weft::BlockingIo io;
//   weft::with_io(io, [] { return weft::async(work).await(); });      // the same source as in a runtime
//
// Threads: any; each runs what it spawns.
#pragma once

#include <memory>

#include "weft/io.hpp"

namespace weft::inline v0 {

namespace detail {
class ParkTimers;
}

class BlockingIo final : public Io {
 public:
  BlockingIo();
  ~BlockingIo() override;

  RawTask spawn_raw(RawEntry entry, void* arg, const TaskOptions& options) override;
  void cancel_raw(RawTask task, CancelReason reason) override;
  void release_raw(RawTask task, bool wait, const std::exception_ptr& unobserved) noexcept override;
  ParkToken current_park() override;
  WaitResult suspend_raw(const ParkToken& park, const ParkWish& wish = {}) override;
  void ready(const ParkToken& park) noexcept override;
  std::chrono::steady_clock::time_point now() const override;
  TimerToken arm_timer(std::chrono::steady_clock::time_point when, const ParkToken& park) override;
  bool cancel_timer(const TimerToken& timer) override;
  IoResult submit(IoRequest& request) override;
  // Nothing is ever left to be run.
  std::chrono::steady_clock::time_point poll(std::chrono::steady_clock::time_point deadline) override;
  bool runs_inline() const noexcept override { return true; }

  // How many tasks run now, one inside the other, or on several threads.
  unsigned running() const noexcept { return running_.load(std::memory_order_relaxed); }
  // Failures that nobody has looked at, printed when their handle went.
  unsigned unobserved_failures() const noexcept { return unobserved_.load(std::memory_order_relaxed); }

 private:
  seam::Atomic<unsigned> unobserved_{0};
  seam::Atomic<unsigned> running_{0};
  std::unique_ptr<detail::ParkTimers> timers_;
};

}  // namespace weft::inline v0
