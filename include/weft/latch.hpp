// SPDX-License-Identifier: MIT
// What: a count that goes down to 0 once; who waits goes on then.
// Threads: any, plain ones too; whoever is let through may destroy it.
#pragma once

#include <chrono>
#include <cstdint>

#include "weft/detail/gate_wait.hpp"

namespace weft::inline v0 {

class Latch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Latch(std::int64_t count) : core_(checked(count)) {}
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  // Throws std::logic_error, and counts nothing, if fewer are left.
  void count_down(std::int64_t by = 1) {
    if (!core_.count_down(by)) [[unlikely]]
      refuse();
  }
  bool try_wait() noexcept { return core_.is_open(); }
  void wait() { (void)detail::wait_at_gate(core_, "latch", this, seam::no_deadline, detail::Raise::yes); }
  void arrive_and_wait(std::int64_t by = 1) {
    count_down(by);
    wait();
  }

  // False: its time ran out. wait() and these throw Cancelled if they wait.
  bool wait_for(std::chrono::nanoseconds span) {
    return detail::wait_at_gate(core_, "latch", this, detail::deadline_after(span), detail::Raise::yes) ==
           WaitResult::done;
  }
  bool wait_until(Clock::time_point when) {
    return detail::wait_at_gate(core_, "latch", this, detail::deadline_at(when), detail::Raise::yes) ==
           WaitResult::done;
  }
  WaitResult wait_result(Clock::time_point when = Clock::time_point::max()) noexcept {
    return detail::wait_at_gate(core_, "latch", this, detail::deadline_at(when), detail::Raise::quietly);
  }

  // For select.
  detail::GateCore& gate() { return core_; }

 private:
  static std::int64_t checked(std::int64_t count);
  [[noreturn]] static void refuse();

  detail::GateCore core_;
};

}  // namespace weft::inline v0
