// SPDX-License-Identifier: MIT
#include "base/inbox.hpp"

#include <atomic>
#include <vector>

#include "stress.hpp"

using namespace weft::detail;
using namespace weft_test;

namespace {

std::vector<std::uint64_t> numbers(Chain chain) {
  std::vector<std::uint64_t> result;
  while (const Entry entry = chain.pop_front()) result.push_back(take(entry));
  return result;
}

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("inbox: entries come out in the order of the pushes, kinds included") {
  auto items = numbered(6);
  Inbox inbox;
  CHECK(inbox.empty());
  CHECK_FALSE(inbox.pop());
  for (Item& item : items) inbox.push(Item::entry(item));
  CHECK(take(inbox.pop()) == 0);
  CHECK(take(inbox.pop()) == 1);
  CHECK(numbers(inbox.take_all()) == Numbers{2, 3, 4, 5});
  CHECK(inbox.empty());
  CHECK(numbers(inbox.take_all()).empty());
  for (Item& item : items) inbox.push(Item::entry(item));
  CHECK(numbers(inbox.take_all()) == Numbers{0, 1, 2, 3, 4, 5});
}

TEST_CASE("inbox: a push says whether it must wake the owner") {
  auto items = numbered(4);
  Inbox inbox;
  CHECK(inbox.push(Item::entry(items[0])));
  CHECK_FALSE(inbox.push(Item::entry(items[1])));
  CHECK(take(inbox.pop()) == 0);
  // The arrivals have been taken; the rest waits where the owner looks first.
  CHECK_FALSE(inbox.empty());
  CHECK(inbox.push(Item::entry(items[2])));
  CHECK(numbers(inbox.take_all()) == Numbers{1, 2});
  CHECK(inbox.push(Item::entry(items[3])));
  CHECK(numbers(inbox.take_all()) == Numbers{3});
}

TEST_CASE("inbox: a rescuer gets also what the owner has sorted already, in order") {
  auto items = numbered(5);
  Inbox inbox;
  for (std::size_t i = 0; i < 4; ++i) inbox.push(Item::entry(items[i]));
  CHECK(take(inbox.pop()) == 0);
  inbox.push(Item::entry(items[4]));
  CHECK(numbers(inbox.take_all()) == Numbers{1, 2, 3, 4});
  CHECK_FALSE(inbox.pop());
}

TEST_CASE("inbox: an item may be pushed again while it is being handled") {
  auto items = numbered(2);
  Inbox inbox;
  for (int round = 0; round < 3; ++round) {
    inbox.push(Item::entry(items[0]));
    inbox.push(Item::entry(items[1]));
    const Entry first = inbox.pop();
    CHECK(inbox.push(first));
    CHECK(numbers(inbox.take_all()) == Numbers{1, 0});
  }
}

TEST_CASE("inbox: what the owner has sorted is published to a rescuer by the inbox alone") {
  auto items = numbered(4);
  Inbox inbox;
  std::atomic<bool> ready{false};
  Numbers rescued;
  crew(2, [&](std::size_t me) {
    if (me == 0) {
      for (Item& item : items) inbox.push(Item::entry(item));
      take(inbox.pop());
      ready.store(true, std::memory_order_relaxed);  // says when, orders nothing
    } else {
      while (!ready.load(std::memory_order_relaxed)) std::this_thread::yield();
      while (rescued.size() < 3) {
        for (const std::uint64_t number : numbers(inbox.take_all())) rescued.push_back(number);
      }
    }
  });
  CHECK(rescued == Numbers{1, 2, 3});
}

TEST_CASE("inbox: many pushers, an owner and rescuers take each entry once; the owner sees each pusher's order") {
  WEFT_LOG_SEED();
  constexpr std::size_t pushers = 3;
  constexpr std::size_t each = 40'000;
  auto items = numbered(pushers * each);
  Inbox inbox;
  std::atomic<std::size_t> out{0};
  std::atomic<std::uint64_t> sum{0};
  std::atomic<std::size_t> disorder{0};
  std::atomic<std::size_t> wakes{0};
  crew(pushers + 2, [&](std::size_t me) {
    Dice dice(me);
    if (me < pushers) {
      for (std::size_t i = 0; i < each; ++i) {
        if (inbox.push(Item::entry(items[me * each + i]))) wakes.fetch_add(1, std::memory_order_relaxed);
      }
      return;
    }
    const bool owner = me == pushers;
    std::vector<std::uint64_t> next(pushers, 0);
    const auto see = [&](Entry entry) {
      const std::uint64_t number = take(entry);
      sum.fetch_add(number, std::memory_order_relaxed);
      out.fetch_add(1, std::memory_order_relaxed);
      const std::size_t from = number / each;
      // A rescuer may meet mail that the owner was just sorting, after newer mail.
      if (owner && number < next[from]) disorder.fetch_add(1, std::memory_order_relaxed);
      next[from] = number + 1;
    };
    while (out.load(std::memory_order_relaxed) < items.size()) {
      if (owner && dice.below(8) != 0) {
        if (const Entry entry = inbox.pop()) see(entry);
      } else {
        // The owner's own take_all is ordered too.
        if (!owner && dice.below(4) != 0) continue;
        Chain chain = inbox.take_all();
        while (const Entry entry = chain.pop_front()) see(entry);
      }
    }
  });
  CHECK(taken_once(items) == items.size());
  CHECK(sum.load() == items.size() * (items.size() - 1) / 2);
  CHECK(disorder.load() == 0);
  CHECK(wakes.load() >= 1);
  CHECK(inbox.empty());
}
