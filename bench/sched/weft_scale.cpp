// SPDX-License-Identifier: MIT
// Costs that must not grow: what one operation takes with a thousand tasks and with a million. And what an idle runtime
// takes while a hundred thousand tasks are parked in it.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness.hpp"
#include "weft/detail/task_core.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;

weft::RuntimeOptions one_worker() {
  weft::RuntimeOptions options;
  options.workers = 1;
  return options;
}

double each(std::uint64_t from, std::uint64_t count) {
  return static_cast<double>(now_ns(Clock::cpu) - from) / static_cast<double>(count);
}

struct Costs {
  double spawn = 0, park = 0, wake = 0, timer = 0, cancel = 0;
};

void measure_parks(weft::Runtime& runtime, std::uint64_t count, Costs& costs) {
  std::atomic<std::uint32_t> open{0};
  std::vector<weft::Unparker> parked(count);
  weft::with_nursery([&](weft::Nursery& n) {
    std::uint64_t t = now_ns(Clock::cpu);
    for (weft::Unparker& mine : parked)
      n.start([&open, &mine] {
        mine = weft::unparker();
        while (open.load() == 0) weft::park_if(open, 0);
      });
    costs.spawn = each(t, count);
    const std::uint64_t before = runtime.stats().parks;
    t = now_ns(Clock::cpu);
    while (runtime.stats().parks - before < count) weft::yield_now();
    costs.park = each(t, count);
    open.store(1);
    t = now_ns(Clock::cpu);
    for (const weft::Unparker& task : parked) task.unpark();
    costs.wake = each(t, count);
  });
}

void measure_timers(weft::Runtime& runtime, std::uint64_t count, Costs& costs) {
  weft::with_nursery([&](weft::Nursery& n) {
    for (std::uint64_t i = 0; i < count; ++i) n.start([] { weft::sleep(1h); });
    const std::uint64_t before = runtime.stats().parks;
    std::uint64_t t = now_ns(Clock::cpu);
    while (runtime.stats().parks - before < count) weft::yield_now();
    costs.timer = each(t, count);
    t = now_ns(Clock::cpu);
    n.cancel();
    costs.cancel = each(t, count);
  });
}

// All on one worker, by the time of its thread, warm at each size: pages that nobody needs for a second are given back,
// so stacks are touched right before they are measured. What first touches cost is told by sleep_1m and park_1m.
Costs costs_at(weft::Runtime& runtime, std::uint64_t count) {
  Costs costs;
  runtime.run([&] {
    measure_parks(runtime, count, costs);  // not counted
    measure_parks(runtime, count, costs);
    measure_timers(runtime, count, costs);
  });
  return costs;
}

// What the memory alone costs: a word is changed in each of the three lines of as many records, one record after the
// other. Nothing that uses a record can be faster where the caches end; three lines are what a spawn writes.
double touch_ns(std::uint64_t count) {
  struct alignas(64) Lines {
    std::uint64_t word[24];
  };
  static_assert(sizeof(Lines) == sizeof(weft::detail::TaskCore));
  std::vector<Lines> records(count);
  double best = 0;
  for (int round = 0; round < 3; ++round) {  // the first one is not counted
    const std::uint64_t t = now_ns(Clock::cpu);
    for (Lines& record : records)
      for (unsigned line = 0; line < 24; line += 8) record.word[line] += 1;
    asm volatile("" : : "r"(records.data()) : "memory");
    best = round < 2 ? each(t, count) : std::min(best, each(t, count));
  }
  return best;
}

std::vector<Reading> scale() {
  std::vector<Reading> readings;
  weft::Runtime runtime(one_worker());
  for (const auto& [count, name] :
       {std::pair<std::uint64_t, const char*>{1'000, "1k"}, {10'000, "10k"}, {100'000, "100k"}, {1'000'000, "1m"}}) {
    (void)costs_at(runtime, count);  // from here on records come in the order in which others ended
    const Costs costs = costs_at(runtime, count);
    const auto row = [&](const char* what, double value) {
      readings.push_back({std::string("scale_") + what + "_" + name, "ns", value});
    };
    row("spawn", costs.spawn);
    row("start_and_park", costs.park);
    row("wake", costs.wake);
    row("start_and_arm", costs.timer);
    row("cancel", costs.cancel);
    row("touch", touch_ns(count));
  }
  return readings;
}

double process_cpu_ns() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto ns = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
  };
  return ns(use.ru_utime) + ns(use.ru_stime);
}

// Percent of one core, over two seconds in which nothing happens.
std::vector<Reading> idle_share() {
  weft::RuntimeOptions options;
  options.workers = 2;
  weft::Runtime runtime(options);
  std::atomic<std::uint32_t> open{0};
  double share = 0;
  std::thread watcher;
  runtime.run([&] {
    std::vector<weft::Unparker> parked(100'000);
    const weft::Unparker me = weft::unparker();
    std::atomic<std::uint32_t> looked{0};
    weft::with_nursery([&](weft::Nursery& n) {
      for (weft::Unparker& mine : parked)
        n.start([&open, &mine] {
          mine = weft::unparker();
          while (open.load() == 0) weft::park_if(open, 0);
        });
      while (runtime.stats().parks < parked.size()) weft::yield_now();
      watcher = std::thread([&] {
        std::this_thread::sleep_for(500ms);
        const double before = process_cpu_ns();
        std::this_thread::sleep_for(2s);
        share = (process_cpu_ns() - before) / 2e9 * 100;
        looked.store(1);
        me.unpark();
      });
      while (looked.load() == 0) weft::park_if(looked, 0);
      open.store(1);
      for (const weft::Unparker& task : parked) task.unpark();
    });
  });
  watcher.join();
  return {{"idle_cpu_100k", "%", share}};
}

// Against ten thousand: a thousand records and stack tops stay in the second-level cache and their stacks stay warm in
// the pool, which is two to eight times cheaper for everything; the rows are there to see it.
Bar no_growth(const char* what) {
  return {"sched",
          std::string("scale ") + what + ", a million against ten thousand",
          "x",
          2.0,
          true,
          [what](const Results& results, Taken which) {
            return compared(results, which, std::string("scale_") + what + "_1m", std::string("scale_") + what + "_10k",
                            [](double a, double b) { return a / b; });
          }};
}

const Register entries[] = {
    Register(Probe{"sched", "scale", Side::weft, 3, scale, true}),
    Register(Probe{"sched", "idle_cpu_100k", Side::weft, 3, idle_share}),
    Register(no_growth("spawn")),
    Register(no_growth("start_and_park")),
    Register(no_growth("wake")),
    Register(no_growth("start_and_arm")),
    Register(no_growth("cancel")),
    Register(Bar{"sched", "an idle runtime with 100k parked tasks", "%", 0.5, true,
                 [](const Results& results, Taken which) { return value_of(results, which, "idle_cpu_100k"); }}),
};

}  // namespace
}  // namespace bench
