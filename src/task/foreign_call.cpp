// SPDX-License-Identifier: MIT
#include "weft/detail/foreign_call.hpp"

#include "sched/park.hpp"
#include "weft/deadlock.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0::detail {

void ForeignCall::complete() noexcept {
  {
    const std::lock_guard guard(mutex_);
    over_ = true;
  }
  done_.set();
}

bool ForeignCall::ended_before_stop() {
  const ExternalWait outside;
  return done_.wait_result() == WaitResult::done;
}

void ForeignCall::wait_shielded() {
  const ExternalWait outside;
  while (shield([&] { return done_.wait_result(); }) != WaitResult::done) {
  }
}

void raise_if_stopping() {
  raise_if_cancelled(*task_here());
}

}  // namespace weft::inline v0::detail
