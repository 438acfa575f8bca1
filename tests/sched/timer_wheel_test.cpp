// SPDX-License-Identifier: MIT
#include "sched/timer_wheel.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "doctest/doctest.h"

using namespace weft;
using namespace weft::detail;

namespace {

constexpr std::int64_t tick = TimerWheel::tick_ns;
constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1'000 * ms;
constexpr std::int64_t hour = 3'600 * second;

std::uint64_t rounded_up(std::int64_t deadline) {
  return deadline <= 0 ? 0 : (static_cast<std::uint64_t>(deadline) + tick - 1) / tick;
}

struct Numbered : TimerNode {
  int id = 0;
};

int id_of(TimerNode& node) {
  return static_cast<Numbered&>(node).id;
}

std::vector<std::int64_t> fired_deadlines(TimerWheel& wheel, std::int64_t now) {
  std::vector<std::int64_t> deadlines;
  wheel.advance(now, [&](TimerNode& node) { deadlines.push_back(node.deadline); });
  return deadlines;
}

}  // namespace

TEST_CASE("timer wheel: sleeping until next_deadline() reaches each timer within eight wakes, never early") {
  Random random(42);
  for (int round = 0; round < 2'000; ++round) {
    const auto start = static_cast<std::int64_t>(random.next() >> 4U);
    const auto deadline = start + 1 + static_cast<std::int64_t>((random.next() >> 5U) >> random.next() % 58);
    TimerWheel wheel(start);
    TimerNode node;
    wheel.insert(node, deadline);
    unsigned wakes = 0;
    std::int64_t now = start;
    while (node.armed()) {
      now = wheel.next_deadline();
      ++wakes;
      REQUIRE(wakes <= TimerWheel::levels);
      wheel.advance(now, [](TimerNode&) {});
    }
    CHECK(now >= deadline);
    CHECK(now - deadline < tick);
  }
}

TEST_CASE("timer wheel: nodes of one tick fire in order of insertion, wherever they stood before") {
  TimerWheel wheel;
  const std::int64_t when = 3 * second;
  std::vector<Numbered> nodes(6);
  for (int i = 0; i < 6; ++i) nodes[static_cast<std::size_t>(i)].id = i;
  std::vector<int> order;
  const auto note = [&](TimerNode& node) { order.push_back(id_of(node)); };
  const std::int64_t inserted_at[] = {0, 0, second, when - 100 * ms, when - 3 * ms, when - tick};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    wheel.advance(inserted_at[i], note);
    wheel.insert(nodes[i], when - static_cast<std::int64_t>(i) % 3);  // one tick, different deadlines
  }
  CHECK(order.empty());
  wheel.advance(when + tick, note);
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("timer wheel: earlier ticks fire first, also when one advance() covers hours") {
  TimerWheel wheel(5 * hour);
  Random random(7);
  std::vector<TimerNode> nodes(1'000);
  for (TimerNode& node : nodes)
    wheel.insert(node, 5 * hour + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(4 * hour)));
  const std::vector<std::int64_t> fired = fired_deadlines(wheel, 10 * hour);
  REQUIRE(fired.size() == nodes.size());
  for (std::size_t i = 1; i < fired.size(); ++i) REQUIRE(rounded_up(fired[i - 1]) <= rounded_up(fired[i]));
}

TEST_CASE("timer wheel: a past deadline fires at the next advance(), a negative one too") {
  TimerWheel wheel(hour);
  TimerNode past, negative, lowest, present;
  wheel.insert(past, hour - second);
  wheel.insert(negative, -5);
  wheel.insert(lowest, std::numeric_limits<std::int64_t>::min());
  wheel.insert(present, hour / tick * tick);
  CHECK(wheel.next_deadline() <= hour);
  CHECK(fired_deadlines(wheel, hour).size() == 4);
  CHECK(wheel.next_deadline() == seam::no_deadline);
}

TEST_CASE("timer wheel: time that goes back fires nothing but what was due") {
  TimerWheel wheel;
  wheel.advance(10 * second, [](TimerNode&) {});
  TimerNode due, future;
  wheel.insert(due, 9 * second);
  wheel.insert(future, 11 * second);
  CHECK(fired_deadlines(wheel, 1 * second) == std::vector<std::int64_t>{9 * second});
  CHECK(future.armed());
  CHECK(fired_deadlines(wheel, 11 * second + tick) == std::vector<std::int64_t>{11 * second});
}

TEST_CASE("timer wheel: the last deadline of all never fires and never overflows") {
  TimerWheel wheel(hour);
  TimerNode never, last;
  wheel.insert(never, seam::no_deadline);
  wheel.insert(last, seam::no_deadline / tick * tick);
  CHECK(wheel.next_deadline() > hour);
  CHECK(fired_deadlines(wheel, seam::no_deadline / tick * tick - 1).empty());
  CHECK(fired_deadlines(wheel, seam::no_deadline) == std::vector<std::int64_t>{seam::no_deadline / tick * tick});
  CHECK(never.armed());
  CHECK(wheel.next_deadline() == seam::no_deadline);
  CHECK(wheel.size() == 1);
  wheel.remove(never);
  CHECK(wheel.empty());
}

TEST_CASE("timer wheel: a million ticks of an interval: each firing in its own tick, through all wraps") {
  TimerWheel wheel;
  TimerNode node;
  std::int64_t deadline = 0;
  std::int64_t now = 0;
  std::uint64_t fired = 0;
  bool always_on_time = true;
  while (now < 1'000'000 * tick) {
    deadline += 7 * tick + 1;
    wheel.insert(node, deadline);
    while (node.armed()) {
      now += tick;
      wheel.advance(now, [&](TimerNode& one) {
        ++fired;
        always_on_time = always_on_time && now >= one.deadline && now - one.deadline < tick;
      });
    }
  }
  CHECK(always_on_time);
  CHECK(fired == static_cast<std::uint64_t>(deadline / (7 * tick + 1)));
}

TEST_CASE(
    "timer wheel: a callback may re-arm its node and remove others; what it makes due waits for the next advance") {
  TimerWheel wheel;
  std::vector<Numbered> nodes(6);
  for (int i = 0; i < 6; ++i) {
    nodes[static_cast<std::size_t>(i)].id = i;
    wheel.insert(nodes[static_cast<std::size_t>(i)], ms);
  }
  std::vector<int> order;
  const auto callback = [&](TimerNode& node) {
    order.push_back(id_of(node));
    if (id_of(node) == 0) wheel.remove(nodes[1]);        // its neighbour, about to fire
    if (id_of(node) == 2) wheel.insert(node, ms);        // past: due at once, but not in this advance()
    if (id_of(node) == 3) wheel.insert(node, 2 * ms);    // later, but still within this advance()
    if (id_of(node) == 4) wheel.insert(nodes[1], hour);  // one that was removed
  };
  CHECK(wheel.advance(3 * ms, callback) == 6);
  CHECK(order == std::vector<int>{0, 2, 3, 4, 5, 3});
  CHECK(wheel.size() == 3);
  wheel.remove(nodes[3]);
  CHECK(wheel.next_deadline() <= 3 * ms);
  order.clear();
  CHECK(fired_deadlines(wheel, 3 * ms) == std::vector<std::int64_t>{ms});
  CHECK(wheel.size() == 1);
}

TEST_CASE("timer wheel: due nodes can be removed, also by the callback that comes before them") {
  TimerWheel wheel(second);
  Numbered first, second_node, third;
  wheel.insert(first, 1);
  wheel.insert(second_node, 2);
  wheel.insert(third, 3);
  wheel.remove(second_node);
  std::size_t fired = 0;
  wheel.advance(second, [&](TimerNode&) {
    ++fired;
    wheel.remove(third);
  });
  CHECK(fired == 1);
  CHECK(wheel.empty());
  CHECK(wheel.next_deadline() == seam::no_deadline);
}

TEST_CASE("timer wheel: what advance() does for expired timers does not grow with the number of unexpired [V-080]") {
  const auto work_beside = [](std::size_t unexpired) {
    TimerWheel wheel(hour);
    Random random(11);
    std::vector<TimerNode> far(unexpired);
    for (TimerNode& node : far)
      wheel.insert(node, 2 * hour + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(hour)));
    std::vector<TimerNode> near(100);
    for (std::size_t i = 0; i < near.size(); ++i) wheel.insert(near[i], hour + static_cast<std::int64_t>(i) * 10 * ms);
    const TimerWheel::Work before = wheel.work();
    for (std::int64_t now = hour; now < hour + second; now += tick) wheel.advance(now, [](TimerNode&) {});
    const TimerWheel::Work after = wheel.work();
    CHECK(wheel.size() == unexpired);
    CHECK(after.nodes_fired - before.nodes_fired == near.size());
    return (after.slots_opened - before.slots_opened) + (after.nodes_moved - before.nodes_moved);
  };
  const std::uint64_t steps = work_beside(0);
  CHECK(steps > 0);
  CHECK(work_beside(100) == steps);
  CHECK(work_beside(100'000) == steps);
}

TEST_CASE("timer wheel: a node of the next hour moves at most four times in its life") {
  TimerWheel wheel(17 * hour);
  Random random(13);
  std::vector<TimerNode> nodes(20'000);
  for (TimerNode& node : nodes)
    wheel.insert(node, 17 * hour + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(hour)));
  while (!wheel.empty()) wheel.advance(wheel.next_deadline(), [](TimerNode&) {});
  CHECK(wheel.work().nodes_fired == nodes.size());
  CHECK(wheel.work().nodes_moved <= 4 * nodes.size());
}
