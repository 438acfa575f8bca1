// SPDX-License-Identifier: MIT
// What: the one descriptor by which a loop of another library learns that a runtime has something to do: an epoll
// descriptor over a bell, which is rung when work comes while nobody polls, and the descriptor of the engine.
// Invariants
//   [LOOP-1] Who pushes into a shared queue does so before it looks for somebody to wake and before it rings; poll()
//            silences the bell before it looks into the queues. So a push is seen by that look, or rings.
// Threads: ring: any; the rest by who polls.
// Relaxed: whether it was rung is decided by the exchange.
#pragma once

#include <cstdint>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

class Poller;

class ForeignLoop {
 public:
  ForeignLoop();
  ~ForeignLoop();
  ForeignLoop(const ForeignLoop&) = delete;
  ForeignLoop& operator=(const ForeignLoop&) = delete;

  int descriptor() const { return epoll_; }  // -1: the system had none
  void ring() noexcept;
  void silence() noexcept;
  void watch(const Poller* engine) noexcept;  // once there is one

 private:
  int epoll_ = -1;
  int bell_ = -1;
  const Poller* watched_ = nullptr;
  seam::Atomic<bool> rung_{false};
};

}  // namespace weft::inline v0::detail
