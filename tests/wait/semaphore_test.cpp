// SPDX-License-Identifier: MIT
// The semaphore; its interleavings are in verify/scenarios/semaphore.cpp.
#include "weft/semaphore.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

TEST_CASE("semaphore: never more inside than permits, and all come through, in every universe [W-015]") {
  in_each_universe([](const Universe& universe) {
    weft::Semaphore seats(3);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::atomic<int> through{0};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 20; ++k)
        (void)universe.spawn(n, [&] {
          for (int i = 0; i < 40; ++i) {
            seats.acquire();
            const int now = ++inside;
            if (now > most) most = now;
            weft::yield_now();
            --inside;
            seats.release();
            ++through;
          }
        });
    });
    CHECK(through == 800);
    CHECK(most <= 3);
    CHECK(seats.available() == 3);
  });
}

TEST_CASE("semaphore: permits go in the order in which they were asked for, many at once or few [W-015]") {
  weft::Runtime runtime(workers(1));
  runtime.run([] {
    weft::Semaphore seats(0);
    std::vector<int> order;
    weft::with_nursery([&](weft::Nursery& n) {
      const auto ask = [&](int number, std::uint32_t count) {
        auto task = n.spawn([&, number, count] {
          seats.acquire(count);
          order.push_back(number);
        });
        until_parked(task);
      };
      ask(1, 3);
      ask(2, 1);
      ask(3, 2);
      seats.release(2);
      CHECK_FALSE(seats.try_acquire());  // two are there, and belong to the first
      weft::yield_now();
      CHECK(order.empty());
      seats.release(2);
      until([&] { return order.size() == 2; });
      seats.release(2);
    });
    CHECK(order[0] + order[1] == 3);  // at once, so either may run first
    CHECK(order[2] == 3);
    CHECK(seats.available() == 0);
  });
}

TEST_CASE("semaphore: who leaves lets those behind it have what is there [HB10] [B13]") {
  in_each_universe([](const Universe&) {
    weft::Semaphore seats(1);
    std::atomic<bool> small{false};
    weft::with_nursery([&](weft::Nursery& n) {
      auto big = n.spawn([&] { seats.acquire(5); });
      until_parked(big);
      auto second = n.spawn([&] {
        seats.acquire(1);
        small = true;
      });
      until_parked(second);
      CHECK_FALSE(small);
      big.cancel();
      second.join();
    });
    CHECK(small);
    CHECK(seats.available() == 0);
  });
}

TEST_CASE("semaphore: every form has its time, and takes nothing then [N-033]") {
  in_each_universe([](const Universe&) {
    weft::Semaphore seats(1);
    const auto soon = [] { return std::chrono::steady_clock::now() + 200us; };
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] { CHECK_FALSE(seats.acquire_for(200us, 2)); });
      n.start([&] { CHECK_FALSE(seats.acquire_until(soon(), 2)); });
      n.start([&] { CHECK(seats.acquire_result(soon(), 2) == weft::WaitResult::timed_out); });
      n.start([&] { CHECK_FALSE(weft::timeout(200us, [&] { seats.acquire(2); })); });
    });
    CHECK(seats.available() == 1);
    CHECK(seats.acquire_for(0ns));
    CHECK_THROWS_AS(weft::Semaphore(~std::uint64_t{0}), std::invalid_argument);
    weft::Semaphore full(std::uint64_t{1} << 62);
    CHECK_THROWS_AS(full.release(), std::overflow_error);
  });
}

TEST_CASE("semaphore: plain threads and tasks; whoever gets the permit may destroy it [B5]") {
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    for (int round = 0; round < 200; ++round) {
      auto done = std::make_unique<weft::Semaphore>(0);
      weft::Semaphore& shared = *done;
      std::thread thread;
      weft::with_nursery([&](weft::Nursery& n) {
        if (round % 10 == 0) {
          thread = std::thread([&] { shared.release(); });
        } else {
          n.start([&] { shared.release(); });
        }
        done->acquire();
        done.reset();
      });
      if (thread.joinable()) thread.join();
    }
  });
}

}  // namespace
