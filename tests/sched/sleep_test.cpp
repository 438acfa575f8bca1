// SPDX-License-Identifier: MIT
// Sleepers: parked on a timer, in no run queue, never early, woken although everybody sleeps.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "sched/runtime_core.hpp"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/scope.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using Clock = std::chrono::steady_clock;

TEST_CASE("sleep: never early, in every universe, also for tasks and threads beside each other [N-013]") {
  in_each_universe([](const Universe& u) {
    std::atomic<int> early = 0;
    std::atomic<int> slept = 0;
    const auto nap = [&](int i) {
      const auto began = Clock::now();
      weft::sleep(std::chrono::microseconds(137 * i));
      if (Clock::now() - began < std::chrono::microseconds(137 * i)) ++early;
      ++slept;
    };
    std::thread thread([&] {
      for (int i = 0; i < 10; ++i) nap(i);
    });
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 10; ++i) auto sleeper = u.spawn(n, [&, i] { nap(i); });
    });
    thread.join();
    CHECK(slept == 20);
    CHECK(early == 0);
    CHECK_THROWS_AS(weft::sleep(-1ns), std::invalid_argument);
    weft::sleep(0ns);
    weft::sleep_until(Clock::now() - 1h);
    const auto when = Clock::now() + 500us;
    weft::sleep_until(when);
    CHECK(Clock::now() >= when);
  });
}

namespace {

// A machine whose wall clock may be set at any time: what a sleep asks the kernel for must not speak of that clock.
struct Asked {
  std::atomic<unsigned> by_monotonic{0};
  std::atomic<unsigned> by_wall{0};
  std::atomic<unsigned> wall_reads{0};

  static bool look(const weft::detail::sys::Call& call, long*, void* context) {
    Asked& asked = *static_cast<Asked*>(context);
    if (call.number == SYS_clock_gettime && call.args[0] == CLOCK_REALTIME) ++asked.wall_reads;
    if (call.number != SYS_futex || (call.args[1] & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET || call.args[3] == 0)
      return false;
    // Of a deadline, and the wall clock is decades ahead of the time since boot.
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const auto& until = *reinterpret_cast<const timespec*>(call.args[3]);
    const bool wall = (call.args[1] & FUTEX_CLOCK_REALTIME) != 0 || until.tv_sec > now.tv_sec + 60;
    ++(wall ? asked.by_wall : asked.by_monotonic);
    return false;
  }
};

}  // namespace

TEST_CASE("sleep: no wait names the wall clock, so setting that changes no sleep, of tasks and of threads [V-074]") {
  Asked asked;
  weft::detail::sys::set_interceptor(Asked::look, &asked);
  {
    weft::Runtime runtime(workers(2));
    runtime.run([] {
      for (int i = 0; i < 20; ++i) weft::sleep(300us);
      std::atomic<std::uint32_t> never{0};
      CHECK(weft::park_if_for(never, 0, 300us) == weft::WaitOutcome::timed_out);
    });
    CHECK(runtime.shutdown());
  }
  const unsigned by_tasks = asked.by_monotonic;
  CHECK(by_tasks > 0);
  std::thread([] { weft::sleep(1ms); }).join();
  weft::detail::sys::set_interceptor(nullptr, nullptr);
  CHECK(asked.by_monotonic > by_tasks);
  CHECK(asked.by_wall == 0);
  CHECK(asked.wall_reads == 0);
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
    "sleep: who inherits the timers of a worker that leaves is told, however long it meant to sleep [B18] [HC12]") {
  if (!may_steal()) return;  // with one queue for all it would seldom begin where it is spawned
  weft::RuntimeOptions options = workers(4);
  options.sysmon = false;  // which fires what is late
  weft::Runtime runtime(options);
  const auto asleep = [&] { return runtime.core().idle.sleepers(); };
  int left_behind = 0;
  for (int round = 0; left_behind < 10 && round < 1000; ++round) {
    weft::Task<void> sleeper;
    runtime.run([&] {
      while (asleep() != 3) weft::seam::pause();
      sleeper = weft::go([] { weft::sleep(10ms); });
      weft::yield_now();  // it begins here, unless somebody was faster
      while (asleep() != 3) weft::seam::pause();
      left_behind += sleeper.core()->timer_place.load() == 1;
    });
    REQUIRE(eventually([&] { return sleeper.done(); }));
  }
  CHECK(left_behind == 10);
}

TEST_CASE(
    "sleep: a timer left over from an earlier wait ends no later one; it is counted as stale [B16] [J-096] [W-087]") {
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

TEST_CASE("sleep: a cancel and a late wake resume once, and the late one is dropped and counted [J-096]") {
  weft::RuntimeOptions options = workers(1);
  options.sysmon = false;
  weft::Runtime runtime(options);
  runtime.run([&] {
    std::atomic<std::uint32_t> flag{0};
    weft::with_nursery([&](weft::Nursery& n) {
      int cancels = 0;
      int returns = 0;
      weft::Unparker handle;
      auto waiter = n.spawn([&] {
        handle = weft::unparker();
        try {
          weft::sleep(3ms);
        } catch (const weft::Cancelled&) {
          ++cancels;
        }
        weft::shield([&] {
          while (flag.load() == 0) {
            (void)weft::park_if(flag, 0);
            ++returns;
          }
        });
      });
      until_parked(waiter);
      const std::uint64_t stale = runtime.stats().timers_stale;
      waiter.cancel();
      until([&] { return cancels == 1; });
      until_parked(waiter);
      until([&] { return runtime.stats().timers_stale > stale; });
      CHECK(runtime.stats().timers_stale == stale + 1);
      CHECK(returns == 0);
      flag = 1;
      handle.unpark();
      waiter.wait();
      CHECK(cancels == 1);
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
    const bool early = weft::park_if_for(never, 0, 2ms) == weft::WaitOutcome::woken;
    waker.join();
    if (!early) CHECK(weft::park_if_for(never, 0, 1h) == weft::WaitOutcome::woken);  // it came late, and is a permit
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
