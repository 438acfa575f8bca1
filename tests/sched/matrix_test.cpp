// SPDX-License-Identifier: MIT
// The tests of whole runtimes run again under every number of workers and both policies (cmake/WeftMatrix.cmake): here
// each such run looks whether it is one.
#include <cstdlib>
#include <string>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace weft_test;
using Policy = weft::RuntimeOptions::Policy;

TEST_CASE("matrix: a runtime that leaves workers and policy open has those that this run is about [N-018]") {
  const weft::Runtime open;
  if (const char* workers = std::getenv("WEFT_WORKERS")) CHECK(std::to_string(open.options().workers) == workers);
  if (const char* policy = std::getenv("WEFT_POLICY")) CHECK(std::string(to_string(open.options().policy)) == policy);
  const bool narrowed = std::getenv("WEFT_WORKERS") != nullptr || std::getenv("WEFT_POLICY") != nullptr ||
                        !leaves_open("WEFT_IN_PLACE", "1");
  CHECK((universes().size() < 18) == narrowed);
  for (const Universe& universe : universes()) {
    const weft::Runtime runtime(universe.options());
    CHECK(runtime.options().workers == universe.workers);
    CHECK(runtime.options().policy == universe.policy);
  }
}

TEST_CASE("matrix: in place, queued and stolen are what they say, in every universe [N-018]") {
  each_universe([](const Universe& u, weft::Runtime& runtime) {
    runtime.run([&] {
      constexpr int children = 20;
      const weft::RuntimeStats before = runtime.stats();
      int elsewhere = 0;
      for (int i = 0; i < children; ++i) {
        weft::with_nursery([&](weft::Nursery& n) {
          const long here = thread_here();
          elsewhere += u.spawn(n, [] { return thread_here(); }).join() != here ? 1 : 0;
        });
      }
      const auto in_place = static_cast<int>(runtime.stats().in_place - before.in_place);
      switch (u.mode) {
        case Mode::in_place:  // unless a thief was faster
          CHECK(in_place + elsewhere >= children);
          if (u.workers == 1) CHECK(in_place == children);
          break;
        case Mode::queued:
          CHECK(in_place == 0);
          if (u.workers == 1) CHECK(elsewhere == 0);
          break;
        case Mode::stolen:
          CHECK(in_place == 0);
          CHECK(elsewhere == children);
          break;
      }
      CHECK(runtime.stats().started - before.started == children);
    });
  });
}
