// SPDX-License-Identifier: MIT
// What: a semaphore: a number of permits, given to those who ask in the order in which they asked.
//
//   weft::Semaphore seats(10);
//   seats.acquire();  ...  seats.release();
//
// Threads: any, plain ones too; whoever gets the last permits may destroy it. acquire() throws Cancelled if it waits.
#pragma once

#include <chrono>
#include <cstdint>

#include "weft/detail/last_seen.hpp"
#include "weft/detail/point.hpp"
#include "weft/detail/semaphore_core.hpp"
#include "weft/detail/wait_core.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0 {

class Semaphore {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws std::invalid_argument for more than 2^62.
  explicit Semaphore(std::uint64_t permits) : core_(checked(permits)) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  void acquire(std::uint32_t count = 1) { (void)take(count, seam::no_deadline, detail::Raise::yes); }
  // Not past those who wait.
  bool try_acquire(std::uint32_t count = 1) noexcept {
    // Before it has them: from then on somebody who has the last ones may destroy it.
    if (detail::notes_use && core_.permits() >= count) detail::note_use(taker_);
    return core_.try_acquire(count);
  }
  // False: they were not to be had in time, and none was taken.
  bool acquire_for(std::chrono::nanoseconds span, std::uint32_t count = 1) {
    return take(count, detail::deadline_after(span), detail::Raise::yes) == WaitResult::done;
  }
  bool acquire_until(Clock::time_point when, std::uint32_t count = 1) {
    return take(count, detail::deadline_at(when), detail::Raise::yes) == WaitResult::done;
  }
  WaitResult acquire_result(Clock::time_point when = Clock::time_point::max(), std::uint32_t count = 1) noexcept {
    return take(count, detail::deadline_at(when), detail::Raise::quietly);
  }
  // Throws std::overflow_error for more than 2^62.
  void release(std::uint32_t count = 1) {
    detail::forget_use(taker_);
    if (!core_.release(count)) [[unlikely]]
      refuse_overflow();
  }
  // A guess.
  std::uint64_t available() const noexcept { return core_.permits(); }

 private:
  WaitResult take(std::uint32_t count, std::int64_t deadline, detail::Raise raise) {
    detail::point("acquire");
    if (try_acquire(count)) return WaitResult::done;
    return take_slow(count, deadline, raise);
  }
  WaitResult take_slow(std::uint32_t count, std::int64_t deadline, detail::Raise raise);
  static std::uint64_t checked(std::uint64_t permits);
  [[noreturn]] static void refuse_overflow();

  detail::SemaphoreCoreOf<detail::TaskCore> core_;
  seam::Guessed<const detail::TaskCore*> taker_ = nullptr;  // who has taken permits; noted in debug builds
};

}  // namespace weft::inline v0
