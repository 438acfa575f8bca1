// SPDX-License-Identifier: MIT
// What: counts work in flight, up and down; who waits goes on when there is none.
// Threads: any, plain ones too; whoever is let through may destroy it.
#pragma once

#include <chrono>
#include <cstdint>

#include "weft/detail/gate_wait.hpp"

namespace weft::inline v0 {

class WaitGroup {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WaitGroup(std::int64_t count = 0) : core_(0) { add(count); }
  WaitGroup(const WaitGroup&) = delete;
  WaitGroup& operator=(const WaitGroup&) = delete;

  // Throws std::logic_error for a negative count.
  void add(std::int64_t count = 1) {
    if (!core_.add(count)) [[unlikely]]
      refuse("WaitGroup::add: a negative number, or too many");
  }
  // Throws std::logic_error if nothing is in flight.
  void done() {
    if (!core_.count_down(1)) [[unlikely]]
      refuse("WaitGroup::done: nothing is in flight");
  }
  bool try_wait() noexcept { return core_.is_open(); }
  void wait() { (void)detail::wait_at_gate(core_, "wait_group", this, seam::no_deadline, detail::Raise::yes); }

  // False: its time ran out. wait() and these throw Cancelled if they wait.
  bool wait_for(std::chrono::nanoseconds span) {
    return detail::wait_at_gate(core_, "wait_group", this, detail::deadline_after(span), detail::Raise::yes) ==
           WaitResult::done;
  }
  bool wait_until(Clock::time_point when) {
    return detail::wait_at_gate(core_, "wait_group", this, detail::deadline_at(when), detail::Raise::yes) ==
           WaitResult::done;
  }
  WaitResult wait_result(Clock::time_point when = Clock::time_point::max()) noexcept {
    return detail::wait_at_gate(core_, "wait_group", this, detail::deadline_at(when), detail::Raise::quietly);
  }

  // For select.
  detail::GateCore& gate() { return core_; }

 private:
  [[noreturn]] static void refuse(const char* what);

  detail::GateCore core_;
};

}  // namespace weft::inline v0
