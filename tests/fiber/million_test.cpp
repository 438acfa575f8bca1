// SPDX-License-Identifier: MIT
// Very many fibers at once. A million in ./dev test --full.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "fiber/guard.hpp"
#include "fiber/refusal.hpp"
#include "fiber/stack_pool.hpp"
#include "weft/fiber.hpp"

using namespace weft;
using weft_test::full_run;
using weft_test::guarded;
using weft_test::plain_run;

namespace {

long status_kib(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::stol(line.substr(key.size() + 1));
  return 0;
}

long mappings() {
  std::ifstream file("/proc/self/maps");
  long lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

[[gnu::noinline]] int use_stack(int bytes) {
  char frame[1024];
  asm volatile("" ::"r"(frame) : "memory");
  frame[0] = 1;
  const int below = bytes <= 1024 ? 0 : use_stack(bytes - 1024);
  asm volatile("" ::"r"(frame) : "memory");
  return below + frame[0];
}

}  // namespace

TEST_CASE(
    "million: fibers by the hundred thousand, each with a working guard, on the stock map limit [N-001] [B31] [slow]") {
  // Guards by mprotect take two mappings each; there the limit itself is tested in stack_test.
  const bool many = plain_run() && detail::stack_stats().guard == detail::GuardKind::madvise;
  const int count = !many ? 3000 : full_run() ? 1000000 : 20000;
  // In the short run most of the 200,000 stacks are only made, not lived on: that costs no memory but page tables.
  std::vector<detail::Slot> empty(many && !full_run() ? 180000 : 0);
  for (detail::Slot& slot : empty) slot = detail::allocate_stack(0);
  std::vector<Fiber> fibers;
  fibers.reserve(static_cast<std::size_t>(count));
  const long before = status_kib("VmRSS:");
  long sum = 0;
  for (int i = 0; i < count; ++i) {
    fibers.emplace_back([i] { return yield(i).as<int>(); });
    sum += fibers.back().resume().value.as<int>();
  }
  CHECK(sum == (count - 1L) * count / 2);
  int open = 0;
  for (std::size_t i = 0; i < fibers.size(); i += 997) open += !guarded(fibers[i].core()->slot);
  for (std::size_t i = 0; i < empty.size(); i += 997) open += !guarded(empty[i]);
  CHECK(open == 0);
  CHECK((!many || mappings() < 10000));
  if (full_run())
    std::printf("%d live fibers: %ld KiB resident, %ld KiB of page tables, %ld mappings\n", count,
                status_kib("VmRSS:") - before, status_kib("VmPTE:"), mappings());
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += fibers[static_cast<std::size_t>(i)].resume(i).value.as<int>() != i;
  CHECK(wrong == 0);
  for (const detail::Slot slot : empty) detail::release_stack(slot);
}

TEST_CASE("million: idle stacks give memory back after a burst of deep fibers [N-008] [V-007] [slow]") {
  const int count = !plain_run() ? 1500 : full_run() ? 100000 : 4000;
  const long before = status_kib("VmRSS:");
  std::vector<Fiber> fibers;
  fibers.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    fibers.emplace_back([] {
      use_stack(16000);
      yield(1);
    });
    fibers.back().resume();
  }
  const long peak = status_kib("VmRSS:") - before;
  CHECK((!plain_run() || peak > count * 16L));
  const std::size_t slots = detail::stack_stats().slots;
  fibers.clear();
  const long after = status_kib("VmRSS:") - before;
  CHECK((!plain_run() || after < peak / 2));
  CHECK((!plain_run() || !full_run() || after < peak / 10));
  detail::trim_stacks();
  const long trimmed = status_kib("VmRSS:") - before;
  CHECK((!plain_run() || trimmed < peak / 10));
  if (full_run()) std::printf("%d deep fibers: %ld KiB, then %ld, trimmed %ld\n", count, peak, after, trimmed);
  for (int i = 0; i < 1000; ++i) fibers.emplace_back([] { yield(1); }).resume();
  CHECK(detail::stack_stats().slots == slots);
}

TEST_CASE("million: a few that live on do not hold the memory of the many that have ended around them [slow]") {
  const int count = plain_run() ? 4000 : 1500;
  const long before = status_kib("VmRSS:");
  std::vector<Fiber> fibers;
  std::vector<Fiber> kept;
  for (int i = 0; i < count; ++i) {
    fibers.emplace_back([] {
      use_stack(16000);
      yield(1);
    });
    fibers.back().resume();
    if (i % 50 == 0) kept.push_back(std::move(fibers.back()));
  }
  const long peak = status_kib("VmRSS:") - before;
  fibers.clear();
  const long after = status_kib("VmRSS:") - before;
  CHECK((!plain_run() || after < peak / 2));
  // What is used again and again keeps its pages.
  const std::size_t trimmed = detail::stack_stats().trimmed;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 500; ++i) fibers.emplace_back([] { yield(1); }).resume();
    fibers.clear();
  }
  CHECK(detail::stack_stats().trimmed == trimmed);
}

TEST_CASE("million: with a keeper stacks give back what nobody has needed for a second, and not before") {
  constexpr std::int64_t second = 1'000'000'000;
  std::vector<detail::Slot> slots;
  const auto take = [&](std::size_t count) {
    while (slots.size() < count) slots.push_back(detail::allocate_stack(0));
  };
  const auto give = [&] {
    for (const detail::Slot slot : slots) detail::release_stack(slot);
    slots.clear();
  };
  detail::trim_stacks();
  detail::begin_keeping_stacks();
  take(3000);
  const std::size_t before = detail::stack_stats().trimmed;
  give();
  CHECK(detail::stack_stats().trimmed == before);  // not on release
  CHECK(detail::trim_cold_stacks(7) == 7 + second);
  CHECK(detail::trim_cold_stacks(6 + second) == 7 + second);
  take(2000);  // needed meanwhile
  give();
  CHECK(detail::trim_cold_stacks(7 + second) == 7 + 2 * second);
  CHECK(detail::stack_stats().trimmed == before);
  CHECK(detail::trim_cold_stacks(7 + 2 * second) == seam::no_deadline);  // nobody has: all but the 1024 used last
  const std::size_t pooled = detail::stack_stats().free;
  CHECK(detail::stack_stats().trimmed > before);
  CHECK(pooled - (detail::stack_stats().trimmed - before) >= 1024);
  CHECK(detail::trim_cold_stacks(9 * second) == seam::no_deadline);
  detail::end_keeping_stacks();
}

TEST_CASE("million: nesting to the recursion limit ends in an error at the resume, and all unwinds [B45] [slow]") {
  struct Nest {
    static int deeper(int* reached) {
      ++*reached;
      Fiber f([reached] { return deeper(reached); });
      return f.resume().value.as<int>();
    }
  };
  const std::uint32_t limit = recursion_limit();
  if (!full_run()) set_recursion_limit(plain_run() ? 3000 : 500);
  int reached = 0;
  const std::string text = weft_test::refusal([&] { Nest::deeper(&reached); });
  CHECK(weft_test::has(text, "too_deep: "));
  CHECK(static_cast<std::uint32_t>(reached) == recursion_limit() + 1);
  set_recursion_limit(limit);
}
