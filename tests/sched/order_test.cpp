// SPDX-License-Identifier: MIT
// Where work goes and in what order workers look for it, traced.
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/dispatch.hpp"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

TEST_CASE("order: a wake from outside stands in the inbox of its worker, and no thief takes it from there [V-029]") {
  if (!may_steal()) return;  // the global policy has one queue for everybody
  weft::RuntimeOptions options = workers(2);
  options.sysmon = false;  // which would rescue it once the worker is stuck
  weft::Runtime runtime(options);
  weft::detail::RuntimeCore& core = runtime.core();
  std::atomic<std::uint32_t> flag{0};
  std::atomic<int> home{-1};
  std::atomic<int> ran_on{-1};
  std::atomic<bool> holding = false;
  std::atomic<bool> release = false;
  weft::Unparker handle;
  std::thread outside([&] {
    if (!eventually([&] { return home >= 0; })) return;
    // One pinned task per worker; the one at home keeps it.
    for (int i = 0; i < 2; ++i)
      (void)runtime.go(
          [&] {
            if (static_cast<int>(weft::detail::this_worker()->index) != home) return;
            holding = true;
            while (!release) weft::seam::pause();
          },
          {.pinned = true});
    CHECK(eventually([&] { return holding.load(); }));
    weft::detail::Worker& target = core.worker(static_cast<unsigned>(home.load()));
    const std::uint64_t before = target.counters.inbox_pops;
    flag.store(1);
    handle.unpark();
    CHECK(target.inbox_size == 1);
    std::this_thread::sleep_for(20ms);  // the other worker has nothing to do
    CHECK(target.inbox_size == 1);
    CHECK(ran_on == -1);
    release = true;
    CHECK(eventually([&] { return ran_on >= 0; }));
    CHECK(ran_on == home);
    CHECK(target.counters.inbox_pops == before + 1);
  });
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      auto sleeper = n.spawn([&] {
        handle = weft::unparker();
        while (flag.load() == 0) (void)weft::park_if(flag, 0);
        ran_on = static_cast<int>(weft::detail::this_worker()->index);
      });
      until_parked(sleeper);
      home = sleeper.core()->last_worker;
    });
  });
  outside.join();
}

TEST_CASE("order: untargeted work spreads over all workers: in each round each of them gets one [V-036]") {
  for (const auto policy : {weft::RuntimeOptions::Policy::steal, weft::RuntimeOptions::Policy::global}) {
    constexpr unsigned count = 4;
    constexpr int rounds = 10;
    weft::RuntimeOptions options = workers(count);
    options.policy = policy;
    options.sysmon = false;
    weft::Runtime runtime(options);
    std::atomic<int> histogram[count] = {};
    std::atomic<bool> over = false;
    std::thread outside([&] {
      for (int round = 0; round < rounds; ++round) {
        std::atomic<unsigned> inside = 0;
        std::vector<weft::Task<bool>> tasks;
        for (unsigned i = 0; i < count; ++i)
          tasks.push_back(runtime.go([&] {
            ++histogram[weft::detail::this_worker()->index];
            ++inside;
            return eventually([&] { return inside == count; });  // and keeps its worker
          }));
        for (auto& task : tasks) CHECK(task.join());
      }
      over = true;
    });
    runtime.run([&] { until([&] { return over.load(); }); });  // so that worker 0 is there
    outside.join();
    for (const auto& times : histogram) CHECK(times == rounds);
  }
}

// A task stands in one queue, once, so a run queue has no stale entries to drop: one that is put in is stopped by the
// assertion. What can be stale are timers; those are dropped and counted.
TEST_CASE("order: a stale timer is dropped and counted; a stale entry never gets into a queue [V-037]") {
  weft::RuntimeOptions options = workers(1);
  options.sysmon = false;  // which may fire the timer between two looks of ours
  weft::Runtime runtime(options);
  runtime.run([&] {
    std::atomic<std::uint32_t> never{0};
    std::atomic<std::uint32_t> flag{0};
    int woken = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      weft::Unparker handle;
      auto task = n.spawn([&] {
        handle = weft::unparker();
        while (flag.load() == 0) (void)weft::park_if_for(flag, 0, 1ms);  // its timer stays armed
        (void)weft::park_if(never, 0);
        ++woken;
      });
      until_parked(task);
      const std::uint64_t before = runtime.stats().timers_stale;
      flag.store(1);
      handle.unpark();
      until([&] { return runtime.stats().timers_stale > before; });
      until_parked(task);
      CHECK(woken == 0);
      task.cancel();
    });
    // One that has ended, once more:
    auto ended = weft::go([] {});
    ended.wait();
    weft::detail::spec_assertions = true;
    const auto hook = weft::detail::set_assert_hook(
        [](const char* text, const char*, const char*, int) { throw std::logic_error(text); });
    std::string refusal;
    try {
      weft::detail::inject(*weft::detail::this_worker()->runtime,
                           weft::detail::Entry(ended.core(), weft::detail::entry_task));
    } catch (const std::logic_error& error) {
      refusal = error.what();
    }
    weft::detail::set_assert_hook(hook);
    CHECK(refusal == "only a new or a RUNNABLE task is queued");
  });
}

TEST_CASE("order: a worker runs what is its own before what is shared [W-121]") {
  if (!may_steal()) return;  // the global policy has one queue for everybody
  weft::RuntimeOptions options = workers(1);
  options.in_place = false;
  options.sysmon = false;  // it asks a busy worker to look at what is shared
  std::string trail;
  weft::run(options, [&] {
    std::vector<weft::Task<void>> shared;
    for (int i = 0; i < 3; ++i) shared.push_back(weft::go([&] { trail += 'g'; }));
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 3; ++i) n.start([&] { trail += 'l'; });
    });
    for (auto& task : shared) task.join();
  });
  CHECK(trail == "lllggg");
}

TEST_CASE("order: it takes what is shared before it steals, and sleeps after neither gave anything [W-121]") {
  if (!may_steal()) return;  // the global policy has one queue for everybody
  weft::RuntimeOptions options = workers(2);
  options.in_place = false;
  options.sysmon = false;
  weft::Runtime runtime(options);
  std::mutex mutex;
  std::string trail;
  std::uint64_t sleeps_before = 0;
  std::uint64_t sleeps_at_theft = 0;
  const auto note = [&](char what) {
    const std::lock_guard guard(mutex);
    if (what == 's' && trail.find('s') == std::string::npos) sleeps_at_theft = runtime.stats().sleeps;
    trail += what;
  };
  const auto length = [&] {
    const std::lock_guard guard(mutex);
    return trail.size();
  };
  runtime.run([&] {
    std::atomic<bool> begun = false;
    std::atomic<bool> release = false;
    auto holder = weft::go([&] {
      begun = true;
      while (!release) weft::seam::pause();
      sleeps_before = runtime.stats().sleeps;
    });
    REQUIRE(eventually([&] { return begun.load(); }));  // on the other worker: this one does not wait
    std::vector<weft::Task<void>> shared;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 6; ++i) n.start([&] { note('s'); });
      for (int i = 0; i < 3; ++i) shared.push_back(weft::go([&] { note('g'); }));
      release = true;
      CHECK(eventually([&] { return length() >= 5; }));  // all by the other one
    });
    for (auto& task : shared) task.join();
    holder.join();
  });
  CHECK(trail.substr(0, 5) == "gggss");
  CHECK(sleeps_at_theft == sleeps_before);
}

TEST_CASE("order: who yields lets the others go on first, each time, under both policies") {
  for (const auto policy : {weft::RuntimeOptions::Policy::steal, weft::RuntimeOptions::Policy::global}) {
    weft::RuntimeOptions options = workers(1);
    options.policy = policy;
    options.sysmon = false;
    std::string trail;
    int begun = 0;
    weft::run(options, [&] {
      weft::with_nursery([&](weft::Nursery& n) {
        for (const char letter : {'a', 'b', 'c'})
          n.start([&, letter] {
            ++begun;
            while (begun < 3) weft::yield_now();
            for (int i = 0; i < 20; ++i) {
              trail += letter;
              weft::yield_now();
            }
          });
      });
    });
    CAPTURE(trail);
    CHECK(trail.size() == 60);
    for (const char* twice : {"aa", "bb", "cc"}) CHECK(trail.find(twice) == std::string::npos);
  }
}
