// SPDX-License-Identifier: MIT
// Broadcast: everybody hears everything, or how much they have missed [CAST-1..3].
#include "weft/broadcast.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using weft::Broadcast;
using weft::RecvStatus;

namespace {

TEST_CASE("broadcast: every subscriber hears every value in order, and the end [N-032]") {
  in_each_universe([](const Universe& universe) {
    Broadcast<int> cast(64);
    std::vector<Broadcast<int>::Subscriber> subscribers;
    for (int i = 0; i < 3; ++i) subscribers.push_back(cast.subscribe());
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<int>> tasks;
      for (auto& subscriber : subscribers)
        tasks.push_back(universe.spawn(n, [&subscriber] {
          int next = 0;
          while (auto value = subscriber.recv()) {
            CHECK(**value == next);
            ++next;
          }
          return next;
        }));
      for (int i = 0; i < 50; ++i) {
        CHECK(cast.send(i));
        if (i % 10 == 0) weft::yield_now();
      }
      CHECK(cast.close());
      CHECK_FALSE(cast.close());
      CHECK_FALSE(cast.send(99));
      for (auto& task : tasks) CHECK(task.join() == 50);
    });
  });
}

TEST_CASE("broadcast: a slow subscriber learns how many it has missed, and goes on with what is kept [N-032]") {
  weft::run([] {
    Broadcast<int> cast(4);
    auto slow = cast.subscribe();
    cast.send(0);
    CHECK(**slow.recv() == 0);
    CHECK(slow.lag() == 0);
    for (int i = 1; i <= 10; ++i) cast.send(i);
    CHECK(**slow.recv() == 7);
    CHECK(slow.lag() == 6);
    CHECK(**slow.recv() == 8);
    CHECK(slow.lag() == 0);
    CHECK(slow.missed() == 6);
    auto late = cast.subscribe();
    CHECK_FALSE(late.try_recv().has_value());
    cast.send(11);
    CHECK(**late.recv() == 11);
    CHECK_THROWS_AS(Broadcast<int>(0), std::invalid_argument);
  });
}

TEST_CASE("broadcast: a wait ends at its time, by cancel, by close [N-033] [B14]") {
  in_each_universe([](const Universe&) {
    Broadcast<int> cast(2);
    auto mine = cast.subscribe();
    CHECK(mine.recv_for(1ms).error() == RecvStatus::timed_out);
    CHECK(mine.recv_until(std::chrono::steady_clock::now() + 1ms).error() == RecvStatus::timed_out);
    weft::with_nursery([&](weft::Nursery& n) {
      auto stopped = n.spawn([&] { return cast.subscribe().recv_result().error(); });
      until_parked(stopped);
      stopped.cancel();
      CHECK(stopped.join() == RecvStatus::cancelled);
      auto waiting = n.spawn([&] { return cast.subscribe().recv_result().error(); });
      until_parked(waiting);
      cast.close();
      CHECK(waiting.join() == RecvStatus::closed);
    });
    CHECK_FALSE(mine.recv().has_value());
  });
}

TEST_CASE("broadcast: all who wait are woken by one value; who waits again is not woken by it [B12]") {
  in_each_universe([](const Universe&) {
    Broadcast<int> cast(8);
    std::atomic<int> heard{0};
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<void>> tasks;
      for (int i = 0; i < 20; ++i)
        tasks.push_back(n.spawn([&, mine = cast.subscribe()]() mutable {
          while (mine.recv()) ++heard;
        }));
      for (int round = 1; round <= 3; ++round) {
        for (auto& task : tasks) until_parked(task);
        cast.send(round);
        until([&] { return heard == 20 * round; });
      }
      cast.close();
    });
    CHECK(heard == 60);
  });
}

TEST_CASE("broadcast: plain threads hear it, too; received and missed add up [N-032] [V-059]") {
  Broadcast<int> cast(16);
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> passed{0};
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, mine = cast.subscribe()]() mutable {
      std::uint64_t received = 0;
      int last = -1;
      while (auto value = mine.recv()) {
        if (**value <= last) return;
        last = **value;
        ++received;
      }
      passed += received + mine.missed();
    });
  weft::Runtime runtime(workers(2));
  runtime.run([&] {
    for (int i = 0; i < 2000; ++i) cast.send(i);
    cast.close();
  });
  for (auto& thread : threads) thread.join();
  CHECK(passed == 4000);
}

}  // namespace
