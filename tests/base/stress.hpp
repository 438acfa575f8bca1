// SPDX-License-Identifier: MIT
//
// What the stress tests share: a seed that a failure prints and WEFT_TEST_SEED repeats, and a barrier-started crew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "weft/detail/entry.hpp"
#include "weft/detail/seam.hpp"

namespace weft_test {

inline std::uint64_t seed() {
  static const std::uint64_t chosen = [] {
    const char* given = std::getenv("WEFT_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 0) : weft::seam::random_seed();
  }();
  return chosen;
}

// A small generator of its own: the tests of random.hpp shall not decide what the other tests do.
class Dice {
 public:
  explicit Dice(std::uint64_t stream) : state_(seed() ^ (stream * 0x9e3779b97f4a7c15u)) {}
  std::uint64_t operator()() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return (*this)() % n; }

 private:
  std::uint64_t state_;
};

// Runs body(index) on count threads that start together; returns when all are done.
template <class Body>
void crew(std::size_t count, Body body) {
  std::latch ready(static_cast<std::ptrdiff_t>(count));
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&ready, &body, i] {
      ready.arrive_and_wait();
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// An item that knows its number and how often it was taken. All plain memory on purpose: if a queue does not publish
// what its pusher wrote, or hands an item to two takers, TSan says so.
struct Item : weft::detail::QueueLink {
  std::uint64_t number = 0;
  std::uint64_t content = 0;  // written just before the push
  std::uint64_t taken = 0;    // written by the taker

  static weft::detail::Entry entry(Item& item) {
    item.content = ~item.number;
    return weft::detail::Entry(&item, static_cast<unsigned>(item.number % weft::detail::Entry::kinds));
  }
};

inline std::vector<Item> numbered(std::size_t count) {
  std::vector<Item> items(count);
  for (std::size_t i = 0; i < count; ++i) items[i].number = i;
  return items;
}

// Takes the item; its number, or nonsense if content or kind do not belong to it.
inline std::uint64_t take(weft::detail::Entry entry) {
  Item* item = entry.as<Item>();
  ++item->taken;
  const bool whole = item->content == ~item->number && entry.kind() == item->number % weft::detail::Entry::kinds;
  item->content = 0;
  return whole ? item->number : ~std::uint64_t{0};
}

inline std::size_t taken_once(const std::vector<Item>& items) {
  std::size_t count = 0;
  for (const Item& item : items) count += item.taken == 1 ? 1 : 0;
  return count;
}

}  // namespace weft_test

#define WEFT_LOG_SEED() INFO("WEFT_TEST_SEED=", weft_test::seed())
