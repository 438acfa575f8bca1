// SPDX-License-Identifier: MIT
#include "weft/detail/deque.hpp"

#include <atomic>
#include <memory>
#include <vector>

#include "stress.hpp"

using namespace weft::detail;
using namespace weft_test;

namespace {

using Numbers = std::vector<std::uint64_t>;
using Theft = Deque::Theft;

Numbers popped(Deque& deque) {
  Numbers result;
  while (const Entry entry = deque.pop()) result.push_back(take(entry));
  return result;
}

}  // namespace

TEST_CASE("deque: the owner gets the newest, a thief and a fair owner the oldest") {
  auto items = numbered(5);
  Deque deque(8);
  CHECK_FALSE(deque.pop());
  CHECK_FALSE(deque.take_oldest());
  CHECK(deque.steal().outcome == Theft::empty);
  for (Item& item : items) CHECK(deque.push(Item::entry(item)));
  CHECK(deque.size() == 5);
  CHECK(take(deque.pop()) == 4);
  const auto stolen = deque.steal();
  REQUIRE(stolen.outcome == Theft::taken);
  CHECK(take(stolen.entry) == 0);
  CHECK(take(deque.take_oldest()) == 1);
  CHECK(popped(deque) == Numbers{3, 2});
  CHECK(deque.size() == 0);
  CHECK(taken_once(items) == 5);
}

TEST_CASE("deque: it grows from the smallest size and keeps order and entries") {
  auto items = numbered(100);
  Deque deque(1);
  CHECK(deque.capacity() == 2);
  // A run-up makes the contents lie across the end of the buffer when it grows.
  for (int i = 0; i < 3; ++i) {
    CHECK(deque.push(Item::entry(items[0])));
    CHECK(deque.take_oldest());
  }
  items[0].taken = 0;
  for (Item& item : items) CHECK(deque.push(Item::entry(item)));
  CHECK(deque.capacity() == 128);
  for (std::uint64_t i = 0; i < 50; ++i) CHECK(take(deque.steal().entry) == i);
  for (std::uint64_t i = 99; i >= 50; --i) CHECK(take(deque.pop()) == i);
  CHECK(taken_once(items) == 100);
}

TEST_CASE("deque: the counters may pass 2^63, 2^64 and 2^32") {
  for (const std::uint64_t start :
       {~std::uint64_t{0} - 3, (std::uint64_t{1} << 63) - 3, (std::uint64_t{1} << 32) - 3}) {
    auto items = numbered(12);
    Deque deque(2, start);
    Deque thief(2, start + 2);
    for (Item& item : items) CHECK(deque.push(Item::entry(item)));
    CHECK(deque.size() == 12);
    CHECK(take(deque.pop()) == 11);
    CHECK(take(deque.take_oldest()) == 0);
    const auto stolen = deque.steal_batch(thief, 100);
    CHECK(take(stolen.entry) == 1);
    CHECK(stolen.moved == 4);
    CHECK(popped(thief) == Numbers{5, 4, 3, 2});
    CHECK(popped(deque) == Numbers{10, 9, 8, 7, 6});
    CHECK(taken_once(items) == 12);
  }
}

TEST_CASE("deque: a batch is half rounded up, at most the limit, the oldest first") {
  for (std::size_t length = 0; length <= 9; ++length) {
    for (const std::size_t limit : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{99}}) {
      auto items = numbered(length);
      Deque victim(4);
      Deque thief(2);
      for (Item& item : items) CHECK(victim.push(Item::entry(item)));
      const std::size_t expected = std::min(limit, (length + 1) / 2);
      const auto stolen = victim.steal_batch(thief, limit);
      CAPTURE(length);
      CAPTURE(limit);
      if (expected == 0) {
        CHECK(stolen.outcome == Theft::empty);
      } else {
        CHECK(stolen.outcome == Theft::taken);
        CHECK(take(stolen.entry) == 0);
        CHECK(stolen.moved + 1 == expected);
      }
      for (std::size_t i = 1; i < expected; ++i) CHECK(take(thief.take_oldest()) == i);
      CHECK(thief.size() == 0);
      CHECK(victim.size() == length - expected);
      CHECK(victim.steal_batch(victim, 9).outcome == Theft::empty);  // not from oneself
      (void)popped(victim);
      CHECK(taken_once(items) == length);
    }
  }
}

TEST_CASE("deque: one without a deque gets so many as it asks for, the oldest first") {
  auto items = numbered(5);
  Deque deque(8);
  Numbers got;
  const auto keep = [&](Entry entry) { got.push_back(take(entry)); };
  CHECK(deque.steal_each(3, keep) == 0);
  for (Item& item : items) CHECK(deque.push(Item::entry(item)));
  CHECK(deque.steal_each(0, keep) == 0);
  CHECK(deque.steal_each(3, keep) == 3);
  CHECK(got == Numbers{0, 1, 2});
  CHECK(deque.steal_each(3, keep) == 2);
  CHECK(got == Numbers{0, 1, 2, 3, 4});
  CHECK(taken_once(items) == 5);
}

TEST_CASE("deque: an entry is one lock-free word and keeps its kind [HC11]") {
  static_assert(sizeof(Entry) == 8);
  static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);
  Item item;
  for (unsigned kind = 0; kind < Entry::kinds; ++kind) {
    Deque deque(2);
    CHECK(deque.push(Entry(&item, kind)));
    const Entry back = deque.pop();
    CHECK(back.kind() == kind);
    CHECK(back.as<Item>() == &item);
  }
}

TEST_CASE("deque: where it may not grow, a push says so, a batch stays small, and nothing is lost") {
  auto items = numbered(9);
  Deque deque(4, 0, 8);
  Deque thief(2, 0, 2);
  for (std::size_t i = 0; i < 8; ++i) CHECK(deque.push(Item::entry(items[i])));
  CHECK_FALSE(deque.push(Item::entry(items[8])));
  CHECK_FALSE(deque.push(Item::entry(items[8])));
  CHECK(deque.size() == 8);
  CHECK(deque.capacity() == 8);
  // The thief takes only what it can keep: one to run and two that fit.
  const auto stolen = deque.steal_batch(thief, 100);
  CHECK(take(stolen.entry) == 0);
  CHECK(stolen.moved == 2);
  CHECK(deque.push(Item::entry(items[8])));
  CHECK(popped(thief) == Numbers{2, 1});
  CHECK(popped(deque) == Numbers{8, 7, 6, 5, 4, 3});
  CHECK(taken_once(items) == 9);
}

namespace {

// One owner that pushes all items in bursts and takes some itself at either end, thieves that take one or batches. The
// deques start small, so buffers grow while thieves read the old ones.
std::size_t exactly_once(std::size_t thieves, std::size_t count, std::size_t capacity, std::size_t longest_burst) {
  WEFT_LOG_SEED();
  auto items = numbered(count);
  Deque deque(capacity, ~std::uint64_t{0} - count / 2);
  std::atomic<std::size_t> out{0};
  std::atomic<std::uint64_t> sum{0};
  std::atomic<std::size_t> stolen_count{0};
  const auto see = [&](Entry entry) {
    sum.fetch_add(take(entry), std::memory_order_relaxed);
    out.fetch_add(1, std::memory_order_relaxed);
  };
  crew(thieves + 1, [&](std::size_t me) {
    Dice dice(me);
    if (me == 0) {
      for (std::size_t next = 0; next < count;) {
        const std::size_t burst = std::min<std::size_t>(count - next, 1 + dice.below(longest_burst));
        for (std::size_t i = 0; i < burst; ++i) {
          if (!deque.push(Item::entry(items[next++]))) std::abort();
        }
        for (std::uint64_t i = dice.below(burst + 2); i > 0; --i) {
          const Entry entry = dice.below(4) == 0 ? deque.take_oldest() : deque.pop();
          if (!entry) break;
          see(entry);
        }
      }
      while (const Entry entry = deque.pop()) see(entry);
      return;
    }
    Deque own(capacity);
    while (out.load(std::memory_order_relaxed) < count) {
      const auto stolen = dice.below(2) == 0 ? deque.steal() : deque.steal_batch(own, 1 + dice.below(32));
      if (stolen.outcome == Theft::taken) {
        see(stolen.entry);
        stolen_count.fetch_add(1 + stolen.moved, std::memory_order_relaxed);
        while (const Entry entry = dice.below(2) == 0 ? own.pop() : own.take_oldest()) see(entry);
      } else if (stolen.outcome == Theft::empty) {
        std::this_thread::yield();
      }
    }
  });
  CHECK(taken_once(items) == count);
  CHECK(sum.load() == count * (count - 1) / 2);
  CHECK(deque.size() == 0);
  return stolen_count.load();
}

}  // namespace

TEST_CASE("deque: pop, steal and batches take each entry once [B22] [HC11]") {
  MESSAGE("stolen ", exactly_once(2, 200'000, 4, 3), " of 200000");
}

TEST_CASE("deque: growth under theft loses and doubles nothing [B22]") {
  std::size_t stolen = 0;
  for (int round = 0; round < 20; ++round) stolen += exactly_once(2, 8'000, 2, 600);
  MESSAGE("stolen ", stolen, " of 160000");
}

TEST_CASE("deque: a pop without CAS and a theft right behind another do not meet at one entry [B22]") {
  WEFT_LOG_SEED();
  constexpr std::size_t count = 1'000'000;
  auto items = numbered(count);
  Deque deque(4);
  std::atomic<bool> done{false};
  crew(2, [&](std::size_t me) {
    if (me == 0) {
      // Two at a time: the owner takes the second without CAS while the thief takes the first and comes for more.
      for (std::size_t i = 0; i < count; i += 2) {
        if (!deque.push(Item::entry(items[i])) || !deque.push(Item::entry(items[i + 1]))) std::abort();
        while (const Entry entry = deque.pop()) take(entry);
      }
      done.store(true, std::memory_order_release);
      return;
    }
    while (!done.load(std::memory_order_acquire)) {
      const auto stolen = deque.steal();
      if (stolen.outcome == Theft::taken) take(stolen.entry);
    }
  });
  CHECK(taken_once(items) == count);
}

TEST_CASE("deque: the last entry goes to the owner or to one thief [B22]") {
  WEFT_LOG_SEED();
  constexpr std::size_t count = 100'000;
  auto items = numbered(count);
  Deque deque(2);
  std::atomic<bool> done{false};
  std::atomic<std::size_t> owner_won{0};
  crew(3, [&](std::size_t me) {
    Dice dice(me);
    if (me == 0) {
      for (Item& item : items) {
        if (!deque.push(Item::entry(item))) std::abort();
        for (std::uint64_t wait = dice.below(30); wait > 0; --wait) weft::seam::pause();
        if (const Entry entry = deque.pop()) {
          take(entry);
          owner_won.fetch_add(1, std::memory_order_relaxed);
        }
      }
      done.store(true, std::memory_order_release);
      return;
    }
    while (!done.load(std::memory_order_acquire)) {
      const auto stolen = deque.steal();
      if (stolen.outcome == Theft::taken) take(stolen.entry);
    }
  });
  CHECK(taken_once(items) == count);
  CHECK(deque.size() == 0);
  MESSAGE("the owner won ", owner_won.load(), " of ", count);
}
