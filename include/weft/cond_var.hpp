// SPDX-License-Identifier: MIT
// What: a condition variable for weft::Mutex.
//
//   std::unique_lock lock(mutex);
//   ready.wait(lock, [&] { return !queue.empty(); });        // elsewhere, with the mutex held: push;
//   ready.notify_one()
//
// However a wait ends, by a notification, its time, or Cancelled, the mutex is locked again when it returns or throws;
// that lock waits as long as it takes. Who leaves by Cancelled or its time has not used up a notify_one. Others may
// change the condition between the notification and the lock: pass a predicate.
// It must outlive those who wait, until they have returned.
// Threads: any, plain ones too.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

#include "weft/detail/cond_core.hpp"
#include "weft/mutex.hpp"

namespace weft::inline v0 {

class CondVar {
 public:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<Mutex>;

  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void notify_one() noexcept { core_.notify_one(); }
  void notify_all() noexcept { core_.notify_all(); }

  void wait(Lock& lock) { (void)wait_for_notice(lock, seam::no_deadline, detail::Raise::yes); }
  template <class Predicate>
  void wait(Lock& lock, Predicate&& holds) {
    while (!holds()) wait(lock);
  }

  // False: its time ran out; with a predicate: and it does not hold.
  bool wait_until(Lock& lock, Clock::time_point when) {
    return wait_for_notice(lock, detail::deadline_at(when), detail::Raise::yes) == WaitResult::done;
  }
  bool wait_for(Lock& lock, std::chrono::nanoseconds span) {
    return wait_for_notice(lock, detail::deadline_after(span), detail::Raise::yes) == WaitResult::done;
  }
  template <class Predicate>
  bool wait_until(Lock& lock, Clock::time_point when, Predicate&& holds) {
    return wait_before(lock, detail::deadline_at(when), std::forward<Predicate>(holds));
  }
  template <class Predicate>
  bool wait_for(Lock& lock, std::chrono::nanoseconds span, Predicate&& holds) {
    return wait_before(lock, detail::deadline_after(span), std::forward<Predicate>(holds));
  }

  // Never throws. The mutex is held afterwards, whatever it returns.
  WaitResult wait_result(Lock& lock, Clock::time_point when = Clock::time_point::max()) noexcept {
    return wait_for_notice(lock, detail::deadline_at(when), detail::Raise::quietly);
  }

 private:
  template <class Predicate>
  bool wait_before(Lock& lock, std::int64_t deadline, Predicate&& holds) {
    while (!holds()) {
      if (wait_for_notice(lock, deadline, detail::Raise::yes) != WaitResult::done) return holds();
    }
    return true;
  }
  WaitResult wait_for_notice(Lock& lock, std::int64_t deadline, detail::Raise raise);

  detail::CondCoreOf<detail::TaskCore> core_;
};

}  // namespace weft::inline v0
