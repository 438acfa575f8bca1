// SPDX-License-Identifier: MIT
// What is counted and noted for people decides nothing: results are the same when it is all wiped.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/records.hpp"
#include "sched/runtime_core.hpp"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

// Spawns, parks, sleeps, yields and joins; the sum is 200 * 10 * 3.
int workload() {
  std::atomic<int> sum = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 200; ++i)
      n.start([&, i] {
        for (int round = 0; round < 10; ++round) {
          weft::with_nursery([&](weft::Nursery& inner) {
            auto child = inner.spawn([round] {
              if (round % 2 == 0) weft::yield_now();
              if (round % 5 == 0) weft::sleep(10us);
              return 1;
            });
            sum += 2 * child.join();
          });
          if (i % 7 == 0) weft::yield_now();
          ++sum;
        }
      });
  });
  return sum;
}

// Counters are atomic words and nothing else.
static_assert(sizeof(weft::detail::Tally) == sizeof(std::atomic<std::uint64_t>));
template <class Counters>
void wipe(Counters& counters) {
  static_assert(sizeof counters % sizeof(std::atomic<std::uint64_t>) == 0);
  auto* words = reinterpret_cast<std::atomic<std::uint64_t>*>(&counters);
  for (std::size_t i = 0; i < sizeof counters / sizeof *words; ++i) words[i].store(0, std::memory_order_relaxed);
}

std::int64_t number_after(const std::string& text, const std::string& name) {
  const std::string key = "\n" + name + " ";
  const std::size_t at = text.find(key);
  return at == std::string::npos ? -1 : std::stoll(text.substr(at + key.size()));
}

}  // namespace

TEST_CASE("diagnostics: counters that are zeroed at random change no result [V-025]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    const std::vector<weft::detail::Worker*> all = [&] {
      std::vector<weft::detail::Worker*> found;
      runtime.run([&] {
        for (const auto& worker : weft::detail::this_worker()->runtime->workers) found.push_back(worker.get());
      });
      return found;
    }();
    std::atomic<bool> stop = false;
    std::thread vandal([&] {
      weft::detail::Random random(7);
      while (!stop) {
        weft::detail::Worker& worker = *all[random.below(all.size())];
        wipe(worker.counters);
        wipe(worker.ran_in_place);
        std::this_thread::sleep_for(20us);
      }
    });
    int sum = 0;
    runtime.run([&] { sum = workload(); });
    stop = true;
    vandal.join();
    CHECK(sum == 6000);
  });
}

TEST_CASE(
    "diagnostics: when a task parked, and where it ran last, are notes: scrambling them changes no result [V-027]") {
  weft::Runtime runtime(workers(1));
  int sum = 0;
  int visits = 0;
  runtime.run([&] {
    std::atomic<bool> stop = false;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        weft::detail::Random random(3);
        while (!stop) {
          // On the only worker: nobody runs meanwhile.
          weft::detail::for_each_record(
              [](weft::detail::TaskCore* task, void* context) {
                auto& dice = *static_cast<weft::detail::Random*>(context);
                task->parked_at = static_cast<std::uint32_t>(dice.next());
                if (!(task->flags & weft::detail::task_pinned)) task->last_worker = 0;
              },
              &random);
          ++visits;
          weft::yield_now();
        }
      });
      sum = workload();
      stop = true;
    });
  });
  CHECK(sum == 6000);
  CHECK(visits > 10);
}

TEST_CASE(
    "diagnostics: when a task parked, and where it ran last, scrambled by a thread while many workers run change no "
    "result [V-027]") {
  if (WEFT_TSAN) return;  // the notes are plain words of whoever runs the task
  each_universe([](const Universe& u, weft::Runtime& runtime) {
    std::atomic<bool> stop = false;
    struct Vandal {
      weft::detail::Random random{11};
      unsigned workers = 0;
    } vandal{.workers = u.workers};
    std::thread thread([&] {
      while (!stop) {
        weft::detail::for_each_record(
            [](weft::detail::TaskCore* task, void* context) {
              auto& self = *static_cast<Vandal*>(context);
              volatile auto& parked_at = task->parked_at;
              volatile auto& last_worker = task->last_worker;
              parked_at = static_cast<std::uint32_t>(self.random.next());
              last_worker = static_cast<std::uint16_t>(self.random.below(self.workers));
            },
            &vandal);
        std::this_thread::sleep_for(5us);
      }
    });
    int sum = 0;
    runtime.run([&] { sum = workload(); });
    stop = true;
    thread.join();
    CHECK(sum == 6000);
  });
}

TEST_CASE("diagnostics: what is queued is counted up and down: the pressure is zero when nothing is [W-080]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    runtime.run([&] { CHECK(workload() == 6000); });
    const weft::detail::RuntimeCore* core = nullptr;
    runtime.run([&] { core = weft::detail::this_worker()->runtime; });
    CHECK(core->global.size() == 0);
    for (const auto& worker : core->workers) {
      CHECK(worker->deque.size() == 0);
      CHECK(worker->ready.size() == 0);
      CHECK(worker->inbox_size == 0);
    }
    // And sysmon's own sample says so, unless it never looked again after the last task.
    CHECK(number_after(runtime.stats_text(), "current_pressure") >= 0);
  });
  // While work waits it is above zero.
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 50; ++i) n.start([] {});
      CHECK(eventually([&] { return number_after(runtime.stats_text(), "current_pressure") == 50; }));
    });
    CHECK(eventually([&] { return number_after(runtime.stats_text(), "current_pressure") == 0; }));
  });
}

TEST_CASE(
    "diagnostics: Cancelled that leaves a noexcept function or a destructor is told, with what to do [HB1] [B15]") {
  for (const char* way : {"noexcept", "destructor"}) {
    CAPTURE(way);
    const Outcome end = run_program("cancelled", {way});
    CHECK(end.signal == SIGABRT);
    CHECK(end.says("\"the stubborn\": Cancelled raised inside noexcept: use a shield or the Result form"));
    CHECK(end.says("programs/cancelled.cpp:"));
  }
}

TEST_CASE(
    "diagnostics: the third Cancelled swallowed in one scope is told once, of the scope's owner and of each child "
    "[HA3]") {
  const std::string told = "has swallowed Cancelled three times in one scope; it was spawned at";
  const std::pair<const char*, int> ways[] = {{"own", 1}, {"child", 1}, {"many", 300}, {"two", 0}};
  for (const auto& [way, expected] : ways) {
    CAPTURE(way);
    const Outcome end = run_program("cancelled", {way});
    CHECK(end.exit_code == 0);
    int times = 0;
    for (std::size_t at = 0; (at = end.output.find(told, at)) != std::string::npos; ++at) ++times;
    CHECK(times == expected);
  }
}
