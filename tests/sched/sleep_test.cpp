// SPDX-License-Identifier: MIT
// Sleepers: parked on a timer, in no run queue, never early, woken although everybody sleeps.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/runtime_core.hpp"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using Clock = std::chrono::steady_clock;

TEST_CASE("sleep: never early, in every universe, also for tasks and threads beside each other [V-074] [N-013]") {
  in_each_universe([](const Universe& u) {
    std::atomic<int> early = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 10; ++i) {
        auto sleeper = u.spawn(n, [&, i] {
          const auto began = Clock::now();
          weft::sleep(std::chrono::microseconds(137 * i));
          if (Clock::now() - began < std::chrono::microseconds(137 * i)) ++early;
        });
      }
    });
    CHECK(early == 0);
    CHECK_THROWS_AS(weft::sleep(-1ns), std::invalid_argument);
    weft::sleep(0ns);
    weft::sleep_until(Clock::now() - 1h);
    const auto when = Clock::now() + 500us;
    weft::sleep_until(when);
    CHECK(Clock::now() >= when);
  });
}

TEST_CASE("sleep: ten thousand sleepers stand in no run queue and are not dispatched meanwhile [V-073] [V-075]") {
  weft::Runtime runtime(workers(2));
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      std::atomic<int> begun = 0;
      for (int i = 0; i < 10'000; ++i)
        n.start([&] {
          ++begun;
          weft::sleep(1h);
        });
      until([&] { return begun == 10'000; });
      weft::sleep(5ms);
      auto& core = runtime.core();
      for (unsigned i = 0; i < 2; ++i) {
        CHECK(core.worker(i).ready.size() <= 1);
        CHECK(core.worker(i).deque.size() == 0);
        CHECK(core.worker(i).inbox.empty());
      }
      CHECK(core.global.empty());
      const std::uint64_t switches = runtime.stats().switches;
      const std::uint64_t fired = runtime.stats().timers_fired;
      weft::sleep(10ms);
      CHECK(runtime.stats().switches - switches <= 5);
      CHECK(runtime.stats().timers_fired - fired <= 2);
      n.cancel();
    });
  });
}

TEST_CASE("sleep: it ends although every worker was asleep [V-076] [V-078]") {
  for (const unsigned count : {1U, 2U, 4U}) {
    weft::RuntimeOptions options = workers(count);
    options.sysmon = false;
    weft::Runtime runtime(options);
    // It comes back, and nobody but a sleeping worker could see to that.
    runtime.run([&] {
      for (int i = 0; i < 5; ++i) weft::sleep(3ms);
    });
    CHECK(runtime.stats().timers_fired >= 5);
  }
}

TEST_CASE("sleep: a new, earlier timer is noticed by a worker that sleeps for a later one [B18]") {
  weft::run(workers(1), [] {
    weft::with_nursery([](weft::Nursery& n) {
      auto late = n.spawn([] { weft::sleep(1h); });
      until_parked(late);
      weft::sleep(5ms);  // the worker sleeps until the later one
      weft::sleep(1ms);
      CHECK_FALSE(late.done());  // this one was the earlier
      late.cancel();
    });
  });
  // Armed by a task that a plain thread woke.
  weft::Runtime runtime(workers(2));
  std::atomic<std::uint32_t> flag{0};
  std::atomic<bool> told = false;
  weft::Unparker handle;
  bool was_earlier = false;
  std::thread outside([&] {
    while (!told) std::this_thread::yield();
    std::this_thread::sleep_for(10ms);
    flag = 1;
    handle.unpark();
  });
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      auto late = n.spawn([] { weft::sleep(1h); });
      handle = weft::unparker();
      told = true;
      while (flag.load() == 0) (void)weft::park_if(flag, 0);
      weft::sleep(1ms);
      was_earlier = !late.done();
      late.cancel();
    });
  });
  outside.join();
  CHECK(was_earlier);
}

TEST_CASE(
    "sleep: a timer left over from an earlier wait ends no later one; it is counted as stale [B16] [J-096] [V-041]") {
  weft::RuntimeOptions options = workers(1);
  options.sysmon = false;  // which may fire the timer between two looks of ours
  weft::Runtime runtime(options);
  runtime.run([&] {
    std::atomic<std::uint32_t> flag{0};
    weft::with_nursery([&](weft::Nursery& n) {
      weft::Unparker handle;
      int returns = 0;
      auto waiter = n.spawn([&] {
        handle = weft::unparker();
        // Woken long before its deadline; the timer stays armed.
        while (flag.load() == 0) (void)weft::park_if_for(flag, 0, 3ms);
        while (flag.load() == 1) {
          (void)weft::park_if(flag, 1);
          ++returns;
        }
      });
      until_parked(waiter);
      const std::uint64_t stale = runtime.stats().timers_stale;
      flag = 1;
      handle.unpark();
      until([&] { return runtime.stats().timers_stale > stale; });
      until_parked(waiter);
      CHECK(runtime.stats().timers_stale == stale + 1);
      CHECK(returns == 0);
      flag = 2;
      handle.unpark();
      waiter.join();
      CHECK(returns == 1);
    });
  });
}

TEST_CASE("sleep: a wait with a later deadline keeps the armed timer and ends at its own time [B16]") {
  in_each_universe([](const Universe&) {
    std::atomic<std::uint32_t> never{0};
    const auto began = Clock::now();
    const weft::Unparker me = weft::unparker();
    const weft::detail::TaskCore* mine = weft::detail::this_task();
    auto waker = weft::go([me] {
      weft::sleep(200us);
      me.unpark();
    });
    (void)weft::park_if_for(never, 0, 2ms);  // woken early
    waker.join();
    CHECK(weft::park_if_for(never, 0, 4ms) == weft::WaitOutcome::timed_out);
    CHECK(Clock::now() - began >= 4ms);
    // And an earlier one is moved.
    auto again = weft::go([me, mine] {
      while (!is_parked(mine)) weft::yield_now();  // an unpark before that would be for nobody
      me.unpark();
    });
    (void)weft::park_if_for(never, 0, 1h);
    again.join();
    CHECK(weft::park_if_for(never, 0, 1ms) == weft::WaitOutcome::timed_out);  // not in an hour
  });
}

TEST_CASE("sleep: timed waits that move between workers, woken and timed out at once [B16] [B17]") {
  for (const unsigned count : {2U, 4U, 8U}) {
    weft::run(workers(count), [] {
      std::atomic<std::uint64_t> ended = 0;
      weft::with_nursery([&](weft::Nursery& n) {
        for (int t = 0; t < 16; ++t)
          n.start([&, t] {
            std::atomic<std::uint32_t> never{0};
            const weft::Unparker me = weft::unparker();
            std::atomic<bool> stop = false;
            weft::with_nursery([&](weft::Nursery& mine) {
              mine.start([&, t] {
                for (int i = 0; !stop; ++i) {
                  weft::sleep(std::chrono::microseconds((i * 31 + t) % 150));
                  me.unpark();
                }
              });
              for (int i = 0; i < 100; ++i) {
                (void)weft::park_if_for(never, 0, std::chrono::microseconds((i * 17 + t) % 150));
                ++ended;
              }
              stop = true;
            });
          });
      });
      CHECK(ended == 1600);
    });
  }
}
