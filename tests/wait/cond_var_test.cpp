// SPDX-License-Identifier: MIT
// The condition variable; its interleavings are in verify/scenarios/cond_var.cpp.
#include "weft/cond_var.hpp"

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using Lock = std::unique_lock<weft::Mutex>;

namespace {

// In a task: until so many have counted themselves under the mutex and left it again, by the wait that follows. (One
// who is parked may wait for the mutex still.)
void until_all(weft::Mutex& mutex, const int& count, int all) {
  until([&] {
    const Lock lock(mutex);
    return count == all;
  });
}

TEST_CASE("cond_var: a queue between producers and consumers loses nothing, in every universe [W-015]") {
  in_each_universe([](const Universe& universe) {
    weft::Mutex mutex;
    weft::CondVar filled;
    weft::CondVar emptied;
    std::deque<int> queue;
    std::atomic<int> sum{0};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 4; ++k) {
        (void)universe.spawn(n, [&] {
          for (int i = 1; i <= 100; ++i) {
            Lock lock(mutex);
            emptied.wait(lock, [&] { return queue.size() < 3; });
            queue.push_back(i);
            filled.notify_one();
          }
        });
        (void)universe.spawn(n, [&] {
          for (int i = 0; i < 100; ++i) {
            Lock lock(mutex);
            filled.wait(lock, [&] { return !queue.empty(); });
            sum += queue.front();
            queue.pop_front();
            emptied.notify_one();
          }
        });
      }
    });
    CHECK(sum == 4 * 5050);
    CHECK(queue.empty());
  });
}

TEST_CASE("cond_var: notify_all lets everybody go who waits at that moment [B12]") {
  in_each_universe([](const Universe&) {
    weft::Mutex mutex;
    weft::CondVar cond;
    int came = 0;
    int passed = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 8; ++k)
        n.start([&] {
          Lock lock(mutex);
          ++came;
          cond.wait(lock);  // no predicate: one notification, one wait
          ++passed;
          cond.wait(lock);  // not by the same
          ++passed;
        });
      until_all(mutex, came, 8);
      cond.notify_all();
      until_all(mutex, passed, 8);
      CHECK(passed == 8);
      cond.notify_all();
    });
    CHECK(passed == 16);
  });
}

TEST_CASE("cond_var: whoever is cancelled holds the mutex when Cancelled leaves the wait [HB10]") {
  in_each_universe([](const Universe&) {
    weft::Mutex mutex;
    weft::CondVar cond;
    std::atomic<bool> inside{false};
    bool held = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto waiter = n.spawn([&] {
        Lock lock(mutex);
        try {
          cond.wait(lock);
        } catch (const weft::Cancelled&) {
          held = lock.owns_lock() && !mutex.try_lock() && !inside;
          throw;
        }
      });
      until_parked(waiter);
      Lock lock(mutex);
      inside = true;
      waiter.cancel();
      weft::sleep(500us);  // it is woken, and must wait for the mutex now, cancelled or not
      inside = false;
      lock.unlock();
    });
    CHECK(held);
    CHECK(mutex.try_lock());
  });
}

TEST_CASE("cond_var: a notification and a cancel together lose no notification [B13] [HB10]") {
  in_each_universe([](const Universe&) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      weft::Mutex mutex;
      weft::CondVar cond;
      int came = 0;
      std::atomic<int> notified{0};
      weft::with_nursery([&](weft::Nursery& n) {
        const auto one = [&] {
          Lock lock(mutex);
          ++came;
          cond.wait(lock);
          ++notified;
        };
        auto first = n.spawn(one);
        n.start(one);
        until_all(mutex, came, 2);
        if (repeat % 2 == 0) {
          first.cancel();
          cond.notify_one();
        } else {
          cond.notify_one();
          first.cancel();
        }
        until([&] { return notified == 1; });
        cond.notify_all();
      });
      CHECK(notified >= 1);
    }
  });
}

TEST_CASE("cond_var: every form has its time, and holds the mutex afterwards [N-033]") {
  in_each_universe([](const Universe&) {
    weft::Mutex mutex;
    weft::CondVar cond;
    const auto soon = [] { return std::chrono::steady_clock::now() + 200us; };
    const auto never = [] { return false; };
    weft::with_nursery([&](weft::Nursery& n) {
      const auto each = [&](auto wait) {
        n.start([&mutex, wait] {
          Lock lock(mutex);
          CHECK_FALSE(wait(lock));
          CHECK_FALSE(mutex.try_lock());
        });
      };
      each([&](Lock& lock) { return cond.wait_for(lock, 200us); });
      each([&, soon](Lock& lock) { return cond.wait_until(lock, soon()); });
      each([&, never](Lock& lock) { return cond.wait_for(lock, 200us, never); });
      each([&, soon, never](Lock& lock) { return cond.wait_until(lock, soon(), never); });
      each([&, soon](Lock& lock) { return cond.wait_result(lock, soon()) == weft::WaitResult::done; });
    });
    Lock lock(mutex);
    CHECK_THROWS_AS((void)cond.wait_for(lock, -1ns), std::invalid_argument);
    CHECK_FALSE(mutex.try_lock());
  });
}

TEST_CASE("cond_var: plain threads wait and notify, too [W-015]") {
  weft::Mutex mutex;
  weft::CondVar cond;
  int turn = 0;
  std::thread thread([&] {
    for (int i = 0; i < 200; ++i) {
      Lock lock(mutex);
      cond.wait(lock, [&] { return turn % 2 == 1; });
      ++turn;
      cond.notify_all();
    }
  });
  weft::run([&] {
    for (int i = 0; i < 200; ++i) {
      Lock lock(mutex);
      cond.wait(lock, [&] { return turn % 2 == 0; });
      ++turn;
      cond.notify_all();
    }
  });
  thread.join();
  CHECK(turn == 400);
}

TEST_CASE("cond_var: a fiber that catches wait is asked while the mutex is still held [HB8]") {
  weft::run([] {
    weft::Mutex mutex;
    weft::CondVar cond;
    bool went_on = false;
    weft::Fiber f(
        [&] {
          Lock lock(mutex);
          CHECK_FALSE(cond.wait_for(lock, 1ms));
          went_on = true;
        },
        "w");
    const auto& request = f.resume().value.as<weft::WaitRequest>();
    CHECK(std::string(request.kind) == "wait");
    CHECK_FALSE(mutex.try_lock());
    CHECK(f.resume().ok());
    CHECK(went_on);
    CHECK(mutex.try_lock());
  });
}

}  // namespace
