// SPDX-License-Identifier: MIT
// The worker as its thread knows it, and what takes the short ways by it: without checks, which a debug build would
// have.
#include "sched/thread_worker.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "sched/worker.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/time.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using weft::detail::this_worker;
using weft::detail::thread_worker;

namespace {

weft::RuntimeOptions unwatched(unsigned count) {
  weft::RuntimeOptions options = workers(count);
  options.spec_assert = false;
  return options;
}

}  // namespace

TEST_CASE("thread_worker: a task that goes on elsewhere finds the worker of that thread, others find none [B24]") {
  CHECK(thread_worker() == nullptr);
  weft::RuntimeOptions options = workers(4);
  options.migration_check = true;
  options.sysmon = false;
  weft::run(options, [] {
    int moved = 0;
    int right = 0;
    for (int i = 0; i < 100; ++i) {
      const weft::detail::Worker* before = thread_worker();
      weft::yield_now();
      right += thread_worker() == this_worker();
      moved += thread_worker() != before;
    }
    CHECK(right == 100);
    CHECK(moved == 100);
    const weft::detail::Worker* outside = this_worker() != nullptr ? thread_worker() : nullptr;
    std::thread([&] { outside = thread_worker(); }).join();
    CHECK(outside == nullptr);
  });
  CHECK(thread_worker() == nullptr);
}

TEST_CASE("yield_now: inside an inner fiber, and on a stack of another size, others get their turn [LEAVE-1]") {
  for (const unsigned count : {1U, 2U}) {
    weft::run(unwatched(count), [] {
      std::atomic<int> turns = 0;
      std::atomic<bool> over = false;
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] {
          while (!over.load()) {
            turns.fetch_add(1);
            weft::yield_now();
          }
        });
        const auto wait_for_turns = [&] {
          for (int i = 0; i < 50; ++i) {
            const int before = turns.load();
            while (turns.load() == before) weft::yield_now();
          }
        };
        weft::Fiber inner([&] {
          wait_for_turns();
          return 7;
        });
        CHECK(inner.resume().value.as<int>() == 7);
        n.spawn(wait_for_turns, {.stack_size = std::size_t{1} << 20}).join();
        weft::Strand strand;
        n.spawn(wait_for_turns, {.strand = &strand}).join();
        n.spawn(wait_for_turns, {.pinned = true}).join();
        over.store(true);
      });
      CHECK(turns.load() >= 4 * 50);
    });
  }
}

TEST_CASE("cancel: ends the waits of plain, pinned and strand's tasks of one nursery, each where it belongs [N-027]") {
  for (const unsigned count : {1U, 2U, 4U}) {
    weft::run(unwatched(count), [] {
      std::atomic<int> cancelled = 0;
      std::atomic<int> misplaced = 0;
      int inside = 0;  // guarded by the strand
      weft::Strand strand;
      std::atomic<int> begun = 0;
      const auto wait = [&] {
        begun.fetch_add(1);
        try {
          weft::sleep(1h);
        } catch (const weft::Cancelled&) {
          cancelled.fetch_add(1);
        }
      };
      weft::with_nursery([&](weft::Nursery& n) {
        for (int i = 0; i < 20; ++i) {
          n.start(wait);
          (void)n.spawn(
              [&] {
                const long before = syscall(SYS_gettid);
                wait();
                misplaced.fetch_add(syscall(SYS_gettid) != before);
              },
              {.pinned = true});
          (void)n.spawn(
              [&] {
                wait();
                const int alone = ++inside;
                weft::checkpoint();
                misplaced.fetch_add(alone != inside);
              },
              {.strand = &strand});
        }
        while (begun.load() != 60) weft::yield_now();
        n.cancel();
      });
      CHECK(cancelled.load() == 60);
      CHECK(misplaced.load() == 0);
    });
  }
}

TEST_CASE("cancel: who is asked to stop goes next, before a thousand that only yield [N-027]") {
  if (!may_steal()) return;  // the global policy has one queue, and no slot
  weft::RuntimeOptions options = unwatched(1);
  options.sysmon = false;
  weft::run(options, [] {
    constexpr int others = 1000;
    int begun = 0;
    long turns = 0;
    bool over = false;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < others; ++i)
        n.start([&] {
          ++begun;
          while (!over) {
            weft::yield_now();
            ++turns;
          }
        });
      while (begun < others) weft::yield_now();
      for (int i = 0; i < 10; ++i) {
        bool waits = false;
        auto task = n.spawn([&] {
          waits = true;
          (void)weft::sleep_result(std::chrono::steady_clock::now() + 1h);
        });
        while (!waits) weft::yield_now();
        weft::yield_now();
        const long before = turns;
        task.cancel();
        task.join();
        CHECK(turns - before < 64);
      }
      over = true;
    });
  });
}

namespace {

// Dies where its task would have begun.
struct Yields {
  explicit Yields(std::atomic<int>& count) : ended(&count) {}
  Yields(Yields&& from) noexcept : ended(std::exchange(from.ended, nullptr)) {}
  ~Yields() {
    if (ended == nullptr) return;
    weft::yield_now();
    (void)weft::sleep_result(std::chrono::steady_clock::now() + 1ms);
    weft::yield_now();
    ended->fetch_add(1);
  }
  std::atomic<int>* ended;
};

}  // namespace

TEST_CASE("limits: what never got a stack may yield and wait when it dies, on the worker's own [HB21]") {
  for (const unsigned count : {1U, 2U}) {
    for (int i = 0; i < 3; ++i) {  // the same thread each time
      std::atomic<int> ended = 0;
      weft::run(unwatched(count), [&] {
        CHECK_THROWS(weft::with_nursery([&](weft::Nursery& n) {
          (void)n.spawn([y = Yields(ended)] { (void)y; }, {.stack_size = std::size_t{1} << 46});
          weft::sleep(1ms);
        }));
      });
      CHECK(ended.load() == 1);
    }
  }
}
