// SPDX-License-Identifier: MIT
// SyncEvent, Latch, WaitGroup and Barrier: all who wait go on at once; the interleavings are in
// verify/scenarios/gate.cpp and barrier.cpp.
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/barrier.hpp"
#include "weft/latch.hpp"
#include "weft/nursery.hpp"
#include "weft/sync_event.hpp"
#include "weft/wait_group.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

auto soon() {
  return std::chrono::steady_clock::now() + 200us;
}

TEST_CASE("sync_event: everybody who waits goes on, and who comes later does not wait, in every universe [W-015]") {
  in_each_universe([](const Universe& universe) {
    weft::SyncEvent event;
    std::atomic<int> through{0};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 10; ++k)
        (void)universe.spawn(n, [&] {
          event.wait();
          ++through;
        });
      weft::yield_now();
      CHECK(through == 0);
      event.set();
    });
    CHECK(through == 10);
    event.wait();
    CHECK(event.is_set());
    event.reset();
    CHECK_FALSE(event.is_set());
    CHECK_FALSE(event.wait_for(100us));
  });
}

TEST_CASE("sync_event: a pulse lets exactly those go who wait, not those who wait again [B12]") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent event;
    std::atomic<int> first{0};
    std::atomic<int> second{0};
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<void>> tasks;
      for (int k = 0; k < 8; ++k)
        tasks.push_back(n.spawn([&] {
          event.wait();
          ++first;
          event.wait();
          ++second;
        }));
      for (auto& task : tasks) until_parked(task);
      event.pulse();
      until([&] { return first == 8; });
      for (auto& task : tasks) until_parked(task);
      CHECK(second == 0);
      event.set();
    });
    CHECK(second == 8);
  });
}

TEST_CASE("latch: goes down to zero once, and says so to all, in every universe [W-015]") {
  in_each_universe([](const Universe& universe) {
    weft::Latch latch(9);
    std::atomic<int> arrived{0};
    std::atomic<bool> early{false};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 8; ++k)
        (void)universe.spawn(n, [&] {
          ++arrived;
          latch.arrive_and_wait();
          if (arrived != 9) early = true;
        });
      CHECK_FALSE(latch.try_wait());
      ++arrived;
      latch.count_down();
      latch.wait();
      if (arrived != 9) early = true;
    });
    CHECK_FALSE(early);
    CHECK(latch.try_wait());
    CHECK_THROWS_AS(latch.count_down(), std::logic_error);
    CHECK_THROWS_AS(weft::Latch(-1), std::invalid_argument);
  });
}

TEST_CASE("wait_group: waits for what is in flight, again and again [W-015]") {
  in_each_universe([](const Universe& universe) {
    weft::WaitGroup group;
    group.wait();
    std::atomic<int> done{0};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int round = 1; round <= 5; ++round) {
        group.add(6);
        for (int k = 0; k < 6; ++k)
          (void)universe.spawn(n, [&] {
            weft::yield_now();
            ++done;
            group.done();
          });
        group.wait();
        CHECK(done == 6 * round);
      }
    });
    CHECK_THROWS_AS(group.done(), std::logic_error);
    CHECK_THROWS_AS(group.add(-1), std::logic_error);
  });
}

TEST_CASE("barrier: nobody is a phase ahead, one per phase was last, in every universe [W-015] [B12]") {
  in_each_universe([](const Universe& universe) {
    constexpr int parties = 5;
    constexpr int phases = 30;
    weft::Barrier barrier(parties);
    std::atomic<int> arrivals{0};
    std::atomic<int> last{0};
    std::atomic<bool> wrong{false};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < parties; ++k)
        (void)universe.spawn(n, [&, k] {
          for (int phase = 1; phase <= phases; ++phase) {
            ++arrivals;
            if ((phase + k) % 3 == 0) weft::yield_now();
            if (barrier.arrive_and_wait()) ++last;
            if (arrivals < parties * phase) wrong = true;
          }
        });
    });
    CHECK_FALSE(wrong);
    CHECK(last == phases);
  });
}

TEST_CASE(
    "barrier: an arrival stands though its wait is cancelled or runs out of time; dropping makes it smaller [B13]") {
  in_each_universe([](const Universe&) {
    weft::Barrier barrier(3);
    weft::with_nursery([&](weft::Nursery& n) {
      auto cancelled = n.spawn([&] { (void)barrier.arrive_and_wait(); });
      until_parked(cancelled);
      cancelled.cancel();
      CHECK_FALSE(barrier.arrive_and_wait_for(200us));
      CHECK(barrier.arrive_and_wait());  // the third: nobody waits any more
      barrier.arrive_and_drop();
      auto other = n.spawn([&] { CHECK_FALSE(barrier.arrive_and_wait()); });
      until_parked(other);
      CHECK(barrier.arrive_and_wait());
    });
    CHECK_THROWS_AS(weft::Barrier(0), std::invalid_argument);
  });
}

TEST_CASE("gates: every form has its time [N-033]") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent event;
    CHECK_FALSE(event.wait_for(200us));
    CHECK_FALSE(event.wait_until(soon()));
    CHECK(event.wait_result(soon()) == weft::WaitResult::timed_out);
    weft::Latch latch(1);
    CHECK_FALSE(latch.wait_for(200us));
    CHECK_FALSE(latch.wait_until(soon()));
    CHECK(latch.wait_result(soon()) == weft::WaitResult::timed_out);
    weft::WaitGroup group(1);
    CHECK_FALSE(group.wait_for(200us));
    CHECK_FALSE(group.wait_until(soon()));
    CHECK(group.wait_result(soon()) == weft::WaitResult::timed_out);
    weft::Barrier barrier(9);
    CHECK_FALSE(barrier.arrive_and_wait_for(200us));
    CHECK_FALSE(barrier.arrive_and_wait_until(soon()));
    CHECK(barrier.arrive_and_wait_result(soon()) == weft::WaitResult::timed_out);
  });
}

TEST_CASE("gates: a cancelled waiter leaves, the others go on [B13]") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent event;
    std::atomic<int> through{0};
    weft::with_nursery([&](weft::Nursery& n) {
      auto first = n.spawn([&] { event.wait(); });
      auto second = n.spawn([&] {
        event.wait();
        ++through;
      });
      auto quiet = n.spawn([&] { CHECK(event.wait_result() == weft::WaitResult::cancelled); });
      until_parked(first);
      until_parked(second);
      until_parked(quiet);
      first.cancel();
      quiet.cancel();
      quiet.join();
      event.set();
    });
    CHECK(through == 1);
  });
}

TEST_CASE("gates: whoever is let through may destroy it, while the one who opened it still leaves [B5]") {
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    for (int round = 0; round < 300; ++round) {
      auto latch = std::make_unique<weft::Latch>(1);
      auto event = std::make_unique<weft::SyncEvent>();
      weft::Latch& shared_latch = *latch;
      weft::SyncEvent& shared_event = *event;
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] { shared_latch.count_down(); });
        n.start([&] { shared_event.set(); });
        if (round % 2 == 0) {
          latch->wait();
        } else {
          while (!latch->try_wait()) weft::yield_now();
        }
        latch.reset();
        event->wait();
        event.reset();
      });
    }
  });
}

TEST_CASE("gates: plain threads wait and open, too [W-015]") {
  weft::Latch latch(3);
  weft::Barrier barrier(3);
  weft::SyncEvent event;
  std::atomic<int> through{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([&] {
      latch.arrive_and_wait();
      (void)barrier.arrive_and_wait();
      event.wait();
      ++through;
    });
  weft::run([&] {
    latch.arrive_and_wait();
    (void)barrier.arrive_and_wait();
    event.set();
  });
  for (auto& thread : threads) thread.join();
  CHECK(through == 2);
}

}  // namespace
