// SPDX-License-Identifier: MIT
// The contract of tasks as a program sees it: public headers only, no state named.
#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "test_places.hpp"
#include "weft/weft.hpp"

using namespace std::chrono_literals;

namespace {

struct World {
  unsigned workers;
  weft::RuntimeOptions::Policy policy;
};

template <class F>
void in_each_world(F&& body) {
  for (const unsigned workers : {1U, 2U, 4U, 8U})
    for (const auto policy : {weft::RuntimeOptions::Policy::steal, weft::RuntimeOptions::Policy::global}) {
      weft::RuntimeOptions options;
      options.workers = workers;
      options.policy = policy;
      INFO("workers ", workers, ", ", weft::to_string(policy));
      weft::run(options, [&] { body(); });
    }
}

}  // namespace

TEST_CASE(
    "contract: each task runs once, what it wrote is there after its join, and a join gets its own result [W-003]") {
  in_each_world([] {
    std::vector<int> runs(300, 0);
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<int>> tasks;
      for (int i = 0; i < 300; ++i)
        tasks.push_back(n.spawn([&runs, i] {
          if (i % 3 == 0) weft::yield_now();
          if (i % 11 == 0) weft::sleep(10us);
          ++runs[static_cast<std::size_t>(i)];  // not atomic: one task, and its joiner after it
          return i;
        }));
      for (int i = 0; i < 300; ++i) {
        CHECK(tasks[static_cast<std::size_t>(i)].join() == i);
        CHECK(runs[static_cast<std::size_t>(i)] == 1);
      }
    });
  });
}

TEST_CASE("contract: a wake after the flag is never lost, and a wait that nobody ends does not end [W-003]") {
  in_each_world([] {
    std::atomic<std::uint32_t> ball{0};
    std::atomic<std::uint32_t> never{0};
    std::atomic<bool> ended = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto lonely = n.spawn([&] {
        while (never.load() == 0) (void)weft::park_if(never, 0);
        ended = true;
      });
      weft::Unparker players[2];
      std::atomic<int> ready = 0;
      weft::with_nursery([&](weft::Nursery& game) {
        for (std::uint32_t me = 0; me < 2; ++me)
          game.start([&, me] {
            players[me] = weft::unparker();
            ++ready;
            while (ready != 2) weft::yield_now();
            for (int round = 0; round < 500; ++round) {
              while (ball.load() % 2 != me) (void)weft::park_if(ball, ball.load() - (ball.load() % 2 == me ? 1 : 0));
              ++ball;
              players[1 - me].unpark();
            }
          });
      });
      CHECK(ball == 1000);
      CHECK_FALSE(ended);
      lonely.cancel();
    });
    CHECK_FALSE(ended);
  });
}

TEST_CASE("contract: this file names no state and no private header [W-003]") {
  std::ifstream file(WEFT_TEST_SOURCE "/tests/sched/contract_test.cpp");
  std::stringstream read;
  read << file.rdbuf();
  const std::string text = read.str();
  REQUIRE(text.size() > 1000);
  for (const char* word : {"det"
                           "ail::",
                           "TaskSt"
                           "ate",
                           "PARK"
                           "ING",
                           "sched/runt"
                           "ime"})
    CHECK(text.find(word) == std::string::npos);
}

TEST_CASE("contract: a task that does not wait is not interrupted by others, however long it computes [W-004]") {
  for (const auto policy : {weft::RuntimeOptions::Policy::steal, weft::RuntimeOptions::Policy::global}) {
    weft::RuntimeOptions options;
    options.workers = 1;
    options.max_workers = 1;
    options.policy = policy;
    options.stall_report = false;
    std::vector<int> trail;
    weft::run(options, [&] {
      weft::with_nursery([&](weft::Nursery& n) {
        auto other = n.spawn([&] { trail.push_back(2); });
        auto timed = n.spawn([&] {
          weft::sleep(1ms);
          trail.push_back(3);
        });
        n.start([&] {
          trail.push_back(0);
          const auto end = std::chrono::steady_clock::now() + 60ms;
          while (std::chrono::steady_clock::now() < end) {
          }
          trail.push_back(1);
        });
      });
    });
    // 0 and 1 belong to one slice: nothing is between them.
    std::size_t zero = 0;
    while (zero < trail.size() && trail[zero] != 0) ++zero;
    REQUIRE(zero + 1 < trail.size());
    CHECK(trail[zero + 1] == 1);
    CHECK(trail.size() == 4);
  }
}
