// SPDX-License-Identifier: MIT
#include "weft/interval.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using weft::MissedTicks;

namespace {

constexpr auto period = 2ms;

// The consumer is away for more than three periods.
void stall(weft::Interval& interval) {
  const auto back = interval.next() + 3 * period + period / 2;
  while (std::chrono::steady_clock::now() < back) weft::sleep(100us);
}

TEST_CASE("interval: a tick per period, never early, and the pace does not drift [N-037]") {
  weft::run([] {
    weft::Interval interval(period, MissedTicks::burst);
    const auto first = interval.next();
    for (std::uint64_t i = 0; i < 5; ++i) {
      const auto tick = interval.tick();
      CHECK(tick.due == first + i * period);
      CHECK(tick.number == i + 1);
      CHECK(std::chrono::steady_clock::now() >= tick.due);
    }
  });
}

TEST_CASE("interval: skip leaves out what was missed and keeps the beat [N-037]") {
  weft::run([] {
    weft::Interval interval(period, MissedTicks::skip);
    const auto first = interval.next();
    stall(interval);
    const auto late = interval.tick();
    CHECK(late.missed >= 3);
    CHECK(late.number == 1);
    CHECK(late.due == first + late.missed * period);
    CHECK(interval.next() == late.due + period);
    const auto next = interval.tick();
    CHECK((next.due - first) % period == 0ns);
  });
}

TEST_CASE("interval: burst gives every missed tick at once, then goes on as before [N-037]") {
  weft::run([] {
    weft::Interval interval(period, MissedTicks::burst);
    const auto first = interval.next();
    stall(interval);
    weft::Interval::Tick tick{};
    std::uint64_t at_once = 0;
    for (; at_once < 4; ++at_once) {
      REQUIRE(interval.try_tick(tick));  // no waiting: they are all due
      CHECK(tick.due == first + at_once * period);
      CHECK(tick.missed == 0);
    }
    CHECK(interval.next() == first + 4 * period);
  });
}

TEST_CASE("interval: delay starts the pace anew [N-037]") {
  weft::run([] {
    weft::Interval interval(period, MissedTicks::delay);
    const auto first = interval.next();
    stall(interval);
    const auto before = std::chrono::steady_clock::now();
    const auto late = interval.tick();
    CHECK(late.due == first);
    CHECK(interval.next() >= before + period);
    const auto next = interval.tick();
    CHECK(next.due >= before + period);
  });
}

TEST_CASE("interval: every form has its time, and the tick is still to come [N-033] [N-037]") {
  in_each_universe([](const Universe&) {
    weft::Interval interval(1h);
    weft::Interval::Tick tick{};
    CHECK_FALSE(interval.try_tick(tick));
    CHECK_FALSE(interval.tick_for(200us, tick));
    CHECK_FALSE(interval.tick_until(std::chrono::steady_clock::now() + 200us, tick));
    CHECK(interval.tick_result(tick, std::chrono::steady_clock::now() + 200us) == weft::WaitResult::timed_out);
    CHECK_THROWS_AS(weft::Interval(0ns), std::invalid_argument);
    weft::with_nursery([&](weft::Nursery& n) {
      auto task = n.spawn([&] { CHECK(interval.tick_result(tick) == weft::WaitResult::cancelled); });
      until_parked(task);
      task.cancel();
    });
  });
}

TEST_CASE("interval: on a plain thread, too [N-037]") {
  std::thread([] {
    weft::Interval interval(1ms);
    const auto tick = interval.tick();
    CHECK(std::chrono::steady_clock::now() >= tick.due);
  }).join();
}

}  // namespace
