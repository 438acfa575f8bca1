// SPDX-License-Identifier: MIT
// Strands run one task at a time, on whatever worker; pinned tasks run on one worker.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {
long thread_number() {
  return syscall(SYS_gettid);
}
}  // namespace

TEST_CASE("strand: a counter without atomics, a thousand tasks, four workers [N-015]") {
  for (const auto policy : {weft::RuntimeOptions::Policy::steal, weft::RuntimeOptions::Policy::global}) {
    weft::RuntimeOptions options = workers(4);
    options.policy = policy;
    weft::run(options, [] {
      weft::Strand strand;
      std::uint64_t counter = 0;  // plain
      std::atomic<int> inside = 0;
      std::atomic<bool> overlapped = false;
      weft::with_nursery([&](weft::Nursery& n) {
        for (int i = 0; i < 1000; ++i) {
          (void)n.spawn(
              [&, i] {
                for (int k = 0; k < 3; ++k) {
                  if (inside.fetch_add(1) != 0) overlapped = true;
                  ++counter;
                  if (i % 7 == 0) compute_for(2us);
                  inside.fetch_sub(1);
                  if (i % 3 == 0) weft::yield_now();
                  if (i % 50 == 0) weft::sleep(20us);
                }
              },
              {.strand = &strand});
        }
      });
      CHECK(counter == 3000);
      CHECK_FALSE(overlapped);
    });
  }
}

TEST_CASE("strand: given up at a wait, so a task may join another of its own strand [HB15]") {
  for (const unsigned count : worker_counts()) {
    weft::run(workers(count), [] {
      weft::Strand strand;
      std::string order;
      weft::with_nursery([&](weft::Nursery& n) {
        auto outer = n.spawn(
            [&] {
              weft::with_nursery([&](weft::Nursery& inner) {
                auto child = inner.spawn([&] { order += "child "; }, {.strand = &strand});
                order += "before ";
                child.join();
                order += "after";
              });
            },
            {.strand = &strand});
        outer.join();
      });
      CHECK(order == "before child after");
    });
  }
}

TEST_CASE("strand: its tasks run in the order in which they came, those that yield behind all others [HB15]") {
  for (const unsigned count : worker_counts()) {
    CAPTURE(count);
    weft::run(workers(count), [] {
      weft::Strand strand;
      std::vector<int> order;
      std::atomic<bool> all_there = false;
      weft::with_nursery([&](weft::Nursery& n) {
        // Nobody passes before all stand in line.
        (void)n.spawn(
            [&] {
              while (!all_there) weft::seam::pause();
            },
            {.strand = &strand});
        for (int i = 0; i < 5; ++i) {
          (void)n.spawn(
              [&, i] {
                order.push_back(i);
                weft::yield_now();
                order.push_back(10 + i);
              },
              {.strand = &strand});
        }
        all_there = true;
      });
      CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 10, 11, 12, 13, 14});
    });
  }
}

TEST_CASE("strand: a failing or cancelled task gives it up, and its handle may go first [N-015]") {
  weft::run(workers(2), [] {
    auto strand = std::make_unique<weft::Strand>();
    auto fails = weft::go([] { throw std::runtime_error("x"); }, {.strand = strand.get()});
    auto sleeps = weft::go([] { weft::sleep(1h); }, {.strand = strand.get()});
    auto last = weft::go([] { return 3; }, {.strand = strand.get()});
    strand.reset();
    sleeps.cancel();
    CHECK_THROWS_AS(fails.join(), std::runtime_error);
    CHECK_THROWS_AS(sleeps.join(), weft::Cancelled);
    CHECK(last.join() == 3);
  });
}

TEST_CASE("pinned: the thread stays the same across ten thousand suspensions under stealing [N-006]") {
  for (const auto policy : {weft::RuntimeOptions::Policy::steal, weft::RuntimeOptions::Policy::global}) {
    weft::RuntimeOptions options = workers(4);
    options.policy = policy;
    weft::run(options, [] {
      std::atomic<bool> moved = false;
      std::atomic<bool> stop = false;
      weft::with_nursery([&](weft::Nursery& n) {
        // Others that move about.
        for (int i = 0; i < 8; ++i)
          n.start([&] {
            while (!stop) weft::yield_now();
          });
        weft::with_nursery([&](weft::Nursery& pinned) {
          for (int i = 0; i < 4; ++i) {
            (void)pinned.spawn(
                [&] {
                  const long mine = thread_number();
                  for (int k = 0; k < 2500; ++k) {
                    weft::yield_now();
                    if (k % 100 == 0) weft::sleep(10us);
                    if (k % 500 == 0) weft::with_nursery([](weft::Nursery& inner) { inner.start([] {}); });
                    if (thread_number() != mine) moved = true;
                  }
                },
                {.pinned = true});
          }
        });
        stop = true;
      });
      CHECK_FALSE(moved);
    });
  }
}

TEST_CASE("pinned: from outside they spread over the workers and stay [N-006]") {
  weft::Runtime runtime(workers(3));
  runtime.run([&] {
    std::vector<weft::Task<long>> tasks;
    std::thread outside([&] {
      for (int i = 0; i < 6; ++i)
        tasks.push_back(runtime.go(
            [] {
              const long mine = thread_number();
              weft::sleep(100us);
              return thread_number() == mine ? mine : -1;
            },
            {.pinned = true}));
    });
    outside.join();
    std::set<long> threads;
    for (auto& task : tasks) threads.insert(task.join());
    CHECK(threads.count(-1) == 0);
    CHECK(threads.size() == 3);
  });
}
