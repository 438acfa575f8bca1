// SPDX-License-Identifier: MIT
// The end of a nursery's last child lets its joiner go on right there.
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

TEST_CASE("handoff: a joiner that is parked goes on where its last child ended, without a queue [V-072]") {
  if (!may_steal()) return;  // the global policy has one queue for everybody
  weft::RuntimeOptions options = workers(1);
  options.in_place = false;
  weft::Runtime runtime(options);
  runtime.run([&] {
    const weft::RuntimeStats before = runtime.stats();
    for (int round = 0; round < 100; ++round) weft::with_nursery([](weft::Nursery& n) { n.start([] {}); });
    CHECK(runtime.stats().handoffs - before.handoffs == 100);
    CHECK(runtime.stats().parks - before.parks == 100);
    // Somebody who was ready before the end comes after the joiner.
    std::vector<std::string> trail;
    weft::with_nursery([&](weft::Nursery& outer) {
      outer.start([&] {
        weft::with_nursery([&](weft::Nursery& n) {
          n.start([&] {
            outer.start([&] { trail.push_back("other"); });
            trail.push_back("child");
          });
        });
        trail.push_back("joiner");
      });
    });
    CHECK(trail == std::vector<std::string>{"child", "joiner", "other"});
  });
  CHECK(runtime.stats_text().find("\nhandoffs ") != std::string::npos);
}

TEST_CASE("handoff: joiners on strands, pinned ones and those elsewhere go on as well, in every universe [V-072]") {
  in_each_universe([](const Universe& u) {
    std::atomic<int> sum = 0;
    weft::Strand strand;
    weft::with_nursery([&](weft::Nursery& outer) {
      for (int i = 0; i < 60; ++i) {
        weft::TaskOptions how;
        how.pinned = i % 4 == 1;
        how.strand = i % 4 == 2 ? &strand : nullptr;
        (void)outer.spawn(
            [&, i] {
              weft::with_nursery([&](weft::Nursery& n) {
                n.start([&, i] {
                  if (i % 3 == 0) weft::yield_now();
                  if (i % 5 == 0) weft::sleep(20us);
                  ++sum;
                });
              });
              ++sum;
            },
            how);
      }
    });
    CHECK(sum == 120);
    (void)u;
  });
}

TEST_CASE("handoff: what a task keeps for its end still runs first, and may wait [V-072]") {
  weft::RuntimeOptions options = workers(1);
  options.in_place = false;
  weft::Runtime runtime(options);
  std::string trail;
  runtime.run([&] {
    struct Slow {
      std::string* trail;
      ~Slow() {
        weft::sleep(50us);
        *trail += "result ";
      }
    };
    weft::with_nursery([&](weft::Nursery& n) { n.start([&] { return std::make_unique<Slow>(&trail); }); });
    trail += "joiner";
  });
  CHECK(trail == "result joiner");
}
