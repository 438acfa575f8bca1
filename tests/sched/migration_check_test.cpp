// SPDX-License-Identifier: MIT
// migration_check: after every wait a task goes on on another worker, so that what belongs to a thread shows.
#include <atomic>
#include <chrono>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

weft::RuntimeOptions migrating(unsigned count, weft::RuntimeOptions::Policy policy) {
  weft::RuntimeOptions options = workers(count);
  options.policy = policy;
  options.migration_check = true;
  options.sysmon = false;  // which would take a waiting task from a worker that the machine has stopped
  return options;
}

// How often the task was elsewhere after `wait`, out of `rounds`.
template <class F>
int moves(int rounds, F&& wait) {
  int moved = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto before = thread_here();
    wait();
    moved += thread_here() != before;
  }
  return moved;
}

thread_local int misplaced = 0;  // the mistake that the option is for

[[gnu::noinline]] int& here() {
  asm volatile("");  // not a function whose result may be kept
  return misplaced;
}

}  // namespace

TEST_CASE("migration_check: a task is on another worker after every wait [N-043]") {
  for (const auto policy : {weft::RuntimeOptions::Policy::steal, weft::RuntimeOptions::Policy::global}) {
    for (const unsigned count : {2U, 4U, 8U}) {
      weft::Runtime runtime(migrating(count, policy));
      runtime.run([] {
        CHECK(moves(20, [] { weft::sleep(1us); }) == 20);
        CHECK(moves(20, [] { weft::yield_now(); }) == 20);
        CHECK(moves(20, [] { weft::go([] {}, {.pinned = true}).wait(); }) == 20);
        weft::with_nursery([](weft::Nursery& n) {
          for (int i = 0; i < 8; ++i) n.start([] { CHECK(moves(20, [] { weft::sleep(1us); }) == 20); });
        });
      });
    }
  }
}

TEST_CASE("migration_check: one that waits in place takes its joiner along; a pinned one stays [N-043] [N-018]") {
  weft::Runtime runtime(migrating(2, weft::RuntimeOptions::Policy::steal));
  runtime.run([] {
    weft::with_nursery([](weft::Nursery& n) {
      auto child = n.spawn([] { CHECK(moves(5, [] { weft::sleep(1us); }) == 5); });
      CHECK(moves(1, [&] { child.join(); }) == 1);
      auto pinned = n.spawn(
          [] {
            CHECK(moves(20, [] { weft::sleep(1us); }) == 0);
            CHECK(moves(20, [] { weft::yield_now(); }) == 0);
          },
          {.pinned = true});
    });
  });
}

TEST_CASE("migration_check: what was left in a thread_local is not there after the wait [N-043]") {
  weft::Runtime runtime(migrating(2, weft::RuntimeOptions::Policy::steal));
  runtime.run([] {
    here() = 7;
    weft::sleep(1us);
    CHECK(here() == 0);
  });
}

TEST_CASE("migration_check: with one worker there is nowhere to go, and all goes on [N-043]") {
  weft::Runtime runtime(migrating(1, weft::RuntimeOptions::Policy::steal));
  runtime.run([] {
    CHECK(moves(10, [] { weft::sleep(1us); }) == 0);
    CHECK(moves(10, [] { weft::yield_now(); }) == 0);
  });
}
