// SPDX-License-Identifier: MIT
// What: ticks at a fixed pace.
//
//   weft::Interval beat(10ms);
//   for (;;) { beat.tick(); work(); }
//
// What happens to ticks that nobody was there for is the policy's:
//   skip    they are left out: the next tick is the next multiple of the period
//   burst   they come at once, one after the other, until it has caught up
//   delay   the pace starts anew: the next tick is a period after this one was taken
// Threads: one at a time.
#pragma once

#include <chrono>
#include <cstdint>

#include "weft/detail/wait_core.hpp"

namespace weft::inline v0 {

enum class MissedTicks : std::uint8_t { skip, burst, delay };
const char* to_string(MissedTicks policy);

class Interval {
 public:
  using Clock = std::chrono::steady_clock;

  struct Tick {
    Clock::time_point due;  // when it should have come
    std::uint64_t number;   // from 1
    std::uint64_t missed;   // left out before it (skip)
  };

  // The first tick comes a period from now. Throws std::invalid_argument unless the period is positive.
  explicit Interval(std::chrono::nanoseconds period, MissedTicks policy = MissedTicks::skip);

  // Waits for the next tick; throws Cancelled.
  Tick tick();
  // False: it did not come in time, and is still to come.
  bool tick_for(std::chrono::nanoseconds span, Tick& tick);
  bool tick_until(Clock::time_point when, Tick& tick);
  // Never throws.
  WaitResult tick_result(Tick& tick, Clock::time_point when = Clock::time_point::max()) noexcept;
  // Only if it is due.
  bool try_tick(Tick& tick) noexcept;

  Clock::time_point next() const noexcept;
  std::chrono::nanoseconds period() const noexcept { return std::chrono::nanoseconds(period_); }
  // The next tick comes a period from now.
  void reset() noexcept;

 private:
  WaitResult wait(std::int64_t deadline, detail::Raise raise, Tick& tick);
  Tick take(std::int64_t now) noexcept;

  std::int64_t period_;
  std::int64_t next_;
  std::uint64_t count_ = 0;
  MissedTicks policy_;
};

}  // namespace weft::inline v0
