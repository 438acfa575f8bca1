// SPDX-License-Identifier: MIT
// Small cases about where things lie and how often they run: HC5, HC6, HC7.
#include <algorithm>
#include <cstdint>
#include <ranges>
#include <set>
#include <vector>

#include "doctest/doctest.h"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"

using namespace weft;

TEST_CASE("generator: views::take(3) pulls exactly three [HC6]") {
  int pulled = 0;
  Generator<int> numbers([&] {
    for (;;) yield(++pulled);
  });
  std::vector<int> got;
  for (const int x : numbers | std::views::take(3)) got.push_back(x);
  CHECK(got == std::vector<int>{1, 2, 3});
  CHECK(pulled == 3);
  CHECK(*numbers.next() == 4);
}

TEST_CASE("generator: reading an element twice does not pull twice, comparing does not either [HC6]") {
  int pulled = 0;
  Generator<int> numbers([&] {
    for (;;) yield(++pulled);
  });
  auto it = numbers.begin();
  CHECK(pulled == 0);
  CHECK(*it == 1);
  CHECK(*it == 1);
  CHECK_FALSE(it == std::default_sentinel);
  CHECK(pulled == 1);
  ++it;
  CHECK(pulled == 1);
  CHECK(*it == 2);
}

TEST_CASE("stack: the objects of neighbouring slots differ in cache line and page [HC7]") {
  std::vector<detail::Slot> slots;
  for (int i = 0; i < 64; ++i) slots.push_back(detail::allocate_stack(0));
  std::ranges::sort(slots, {}, &detail::Slot::base);
  int lines_alike = 0;
  int pages_alike = 0;
  std::set<std::uintptr_t> lines;
  std::set<std::uintptr_t> pages;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uintptr_t top = reinterpret_cast<std::uintptr_t>(detail::core_of(slots[i])) - slots[i].base;
    lines.insert(top / 64 % 64);
    pages.insert(top / 4096 % 16);
    if (i == 0 || slots[i].base != slots[i - 1].base + (std::uintptr_t{1} << slots[i].shift)) continue;
    const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(detail::core_of(slots[i - 1])) - slots[i - 1].base;
    lines_alike += top / 64 % 64 == before / 64 % 64;
    pages_alike += top / 4096 == before / 4096;
  }
  CHECK(lines_alike == 0);
  CHECK(pages_alike <= 4);  // a core that straddles a page border may begin in its neighbour's page
  CHECK(lines.size() >= 16);
  CHECK(pages.size() >= 8);
  for (const detail::Slot slot : slots) detail::release_stack(slot);
}

TEST_CASE("stack: every address in a stack leads to the same fiber, whatever its colour [HC7]") {
  std::vector<Fiber> fibers;
  int wrong = 0;
  for (int i = 0; i < 100; ++i) {
    fibers.emplace_back([] {
      char deep[50000];
      asm volatile("" ::"r"(deep) : "memory");
      yield(current_fiber().id());
    });
    if (fibers.back().resume().value.as<std::uint64_t>() != fibers.back().id()) ++wrong;
    if (detail::core_of(fibers.back().core()->slot) != fibers.back().core()) ++wrong;
  }
  CHECK(wrong == 0);
}
