// SPDX-License-Identifier: MIT
// Children without a handle are filled in when they begin [TASK-6], and run in place in one loop by their nursery's
// end. Nothing of one may be seen by the next, and what they leave behind is that of any task [PLACE-1] [PLACE-2].
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/runtime_core.hpp"
#include "sched/task_view.hpp"
#include "sched/universe.hpp"
#include "weft/deadlock.hpp"
#include "weft/dyn.hpp"
#include "weft/fiber.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/task_local.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

constexpr int children = 12;

// Is one pending here? Then it is taken.
bool takes_interrupt() {
  weft::Fiber fiber(
      [](weft::Payload) {
        weft::checkpoint();
        return weft::Payload();
      },
      weft::SignalSet{weft::sig::interrupt});
  const bool taken = fiber.resume().bits.contains(weft::sig::interrupt);
  if (taken) (void)fiber.resume();
  return taken;
}

}  // namespace

TEST_CASE("started: each child has a number, a binding and a local of its own, wherever it runs [N-011] [N-018]") {
  static const weft::Dyn<int> level{"level of a started child"};
  static weft::TaskLocal<int> local;
  in_each_universe([](const Universe&) {
    std::atomic<int> clean{0};
    std::vector<std::uint64_t> numbers(children);
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < children; ++i)
        n.start([&, i] {
          clean += !level.bound() && local.find() == nullptr;
          if (i % 3 == 0) numbers[static_cast<std::size_t>(i)] = weft::current_task_id();
          if (i % 3 == 1) level.set(i);
          if (i % 4 == 2) local.set(i);
        });
    });
    CHECK(clean == children);
    std::set<std::uint64_t> different;
    for (int i = 0; i < children; i += 3) different.insert(numbers[static_cast<std::size_t>(i)]);
    CHECK(different.size() == children / 3);
    CHECK(different.count(0) == 0);
    CHECK(different.count(weft::current_task_id()) == 0);
  });
}

TEST_CASE("started: an unparker of one child is none of the next [V-040]") {
  if (!may_steal()) return;
  weft::Runtime runtime(workers(1));
  runtime.run([] {
    weft::Unparker former;
    const std::atomic<std::uint32_t> flag{0};
    weft::WaitOutcome outcome{};
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {  // the older: it runs second
        former.unpark();
        outcome = weft::park_if_for(flag, 0, 1ms);
      });
      n.start([&] { former = weft::unparker(); });
    });
    CHECK(outcome == weft::WaitOutcome::timed_out);
  });
}

TEST_CASE("started: who ends with a mutex locked is not taken for the next one") {
  if (!may_steal() || emulated()) return;  // an emulator has threads of its own, so that nobody is alone
  weft::Runtime runtime(workers(1));
  std::string report;
  try {
    runtime.run([] {
      weft::Mutex mutex;
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] { mutex.lock(); });
        n.start([&] { mutex.lock(); });  // runs first, and forgets it
      });
    });
  } catch (const weft::Deadlock& deadlock) {
    report = deadlock.what();
  }
  CHECK(report.find("lock") != std::string::npos);
  CHECK(report.find("cycle") == std::string::npos);
}

TEST_CASE("in place: what was not joined has its result for who keeps the handle, after the nursery's end [N-011]") {
  in_each_universe([](const Universe&) {
    std::vector<weft::Task<std::string>> kept;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < children; ++i) {
        kept.push_back(n.spawn([i] { return "child " + std::to_string(i) + " with a text that is long enough"; }));
        n.start([] {});
      }
    });
    weft::with_nursery([](weft::Nursery& n) {  // others use records meanwhile
      for (int i = 0; i < 2 * children; ++i) n.start([] {});
    });
    for (std::size_t i = 0; i < kept.size(); ++i)
      CHECK(kept[i].join() == "child " + std::to_string(i) + " with a text that is long enough");
  });
}

TEST_CASE("in place: who took an interrupt there goes on as fast as before") {
  if (!may_run_in_place()) return;
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        weft::interrupter().interrupt();
        CHECK(takes_interrupt());
        const auto before = runtime.stats().in_place;
        weft::with_nursery([&](weft::Nursery& inner) {
          for (int i = 0; i < children; ++i) CHECK(inner.spawn([i] { return i; }).join() == i);
        });
        CHECK(runtime.stats().in_place - before == children);
      });
    });
  });
}

TEST_CASE("in place: an interrupt of the joiner that the child has seen is his when he goes on [J-103]") {
  if (!may_steal()) return;
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    const weft::Interrupter joiner = weft::interrupter();
    int in_child = 0;
    weft::Fiber fiber(
        [&](weft::Payload) {
          weft::with_nursery([&](weft::Nursery& n) {
            n.start([&] {
              joiner.interrupt();
              in_child += takes_interrupt();
            });
          });
          weft::checkpoint();
          return weft::Payload();
        },
        weft::SignalSet{weft::sig::interrupt});
    CHECK(fiber.resume().bits.contains(weft::sig::interrupt));
    CHECK(in_child == 0);
    (void)fiber.resume();
  });
}

TEST_CASE("started: an interrupt that one child did not take is not raised in the next [J-103]") {
  in_each_universe([](const Universe&) {
    std::atomic<int> seen{0};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < children; ++i)
        n.start([&] {
          seen += takes_interrupt();
          weft::interrupter().interrupt();
        });
    });
    CHECK(seen == 0);
  });
}

TEST_CASE("started: one that waits among calls, one that yields and one that nests end like the others [N-011]") {
  in_each_universe([](const Universe&) {
    std::atomic<int> sum{0};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < children; ++i)
        n.start([&, i] {
          if (i == 3) weft::sleep(1ms);
          if (i == 5) weft::yield_now();
          if (i == 7)
            weft::with_nursery([&](weft::Nursery& inner) {
              for (int k = 0; k < 4; ++k)
                inner.start([&sum, k] {
                  if (k == 2) weft::sleep(100us);
                  sum += 100;
                });
            });
          sum += i;
        });
    });
    CHECK(sum == children * (children - 1) / 2 + 400);
  });
}

TEST_CASE("started: the first failure comes out, and who has not begun never runs") {
  in_each_universe([](const Universe& u) {
    std::atomic<int> ran{0};
    auto held = std::make_shared<int>(0);  // by each closure
    CHECK_THROWS_WITH_AS(weft::with_nursery([&](weft::Nursery& n) {
                           for (int i = 0; i < children; ++i)
                             n.start([&ran, held, i] {
                               ++ran;
                               if (i == children - 3) throw std::runtime_error("the third from the end");
                             });
                         }),
                         "the third from the end", std::runtime_error);
    CHECK(held.use_count() == 1);
    if (u.workers == 1 && u.policy == weft::RuntimeOptions::Policy::steal && u.mode == Mode::in_place) CHECK(ran == 3);
  });
}

TEST_CASE("started: what a child returns dies with it") {
  in_each_universe([](const Universe&) {
    auto held = std::make_shared<int>(0);
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < children; ++i) n.start([held] { return held; });
    });
    CHECK(held.use_count() == 1);
  });
}

TEST_CASE("started: all are counted, once, as tasks and as run in place") {
  if (!may_run_in_place()) return;
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    const weft::RuntimeStats before = runtime.stats();
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < children; ++i)
        n.start([i] {
          if (i == 4) (void)weft::current_task_id();  // so it stands out
        });
    });
    const weft::RuntimeStats after = runtime.stats();
    CHECK(after.started - before.started == children);
    CHECK(after.finished - before.finished == children);
    CHECK(after.in_place - before.in_place == children);
  });
}

TEST_CASE("started: who joins is RUNNING while the child is a call, and JOINING once it has waited [N-018]") {
  if (!may_run_in_place()) return;
  using weft::detail::TaskState;
  weft::RuntimeOptions options = workers(1);
  weft::Runtime runtime(options);
  const bool flat = runtime.core().worker(0).flat;  // else each join in place is marked
  runtime.run([flat] {
    const weft::detail::TaskCore* joiner = weft::detail::this_task();
    TaskState before{};
    TaskState after{};
    bool other = false;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        other = weft::detail::this_task() != joiner;
        before = joiner->word.look().state();
        weft::sleep(10us);
        after = joiner->word.look().state();
      });
    });
    CHECK(other);
    CHECK(before == (flat ? TaskState::running : TaskState::joining));
    CHECK(after == TaskState::joining);
    CHECK(joiner->word.look().state() == TaskState::running);
    CHECK(weft::detail::this_task() == joiner);
  });
}
