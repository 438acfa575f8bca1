// SPDX-License-Identifier: MIT
#include "base/clock.hpp"

#include <chrono>
#include <limits>

#include "doctest/doctest.h"
#include "stress.hpp"

using namespace weft::detail;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();

}  // namespace

TEST_CASE("clock: now plus the longest span is never, and never stays never") {
  const MonotonicClock clock;
  const Instant now = clock.now();
  CHECK(now + Duration::max() == Instant::never());
  CHECK((now + Duration::max()).ns() == weft::seam::no_deadline);
  CHECK(Instant::never() + Duration::seconds(1) == Instant::never());
  CHECK(Instant::never() - Duration::seconds(1) == Instant::never());
  CHECK(Instant::never() - now == Duration::max());
  CHECK(Instant::never() - Instant::never() == Duration::max());
  CHECK(now < Instant::never());
  CHECK(now + Duration::seconds(-1) < now);
  CHECK((Instant::from_ns(lowest) + Duration::ns(-1)).ns() == lowest);
  CHECK((Instant::from_ns(-2) - Instant::from_ns(highest - 1)).count_ns() == -highest - 1);
  CHECK((Instant::from_ns(lowest) - Instant::from_ns(1)).count_ns() == lowest);
}

TEST_CASE("clock: spans saturate at both ends") {
  CHECK(Duration::seconds(highest) == Duration::max());
  CHECK(Duration::ms(lowest).count_ns() == lowest);
  CHECK(Duration::max() + Duration::ns(1) == Duration::max());
  CHECK((Duration::ns(lowest) - Duration::ns(1)).count_ns() == lowest);
  CHECK((Duration() - Duration::ns(lowest)) == Duration::max());
  CHECK(Duration::ns(5) * -3 == Duration::ns(-15));
  CHECK(Duration::max() * -2 == Duration::ns(lowest));
  CHECK(Duration::us(3) < Duration::ms(1));
  static_assert(Duration::seconds(2).count_ns() == 2'000'000'000);
}

TEST_CASE("clock: spans of chrono convert, the largest saturate") {
  CHECK(Duration(3ms).count_ns() == 3'000'000);
  CHECK(Duration(2h).count_ns() == 7'200'000'000'000);
  CHECK(Duration(-1us).count_ns() == -1'000);
  CHECK(Duration(std::chrono::hours::max()) == Duration::max());
  CHECK(Duration(std::chrono::seconds::min()).count_ns() == lowest);
  CHECK(Duration(std::chrono::nanoseconds::max()) == Duration::max());
  CHECK(Duration(std::chrono::duration<std::uint64_t>(~std::uint64_t{0})) == Duration::max());
  CHECK(Duration(std::chrono::duration<std::int64_t, std::pico>(2'500)).count_ns() == 2);
  CHECK(Duration::ms(5).to_chrono() == 5ms);
}

TEST_CASE("clock: the monotonic clock does not go back") {
  const MonotonicClock clock;
  Instant before = clock.now();
  std::size_t backwards = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Instant now = clock.now();
    if (now < before) ++backwards;
    before = now;
  }
  CHECK(backwards == 0);
}

TEST_CASE("clock: a virtual clock moves when told, never back, never past the end") {
  VirtualClock clock(Instant::from_ns(100));
  const Clock& as_clock = clock;
  CHECK(as_clock.now() == Instant::from_ns(100));
  CHECK(as_clock.now() == Instant::from_ns(100));
  clock.advance(Duration::ns(50));
  CHECK(as_clock.now().ns() == 150);
  clock.advance_to(Instant::from_ns(120));
  CHECK(as_clock.now().ns() == 150);
  clock.advance(Duration::ns(-10));
  CHECK(as_clock.now().ns() == 150);
  clock.advance(Duration::max());
  CHECK(as_clock.now() == Instant::never());
}

TEST_CASE("clock: threads that advance a virtual clock leave it at the latest time, readers see it rise") {
  VirtualClock clock;
  std::atomic<int> backwards{0};
  weft_test::crew(3, [&](std::size_t me) {
    Instant before = clock.now();
    for (std::int64_t i = 1; i <= 20'000; ++i) {
      if (me < 2) clock.advance_to(Instant::from_ns(2 * i + static_cast<std::int64_t>(me)));
      const Instant now = clock.now();
      if (now < before) backwards.fetch_add(1, std::memory_order_relaxed);
      before = now;
    }
  });
  CHECK(backwards.load() == 0);
  CHECK(clock.now().ns() == 40'001);
}
