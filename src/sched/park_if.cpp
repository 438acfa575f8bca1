// SPDX-License-Identifier: MIT
#include "sched/park_while.hpp"

namespace weft::inline v0 {

using namespace detail;

const char* to_string(WaitOutcome outcome) {
  switch (outcome) {
    case WaitOutcome::changed:
      return "changed";
    case WaitOutcome::woken:
      return "woken";
    case WaitOutcome::timed_out:
      return "timed_out";
    case WaitOutcome::cancelled:
      return "cancelled";
  }
  return "?";
}

void Unparker::unpark() const {
  if (task_ == nullptr || task_->id.if_known() != id_) return;
  UnparkLatch::unpark(*task_, [this](Ticket ticket) { wake_task(task_, ticket, WakeReason::flag); });
}

Unparker unparker() {
  TaskCore* task = task_here();
  return {task, task->id};
}

namespace {

WaitOutcome park(const std::atomic<std::uint32_t>& flag, std::uint32_t expected, std::int64_t deadline, Raise raise) {
  const WaitInfo info{"park_if", &flag, nullptr};
  return park_unless_unparked([&] { return flag.load(std::memory_order_acquire) == expected; }, info, deadline, raise);
}

}  // namespace

WaitOutcome park_if(const std::atomic<std::uint32_t>& flag, std::uint32_t expected) {
  return park(flag, expected, seam::no_deadline, Raise::yes);
}

WaitOutcome park_if_for(const std::atomic<std::uint32_t>& flag, std::uint32_t expected, std::chrono::nanoseconds span) {
  return park(flag, expected, deadline_after(span), Raise::yes);
}

WaitOutcome park_if_until(const std::atomic<std::uint32_t>& flag, std::uint32_t expected,
                          std::chrono::steady_clock::time_point when) {
  return park(flag, expected, deadline_at(when), Raise::yes);
}

WaitOutcome park_if_result(const std::atomic<std::uint32_t>& flag, std::uint32_t expected,
                           std::chrono::steady_clock::time_point when) noexcept {
  return park(flag, expected, deadline_at(when), Raise::quietly);
}

}  // namespace weft::inline v0
