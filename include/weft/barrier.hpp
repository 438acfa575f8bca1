// SPDX-License-Identifier: MIT
// What: a barrier for a number of parties, again and again.
//
// An arrival stands: if arrive_and_wait() throws Cancelled or runs out of time, this party has arrived all the same.
// Threads: any, plain ones too; whoever goes on after the last phase may destroy it.
#pragma once

#include <chrono>
#include <cstdint>

#include "weft/detail/barrier_core.hpp"
#include "weft/detail/wait_core.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0 {

class Barrier {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws std::invalid_argument for less than 1.
  explicit Barrier(std::int64_t parties) : core_(checked(parties)) {}
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  // True for the last to arrive, one per phase.
  bool arrive_and_wait() {
    const auto arrival = core_.arrive(0);
    if (!arrival.last) (void)wait_for_others(arrival.phase, seam::no_deadline, detail::Raise::yes);
    return arrival.last;
  }
  // False: its time ran out before the others came.
  bool arrive_and_wait_for(std::chrono::nanoseconds span) { return arrive_before(detail::deadline_after(span)); }
  bool arrive_and_wait_until(Clock::time_point when) { return arrive_before(detail::deadline_at(when)); }
  WaitResult arrive_and_wait_result(Clock::time_point when = Clock::time_point::max()) noexcept {
    const auto arrival = core_.arrive(0);
    return arrival.last ? WaitResult::done
                        : wait_for_others(arrival.phase, detail::deadline_at(when), detail::Raise::quietly);
  }
  // Arrives without waiting.
  void arrive() noexcept { (void)core_.arrive(0); }
  // Arrives, and is no party from now on.
  void arrive_and_drop() noexcept { (void)core_.arrive(1); }

 private:
  bool arrive_before(std::int64_t deadline) {
    const auto arrival = core_.arrive(0);
    return arrival.last || wait_for_others(arrival.phase, deadline, detail::Raise::yes) == WaitResult::done;
  }
  WaitResult wait_for_others(std::uint64_t phase, std::int64_t deadline, detail::Raise raise);
  static std::int64_t checked(std::int64_t parties);

  detail::BarrierCoreOf<detail::TaskCore> core_;
};

}  // namespace weft::inline v0
