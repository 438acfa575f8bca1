// SPDX-License-Identifier: MIT
// What is woken for a worker that has enough goes elsewhere.
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/park.hpp"
#include "sched/runtime_core.hpp"
#include "sched/runtime_help.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;

TEST_CASE("divert: an inbox that is full diverts what is woken, also without sysmon [V-071]") {
  if (!may_steal()) return;  // the global policy has one queue for everybody
  RuntimeOptions options = with_workers(2);
  options.sysmon = false;
  Runtime runtime(options);
  RuntimeCore& core = runtime.core();
  constexpr unsigned sleepers = 100;
  std::vector<TaskCore*> parked(sleepers);
  std::atomic<unsigned> begun{0};
  std::atomic<unsigned> ran{0};
  std::atomic<unsigned> busy_at{~0U};
  std::atomic<bool> stop{false};
  runtime.run([&] {
    with_nursery([&](Nursery& nursery) {
      for (unsigned i = 0; i < sleepers; ++i) {
        nursery.start([&, i] {
          parked[i] = this_task();
          ++begun;
          const WaitInfo info{"a test", nullptr, nullptr};
          begin_wait(*this_task(), info, seam::no_deadline, Raise::no);
          (void)this_task()->word.begin_park();
          (void)finish_wait(*this_task(), Raise::no);
          ++ran;
        });
      }
      std::thread outside([&] {
        REQUIRE(eventually([&] { return busy_at.load() != ~0U; }));
        unsigned home = busy_at.load();
        for (TaskCore* task : parked) {
          REQUIRE(eventually([&] {
            const TaskMoment now = task->word.look();
            return now.state() == TaskState::parking && now.left();
          }));
          task->last_worker = static_cast<std::uint16_t>(home);
        }
        for (TaskCore* task : parked) REQUIRE(wake_task(task, task->word.look().ticket(), WakeReason::flag));
        CHECK(eventually([&] { return ran.load() >= sleepers - 64; }));
        CHECK(core.worker(home).inbox_size.load() > 0);
        stop = true;
      });
      nursery.start([&] {
        while (begun.load() < sleepers) yield_now();
        busy_at = this_worker()->index;
        while (!stop.load()) seam::pause();
      });
      join_children(nursery.core());
      outside.join();
    });
  });
  CHECK(ran.load() == sleepers);
}
