// SPDX-License-Identifier: MIT
//
// What: points in time and spans of it, in nanoseconds, and the clock that says what time it is: the machine's
// (CLOCK_MONOTONIC, through the seam) or a virtual one that a simulation moves.
// Invariants:
//   [CLOCK-1] Arithmetic saturates: "now + the longest span" is never, and never stays never. No overflow, no deadline
//             in the past by accident.
//   [CLOCK-2] A clock does not go back. A virtual one moves only when it is told.
// Threads: values as values; Clock::now and VirtualClock: any.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>
#include <utility>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

namespace saturating {

inline constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

constexpr std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return b > 0 ? highest : lowest;
  return sum;
}
constexpr std::int64_t subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return b < 0 ? highest : lowest;
  return difference;
}
constexpr std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return (a < 0) == (b < 0) ? highest : lowest;
  return product;
}

}  // namespace saturating

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration ns(std::int64_t n) { return Duration(n); }
  static constexpr Duration us(std::int64_t n) { return Duration(saturating::multiply(n, 1'000)); }
  static constexpr Duration ms(std::int64_t n) { return Duration(saturating::multiply(n, 1'000'000)); }
  static constexpr Duration seconds(std::int64_t n) { return Duration(saturating::multiply(n, 1'000'000'000)); }
  static constexpr Duration max() { return Duration(saturating::highest); }

  // chrono's own conversion of hours::max() to nanoseconds overflows; this one saturates.
  template <class Rep, class Period>
    requires std::is_integral_v<Rep>
  constexpr Duration(std::chrono::duration<Rep, Period> span) {  // NOLINT(google-explicit-constructor)
    using Factor = std::ratio_divide<Period, std::nano>;
    ns_ = saturating::multiply(clamp(span.count()), Factor::num) / Factor::den;
  }

  constexpr std::int64_t count_ns() const { return ns_; }
  constexpr std::chrono::nanoseconds to_chrono() const { return std::chrono::nanoseconds(ns_); }

  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(saturating::add(a.ns_, b.ns_)); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(saturating::subtract(a.ns_, b.ns_)); }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return Duration(saturating::multiply(a.ns_, n)); }
  friend constexpr auto operator<=>(Duration, Duration) = default;

 private:
  constexpr explicit Duration(std::int64_t ns) : ns_(ns) {}
  template <class Rep>
  static constexpr std::int64_t clamp(Rep count) {
    if (std::cmp_greater(count, saturating::highest)) return saturating::highest;
    return static_cast<std::int64_t>(count);
  }

  std::int64_t ns_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;  // the clock's zero
  static constexpr Instant from_ns(std::int64_t ns) { return Instant(ns); }
  static constexpr Instant never() { return Instant(saturating::highest); }  // equal to seam::no_deadline

  constexpr std::int64_t ns() const { return ns_; }
  constexpr bool is_never() const { return ns_ == saturating::highest; }

  friend constexpr Instant operator+(Instant at, Duration span) {
    return at.is_never() ? at : Instant(saturating::add(at.ns_, span.count_ns()));
  }
  friend constexpr Instant operator-(Instant at, Duration span) {
    return at.is_never() ? at : Instant(saturating::subtract(at.ns_, span.count_ns()));
  }
  // How long from earlier to later; never is infinitely far away, also from itself.
  friend constexpr Duration operator-(Instant later, Instant earlier) {
    if (later.is_never()) return Duration::max();
    return Duration::ns(saturating::subtract(later.ns_, earlier.ns_));
  }
  friend constexpr auto operator<=>(Instant, Instant) = default;

 private:
  constexpr explicit Instant(std::int64_t ns) : ns_(ns) {}

  std::int64_t ns_ = 0;
};

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;
  virtual Instant now() const noexcept = 0;
};

class MonotonicClock final : public Clock {
 public:
  Instant now() const noexcept override { return Instant::from_ns(seam::monotonic_ns()); }
};

class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(Instant start = Instant()) noexcept : now_(start.ns()) {}

  // acquire: pairs with the release below; whoever sees the new time sees what was done before it was set.
  Instant now() const noexcept override { return Instant::from_ns(now_.load(std::memory_order_acquire)); }

  void advance(Duration span) noexcept { advance_to(now() + span); }

  // Does nothing if that time has passed [CLOCK-2].
  void advance_to(Instant to) noexcept {
    std::int64_t now = now_.load(std::memory_order_relaxed);
    while (now < to.ns() &&
           !now_.compare_exchange_weak(now, to.ns(), std::memory_order_release, std::memory_order_relaxed)) {
    }
  }

 private:
  seam::Atomic<std::int64_t> now_;  // raised by any thread
};

}  // namespace weft::inline v0::detail
