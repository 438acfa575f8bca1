// SPDX-License-Identifier: MIT
#include "weft/interval.hpp"

#include <algorithm>
#include <stdexcept>

#include "sched/virtual_time.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0 {

using namespace detail;

const char* to_string(MissedTicks policy) {
  switch (policy) {
    case MissedTicks::skip:
      return "skip";
    case MissedTicks::burst:
      return "burst";
    case MissedTicks::delay:
      return "delay";
  }
  return "?";
}

namespace {

std::int64_t checked(std::chrono::nanoseconds period) {
  if (period <= period.zero()) throw std::invalid_argument("Interval: the period must be positive");
  return period.count();
}

// Nothing ends it but its time.
struct Alarm {
  WaitInfo info() const { return {"tick", this, nullptr}; }
  bool try_complete() const { return time_here() >= due; }
  Published publish(TaskCore& task) const {
    (void)task.word.begin_park();
    return Published::parking;
  }
  void unpublish() const {}
  std::int64_t due;
};

}  // namespace

Interval::Interval(std::chrono::nanoseconds period, MissedTicks policy)
    : period_(checked(period)), next_(time_here() + period_), policy_(policy) {}

Interval::Tick Interval::take(std::int64_t now) noexcept {
  Tick tick{Clock::time_point(std::chrono::nanoseconds(next_)), ++count_, 0};
  switch (policy_) {
    case MissedTicks::skip: {
      // The newest that is due, and how many before it nobody took.
      const std::int64_t late = (now - next_) / period_;
      tick.due += std::chrono::nanoseconds(late * period_);
      tick.missed = static_cast<std::uint64_t>(late);
      next_ += (late + 1) * period_;
      break;
    }
    case MissedTicks::burst:
      next_ += period_;
      break;
    case MissedTicks::delay:
      next_ = now + period_;
      break;
  }
  return tick;
}

WaitResult Interval::wait(std::int64_t deadline, Raise raise, Tick& tick) {
  Alarm alarm{next_};
  const WaitResult result = wait_on(alarm, std::min(deadline, next_), raise);
  if (result == WaitResult::cancelled) return result;
  const std::int64_t now = time_here();
  if (now < next_) return WaitResult::timed_out;
  tick = take(now);
  return WaitResult::done;
}

Interval::Tick Interval::tick() {
  Tick tick{};
  (void)wait(seam::no_deadline, Raise::yes, tick);
  return tick;
}

bool Interval::tick_for(std::chrono::nanoseconds span, Tick& tick) {
  return wait(deadline_after(span), Raise::yes, tick) == WaitResult::done;
}

bool Interval::tick_until(Clock::time_point when, Tick& tick) {
  return wait(deadline_at(when), Raise::yes, tick) == WaitResult::done;
}

WaitResult Interval::tick_result(Tick& tick, Clock::time_point when) noexcept {
  return wait(deadline_at(when), Raise::quietly, tick);
}

bool Interval::try_tick(Tick& tick) noexcept {
  const std::int64_t now = time_here();
  if (now < next_) return false;
  tick = take(now);
  return true;
}

Interval::Clock::time_point Interval::next() const noexcept {
  return Clock::time_point(std::chrono::nanoseconds(next_));
}

void Interval::reset() noexcept {
  next_ = time_here() + period_;
}

}  // namespace weft::inline v0
