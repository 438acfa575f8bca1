// SPDX-License-Identifier: MIT
#include "base/global_queue.hpp"

#include <atomic>
#include <vector>

#include "stress.hpp"

using namespace weft::detail;
using namespace weft_test;

TEST_CASE("global queue: 100k pushes with nobody popping return, all come out, in order [V-033]") {
  auto items = numbered(100'000);
  GlobalQueue queue;
  CHECK(queue.capacity() == 4096);
  for (Item& item : items) queue.push(Item::entry(item));
  CHECK(queue.size() == items.size());
  CHECK(queue.overflow_size() == items.size() - 4096);
  std::size_t wrong = 0;
  for (std::uint64_t i = 0; i < items.size(); ++i) {
    const Entry entry = queue.pop();
    if (!entry || take(entry) != i) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK_FALSE(queue.pop());
  CHECK(queue.empty());
  CHECK(queue.overflow_size() == 0);
}

TEST_CASE("global queue: what overflowed is not overtaken by later pushes") {
  auto items = numbered(200);
  GlobalQueue queue(2);
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::size_t wrong = 0;
  // One pop for two pushes: there is room in the ring again and again while the list is not empty.
  while (in + 2 <= items.size()) {
    queue.push(Item::entry(items[in++]));
    queue.push(Item::entry(items[in++]));
    const Entry entry = queue.pop();
    if (!entry || take(entry) != out++) ++wrong;
  }
  while (const Entry entry = queue.pop()) {
    if (take(entry) != out++) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(out == items.size());
}

TEST_CASE("global queue: a pop says nothing is there only when nothing is, also while others refill the ring") {
  WEFT_LOG_SEED();
  constexpr std::size_t poppers = 3;
  std::atomic<std::size_t> wrong{0};
  for (int round = 0; round < 40; ++round) {
    auto items = numbered(3'000);
    GlobalQueue queue(2);
    for (Item& item : items) queue.push(Item::entry(item));
    std::atomic<std::size_t> out{0};
    crew(poppers, [&](std::size_t) {
      while (out.load(std::memory_order_relaxed) < items.size()) {
        if (const Entry entry = queue.pop()) {
          take(entry);
          out.fetch_add(1, std::memory_order_relaxed);
        } else if (items.size() - out.load(std::memory_order_relaxed) >= poppers) {
          wrong.fetch_add(1, std::memory_order_relaxed);  // more are left than the others can be holding uncounted
        }
      }
    });
    CHECK(taken_once(items) == items.size());
    CHECK(queue.empty());
  }
  CHECK(wrong.load() == 0);
}

TEST_CASE("global queue: pushers and poppers on a tiny ring lose and double nothing [V-033]") {
  WEFT_LOG_SEED();
  constexpr std::size_t pushers = 2;
  constexpr std::size_t poppers = 2;
  constexpr std::size_t each = 30'000;
  for (const std::size_t capacity : {std::size_t{2}, std::size_t{128}}) {
    auto items = numbered(pushers * each);
    GlobalQueue queue(capacity);
    std::atomic<std::size_t> out{0};
    std::atomic<std::uint64_t> sum{0};
    crew(pushers + poppers, [&](std::size_t me) {
      Dice dice(me);
      if (me < pushers) {
        for (std::size_t i = 0; i < each; ++i) {
          queue.push(Item::entry(items[me * each + i]));
          if (dice.below(200) == 0) std::this_thread::yield();
        }
        return;
      }
      while (out.load(std::memory_order_relaxed) < items.size()) {
        if (const Entry entry = queue.pop()) {
          sum.fetch_add(take(entry), std::memory_order_relaxed);
          out.fetch_add(1, std::memory_order_relaxed);
        } else {
          std::this_thread::yield();
        }
      }
    });
    CHECK(taken_once(items) == items.size());
    CHECK(sum.load() == items.size() * (items.size() - 1) / 2);
    CHECK(queue.empty());
  }
}
