// SPDX-License-Identifier: MIT
// What somebody hostile tried against the scheduler. Each case was a bug.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/par.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

void nothing_in_place() {
  weft::with_nursery([](weft::Nursery& n) { n.spawn([] {}).join(); });
}
void nothing_by_par() {
  weft::par([] {}, [] {});
}

}  // namespace

// A child run in place counts as progress. Whoever ran one (or any odd number) between two dispatches made the full
// look at every 64th dispatch fall on its children for ever.
TEST_CASE("attack: a full look comes although every slice runs a child in place [B18]") {
  for (const auto body : {nothing_in_place, nothing_by_par}) {
    for (int children = 0; children < 4; ++children) {
      for (int skew = 0; skew < 2; ++skew) {
        INFO("children: ", children, ", skew: ", skew);
        weft::Runtime runtime(workers(1));
        bool starved = false;
        runtime.run([&] {
          if (skew == 1) weft::yield_now();
          std::atomic<bool> late{false};
          std::atomic<bool> timer{false};
          std::atomic<int> gave_up{0};
          weft::with_nursery([&](weft::Nursery& n) {
            n.start([&] {
              weft::sleep(100us);
              timer = true;
            });
            for (int i = 0; i < 2; ++i)
              n.start([&] {
                // A full look is due after 64 dispatches, and a timer of 100 us after some thousand.
                for (int turns = 0; !late || !timer; ++turns) {
                  for (int c = 0; c < children; ++c) body();
                  weft::yield_now();
                  if (turns == 1'000'000) {
                    ++gave_up;
                    return;
                  }
                }
              });
            weft::yield_now();
            const auto late_one = weft::go([&] { late = true; });
          });
          starved = gave_up != 0;
        });
        CHECK(!starved);
      }
    }
  }
}
