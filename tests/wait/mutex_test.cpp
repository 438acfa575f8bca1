// SPDX-License-Identifier: MIT
// The mutex of tasks; its interleavings are in verify/scenarios/mutex.cpp.
#include "weft/mutex.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/dump.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

TEST_CASE("mutex: at most one is inside, also when the holder parks, in every universe [W-015]") {
  in_each_universe([](const Universe& universe) {
    weft::Mutex mutex;
    std::uint64_t count = 0;
    int inside = 0;
    bool crowded = false;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 16; ++k)
        (void)universe.spawn(n, [&, k] {
          for (int i = 0; i < 200; ++i) {
            const std::lock_guard guard(mutex);
            crowded |= ++inside != 1;
            ++count;
            if ((i + k) % 7 == 0) weft::yield_now();
            if ((i + k) % 61 == 0) weft::sleep(20us);
            --inside;
          }
        });
    });
    CHECK(count == 3200);
    CHECK_FALSE(crowded);
    CHECK(mutex.try_lock());
    CHECK_FALSE(mutex.try_lock());
    mutex.unlock();
  });
}

TEST_CASE("mutex: std::scoped_lock and std::unique_lock fit [W-015]") {
  weft::run([] {
    weft::Mutex a;
    weft::Mutex b;
    int sum = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 8; ++k)
        n.start([&, k] {
          for (int i = 0; i < 100; ++i) {
            if (k % 2 == 0) {
              const std::scoped_lock both(a, b);
              ++sum;
              weft::yield_now();
            } else {
              const std::scoped_lock both(b, a);
              ++sum;
            }
          }
        });
    });
    CHECK(sum == 800);
    std::unique_lock lock(a, std::defer_lock);
    CHECK(lock.try_lock_for(1ms));
    CHECK_FALSE(std::unique_lock(a, std::try_to_lock).owns_lock());
    CHECK_FALSE(std::unique_lock(a, 1ms).owns_lock());
  });
}

TEST_CASE("mutex: who waits too long leaves without it, in every form [N-033]") {
  in_each_universe([](const Universe&) {
    weft::Mutex mutex;
    mutex.lock();
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] { CHECK_FALSE(mutex.lock_for(200us)); });
      n.start([&] { CHECK_FALSE(mutex.lock_until(std::chrono::steady_clock::now() + 200us)); });
      n.start([&] { CHECK_FALSE(mutex.try_lock_for(200us)); });
      n.start([&] { CHECK_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() + 200us)); });
      n.start(
          [&] { CHECK(mutex.lock_result(std::chrono::steady_clock::now() + 200us) == weft::WaitResult::timed_out); });
      n.start([&] { CHECK_FALSE(weft::timeout(200us, [&] { mutex.lock(); })); });
      n.start([&] { CHECK_THROWS_AS((void)mutex.lock_for(-1ns), std::invalid_argument); });
    });
    mutex.unlock();
    CHECK(mutex.lock_for(0ns));
    mutex.unlock();
  });
}

TEST_CASE("mutex: lock throws Cancelled where it would wait, and locks what is free [N-022]") {
  weft::run([] {
    weft::Mutex taken;
    weft::Mutex free;
    taken.lock();
    int thrown = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      auto parked = n.spawn([&] {
        try {
          taken.lock();
        } catch (const weft::Cancelled&) {
          ++thrown;
          throw;
        }
      });
      until_parked(parked);
      parked.cancel();
      auto quiet = n.spawn([&] {
        CHECK(taken.lock_result() == weft::WaitResult::cancelled);
        free.lock();
        ++thrown;
        free.unlock();
      });
      until_parked(quiet);
      quiet.cancel();
    });
    CHECK(thrown == 2);
    taken.unlock();
    CHECK(free.try_lock());
  });
}

TEST_CASE("mutex: a wake that a cancelled waiter has got goes to the next [HB10] [B13]") {
  weft::Runtime runtime(workers(1));
  runtime.run([] {
    weft::Mutex mutex;
    mutex.lock();
    bool second_had_it = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto first = n.spawn([&] { mutex.lock(); });
      until_parked(first);
      auto second = n.spawn([&] {
        CHECK(mutex.lock_for(10s));
        second_had_it = true;
        mutex.unlock();
      });
      until_parked(second);
      mutex.unlock();  // wakes the first
      mutex.lock();    // which comes too late
      first.cancel();
      first.wait();  // it leaves
      CHECK(first.status() == weft::TaskStatus::cancelled);
      CHECK_FALSE(second_had_it);
      mutex.unlock();
      second.join();
    });
    CHECK(second_had_it);
  });
}

TEST_CASE("mutex: a waiter whom runners pass again and again gets it handed over [W-015]") {
  weft::Runtime runtime(workers(1));
  runtime.run([] {
    weft::Mutex mutex;
    int passed = 0;
    bool got = false;
    weft::with_nursery([&](weft::Nursery& n) {
      mutex.lock();
      auto waiter = n.spawn([&] {
        mutex.lock();
        got = true;
        mutex.unlock();
      });
      until_parked(waiter);
      while (!got && passed < 1000) {
        mutex.unlock();
        mutex.lock();  // before the woken one runs
        ++passed;
        weft::yield_now();
      }
      mutex.unlock();
    });
    CHECK(got);
    CHECK(passed >= 2);
    CHECK(passed <= 10);
  });
}

TEST_CASE("mutex: plain threads and tasks share one [W-015] [N-013]") {
  weft::Mutex mutex;
  std::uint64_t count = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::lock_guard guard(mutex);
        ++count;
        if (i % 100 == 0) std::this_thread::yield();
      }
    });
  weft::Runtime runtime(workers(2));
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 10; ++k)
        n.start([&] {
          for (int i = 0; i < 500; ++i) {
            const std::lock_guard guard(mutex);
            ++count;
            if (i % 50 == 0) weft::yield_now();
          }
        });
    });
  });
  for (auto& thread : threads) thread.join();
  CHECK(count == 11000);
}

TEST_CASE("mutex: one task may unlock what another has locked [HC8]") {
  weft::run([] {
    weft::Mutex mutex;
    mutex.lock();
    weft::with_nursery([&](weft::Nursery& n) {
      auto waiter = n.spawn([&] {
        mutex.lock();
        mutex.unlock();
      });
      until_parked(waiter);
      n.spawn([&] { mutex.unlock(); }).join();
    });
    CHECK(mutex.try_lock());
  });
}

TEST_CASE("mutex: whoever gets it last may destroy it, while the one before still leaves unlock [B5]") {
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    for (int round = 0; round < 300; ++round) {
      auto mutex = std::make_unique<weft::Mutex>();
      mutex->lock();
      weft::with_nursery([&](weft::Nursery& n) {
        weft::Mutex& shared = *mutex;
        n.start([&mutex] {
          mutex->lock();
          mutex->unlock();
          mutex.reset();
        });
        weft::yield_now();
        shared.unlock();
      });
      CHECK(mutex == nullptr);
    }
  });
}

TEST_CASE("mutex: a dump says who waits for it and who holds it [W-015]") {
  weft::run([] {
    weft::Mutex mutex;
    weft::with_nursery([&](weft::Nursery& n) {
      auto holder = n.spawn(
          [&] {
            mutex.lock();
            weft::sleep(10s);
          },
          weft::TaskOptions{.name = "the holder"});
      until_parked(holder);
      auto waiter = n.spawn([&] { mutex.lock(); }, weft::TaskOptions{.name = "the waiter"});
      until_parked(waiter);
      const std::string text = weft::dump();
      CHECK(text.find("lock") != std::string::npos);
      CHECK(text.find("held by") != std::string::npos);
      n.cancel();
    });
  });
}

TEST_CASE("mutex: a fiber that catches wait is asked before lock waits [HB8]") {
  weft::run([] {
    weft::Mutex mutex;
    mutex.lock();
    bool locked = false;
    weft::Fiber f(
        [&] {
          mutex.lock();
          locked = true;
        },
        "w");
    const weft::Event& event = f.resume();
    const auto& request = event.value.as<weft::WaitRequest>();
    CHECK(std::string(request.kind) == "lock");
    CHECK(request.object == &mutex);
    CHECK_FALSE(locked);
    mutex.unlock();
    CHECK(f.resume().ok());
    CHECK(locked);
  });
}

}  // namespace
