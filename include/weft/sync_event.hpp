// SPDX-License-Identifier: MIT
// What: an event that is set or not; who waits goes on once it is set. It stays set until it is reset.
// Threads: any, plain ones too; whoever finds it set may destroy it.
#pragma once

#include <chrono>

#include "weft/detail/gate_wait.hpp"

namespace weft::inline v0 {

class SyncEvent {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SyncEvent(bool set = false) : core_(set ? 0 : 1) {}
  SyncEvent(const SyncEvent&) = delete;
  SyncEvent& operator=(const SyncEvent&) = delete;

  void set() noexcept { core_.open(); }
  void reset() noexcept { core_.close(); }
  // Whoever waits at this moment goes on, exactly; it is not set by this.
  void pulse() noexcept { core_.pulse(); }
  bool is_set() noexcept { return core_.is_open(); }

  void wait() { (void)detail::wait_at_gate(core_, "event", this, seam::no_deadline, detail::Raise::yes); }

  // False: its time ran out. wait() and these throw Cancelled if they wait.
  bool wait_for(std::chrono::nanoseconds span) {
    return detail::wait_at_gate(core_, "event", this, detail::deadline_after(span), detail::Raise::yes) ==
           WaitResult::done;
  }
  bool wait_until(Clock::time_point when) {
    return detail::wait_at_gate(core_, "event", this, detail::deadline_at(when), detail::Raise::yes) ==
           WaitResult::done;
  }
  WaitResult wait_result(Clock::time_point when = Clock::time_point::max()) noexcept {
    return detail::wait_at_gate(core_, "event", this, detail::deadline_at(when), detail::Raise::quietly);
  }

  // For select.
  detail::GateCore& gate() { return core_; }

 private:
  detail::GateCore core_;
};

}  // namespace weft::inline v0
