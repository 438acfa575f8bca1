// SPDX-License-Identifier: MIT
// What the sanitizers are told of fibers: enough that they see faults, and no more than is true [B42]. These cases say
// most when they run under ASan and TSan; they must hold everywhere.
#include "weft/detail/tools.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "fiber/lane.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"

using namespace weft;
using weft_test::Lane;
using weft_test::Outcome;
using weft_test::run_program;

TEST_CASE("tools: 20,000 fibers live at once, all resumed, some failed, all gone [B42] [slow]") {
  std::vector<Fiber> fibers;
  fibers.reserve(20000);
  long sum = 0;
  for (int i = 0; i < 20000; ++i) {
    fibers.emplace_back([i] {
      const int got = yield(i).as<int>();
      if (i % 100 == 0) throw std::runtime_error("every hundredth");
      return got;
    });
    sum += fibers.back().resume().value.as<int>();
  }
  CHECK(sum == 19999L * 10000);
  int failed = 0;
  for (Fiber& fiber : fibers) {
    try {
      sum -= fiber.resume(1).value.as<int>();
    } catch (const std::runtime_error&) {
      ++failed;
    }
  }
  CHECK(failed == 200);
  CHECK(sum == 19999L * 10000 - 19800);
}

TEST_CASE("tools: stacks recycled after errors, kills and returns carry no stale marks [B42]") {
  int wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    Fiber f([i] {
      char local[300];
      for (std::size_t k = 0; k < sizeof local; ++k) local[k] = static_cast<char>(i);
      asm volatile("" ::"r"(local) : "memory");
      yield(static_cast<int>(local[i % 300]));
      if (i % 3 == 0) throw std::runtime_error("x");
      std::vector<std::string> held(10, std::string(50, 'y'));
      yield(static_cast<int>(held.size()));
    });
    wrong += f.resume().value.as<int>() != static_cast<char>(i);
    try {
      wrong += f.resume().value.as<int>() != 10;
    } catch (const std::runtime_error&) {
      wrong += i % 3 != 0;
    }
    if (i % 5 == 0 && f.can_resume()) f.kill();
  }
  CHECK(wrong == 0);
}

TEST_CASE("tools: fibers that end on another thread than they began on [B42]") {
  Lane lanes[2];
  std::vector<Fiber> fibers;
  long sum = 0;
  for (int i = 0; i < 200; ++i) fibers.emplace_back([i] { return yield(i).as<int>() + i; });
  lanes[0].run([&] {
    for (Fiber& fiber : fibers) sum += fiber.resume().value.as<int>();
  });
  lanes[1].run([&] {
    for (Fiber& fiber : fibers) sum += fiber.resume(1).value.as<int>();
    fibers.clear();
  });
  CHECK(sum == 199 * 100 * 2 + 200);
}

TEST_CASE("tools: AddressSanitizer sees a use after scope and an overrun inside a fiber [B42]") {
  const Outcome scope = run_program("tools", {"use-after-scope"});
  CHECK((WEFT_ASAN ? scope.says("stack-use-after-scope") : scope.output == "not here\n"));
  const Outcome overrun = run_program("tools", {"overrun"});
  CHECK((WEFT_ASAN ? overrun.says("stack-buffer-overflow") : overrun.output == "not here\n"));
}

TEST_CASE("tools: AddressSanitizer sees a use of the frame of a fiber that has ended [B5] [B42]") {
  const Outcome end = run_program("tools", {"use-after-end"});
  CHECK((WEFT_ASAN ? end.says("use-after-poison") : end.output == "not here\n"));
}

TEST_CASE("tools: ThreadSanitizer sees a race between two fibers on two threads [B42]") {
  const Outcome race = run_program("tools", {"race"});
  CHECK((WEFT_TSAN ? race.says("WARNING: ThreadSanitizer: data race") : race.output == "not here\n"));
}
