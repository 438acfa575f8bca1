// SPDX-License-Identifier: MIT
#include "base/ring.hpp"

#include <atomic>
#include <vector>

#include "stress.hpp"

using namespace weft::detail;
using namespace weft_test;

TEST_CASE("ring: first in, first out, full and empty said as they are") {
  auto items = numbered(5);
  Ring ring(3);
  CHECK(ring.capacity() == 4);
  CHECK(Ring(1).capacity() == 2);
  CHECK_FALSE(ring.pop());
  for (std::size_t i = 0; i < 4; ++i) CHECK(ring.push(Item::entry(items[i])));
  CHECK_FALSE(ring.push(Item::entry(items[4])));
  CHECK(ring.size() == 4);
  CHECK(take(ring.pop()) == 0);
  CHECK(ring.push(Item::entry(items[4])));
  for (std::uint64_t i = 1; i < 5; ++i) CHECK(take(ring.pop()) == i);
  CHECK_FALSE(ring.pop());
  CHECK(ring.empty());
}

namespace {

template <class Counter>
void laps(Counter start, std::size_t capacity, std::size_t steps) {
  WEFT_LOG_SEED();
  CAPTURE(static_cast<std::uint64_t>(start));
  auto items = numbered(64);
  BasicRing<Counter> ring(capacity, start);
  Dice dice(capacity);
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::size_t wrong = 0;
  const auto expect = [&wrong](bool right) {
    if (!right) ++wrong;
  };
  for (std::size_t i = 0; i < steps; ++i) {
    if (dice.below(2) == 0) {
      const bool pushed = ring.push(Item::entry(items[in % items.size()]));
      expect(pushed == (in - out < capacity));
      if (pushed) ++in;
    } else {
      const Entry entry = ring.pop();
      expect(static_cast<bool>(entry) == (in != out));
      if (entry) expect(entry.as<Item>()->number == out++ % items.size());
    }
    expect(ring.size() == in - out);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("ring: sequence numbers wrap around without a trace") {
  for (const std::size_t capacity : {std::size_t{2}, std::size_t{4}, std::size_t{16}}) {
    laps<std::uint64_t>(~std::uint64_t{0} - 20, capacity, 2000);
    laps<std::uint64_t>((std::uint64_t{1} << 63) - 20, capacity, 2000);
    laps<std::uint64_t>((std::uint64_t{1} << 32) - 20, capacity, 2000);
    laps<std::uint32_t>(~std::uint32_t{0} - 20, capacity, 2000);
    laps<std::uint8_t>(0, capacity, 20'000);  // more than fifty turns of the counter
    laps<std::uint8_t>(251, capacity, 20'000);
  }
}

TEST_CASE("ring: many pushers and poppers move each entry once, each pusher's in order [HC11]") {
  WEFT_LOG_SEED();
  constexpr std::size_t pushers = 2;
  constexpr std::size_t poppers = 2;
  constexpr std::size_t each = 60'000;
  for (const std::size_t capacity : {std::size_t{2}, std::size_t{64}}) {
    auto items = numbered(pushers * each);
    Ring ring(capacity, ~std::uint64_t{0} - each);
    std::atomic<std::size_t> out{0};
    std::atomic<std::uint64_t> sum{0};
    std::atomic<std::size_t> disorder{0};
    crew(pushers + poppers, [&](std::size_t me) {
      if (me < pushers) {
        for (std::size_t i = 0; i < each; ++i) {
          while (!ring.push(Item::entry(items[me * each + i]))) std::this_thread::yield();
        }
        return;
      }
      std::vector<std::uint64_t> next(pushers, 0);
      while (out.load(std::memory_order_relaxed) < items.size()) {
        const Entry entry = ring.pop();
        if (!entry) {
          std::this_thread::yield();
          continue;
        }
        const std::uint64_t number = take(entry);
        sum.fetch_add(number, std::memory_order_relaxed);
        out.fetch_add(1, std::memory_order_relaxed);
        const std::size_t from = number / each;
        if (number < next[from]) disorder.fetch_add(1, std::memory_order_relaxed);
        next[from] = number + 1;
      }
    });
    CHECK(taken_once(items) == items.size());
    CHECK(sum.load() == items.size() * (items.size() - 1) / 2);
    CHECK(disorder.load() == 0);
    CHECK(ring.empty());
  }
}
