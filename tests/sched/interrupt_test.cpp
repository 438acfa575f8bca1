// SPDX-License-Identifier: MIT
// Interrupts: counted per task, seen where the task looks, never by a neighbour; and counted per runtime, for who
// catches them.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

// Runs body in a fiber that catches interrupts; returns how many came before it ended.
template <class F>
int interrupts_of(F&& body) {
  weft::Fiber fiber(body, weft::SignalSet{weft::sig::interrupt});
  int count = 0;
  (void)fiber.resume();
  while (!fiber.finished()) {
    ++count;
    (void)fiber.resume();
  }
  return count;
}

}  // namespace

TEST_CASE("interrupt: N increments from another thread are N signals, in a loop that never waits [J-103] [J-104]") {
  in_each_universe([](const Universe& u) {
    std::atomic<bool> begun = false;
    std::atomic<bool> stop = false;
    int seen = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      auto loop = u.spawn(n, [&] {
        seen = interrupts_of([&] {
          begun = true;
          while (!stop) weft::checkpoint();
          // Whatever is still pending.
          for (int i = 0; i < 20; ++i) weft::checkpoint();
        });
      });
      std::thread outside([&] {
        while (!begun) std::this_thread::yield();
        for (int i = 0; i < 10; ++i) loop.interrupt();
        stop = true;
      });
      weft::shield([&] { loop.wait(); });
      outside.join();
    });
    CHECK(seen == 10);
  });
}

TEST_CASE("interrupt: it does not wake a parked task; it is seen when that next runs [HC4]") {
  in_each_universe([](const Universe& u) {
    std::atomic<bool> woken = false;
    int seen = 0;
    std::atomic<bool> open = false;
    auto gate = weft::go([&] { until([&] { return open.load(); }); });
    weft::with_nursery([&](weft::Nursery& n) {
      auto sleeper = u.spawn(n, [&] {
        seen = interrupts_of([&] {
          gate.wait();
          woken = true;
          for (int i = 0; i < 10; ++i) weft::checkpoint();
        });
      });
      until_parked(sleeper);
      for (int i = 0; i < 3; ++i) sleeper.interrupt();
      weft::sleep(500us);
      CHECK_FALSE(woken);
      open = true;
      sleeper.wait();
    });
    CHECK(seen == 3);
  });
}

TEST_CASE("interrupt: one for a task that has not started is seen when it does [J-103]") {
  in_each_universe([](const Universe&) {
    int seen = 0;
    std::atomic<bool> sent = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto task = n.spawn([&] {
        seen = interrupts_of([&] {
          while (!sent) weft::seam::pause();  // another worker may have begun it at once
          for (int i = 0; i < 10; ++i) weft::checkpoint();
        });
      });
      task.interrupt();
      task.interrupt();
      sent = true;
      task.join();
    });
    CHECK(seen == 2);
  });
}

TEST_CASE("interrupt: raised at the very start from another thread, it is never lost [J-103]") {
  weft::Runtime runtime(workers(2));
  runtime.run([&] {
    for (int round = 0; round < 2000; ++round) {
      std::atomic<bool> sent = false;
      int seen = 0;
      auto task = weft::go([&] {
        seen = interrupts_of([&] {
          while (!sent) weft::seam::pause();
          weft::checkpoint();
          weft::checkpoint();
        });
      });
      task.interrupt();
      sent = true;
      task.wait();
      REQUIRE(seen == 1);
    }
  });
}

TEST_CASE("interrupt: of a joiner it is not taken by the child on its stack, nor the other way [HC4] [HA1.3]") {
  in_each_universe([](const Universe& u) {
    int in_child = -1;
    int in_joiner = -1;
    std::atomic<bool> child_begun = false;
    std::atomic<bool> sent = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto joiner = u.spawn(n, [&] {
        in_joiner = interrupts_of([&] {
          weft::with_nursery([&](weft::Nursery& inner) {
            auto child = u.spawn(inner, [&] {
              in_child = interrupts_of([&] {
                child_begun = true;
                until([&] { return sent.load(); });
                for (int i = 0; i < 5; ++i) weft::checkpoint();
              });
            });
            // The exit of the nursery waits for it, and raises nothing: its scope is open.
          });
          for (int i = 0; i < 5; ++i) weft::checkpoint();
        });
      });
      until([&] { return child_begun.load(); });
      joiner.interrupt();
      joiner.interrupt();
      sent = true;
      joiner.join();
    });
    CHECK(in_child == 0);
    CHECK(in_joiner == 2);
  });
}

TEST_CASE("interrupt: it is put off while a scope is open between the task and who would catch it [J-103] [HB4]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      int inside = 0;
      std::atomic<int> place = 0;  // where the task stands
      weft::Task<void> task;
      const auto interrupted_here = [&] {
        const int now = ++place;
        until([&] { return place > now; });
      };
      std::atomic<int> seen = 0;
      task = n.spawn([&] {
        weft::Fiber fiber(
            [&] {
              weft::with_nursery([&](weft::Nursery& m) {
                interrupted_here();
                auto child = u.spawn(m, [] { weft::sleep(10us); });
                child.join();
                weft::yield_now();
                weft::checkpoint();
                inside += seen;
              });
              weft::timeout(1h, [&] {
                weft::checkpoint();
                weft::sleep(1us);
                inside += seen;
              });
              weft::shield([&] {
                weft::sleep(1us);
                inside += seen;
              });
              weft::checkpoint();
            },
            weft::SignalSet{weft::sig::interrupt});
        (void)fiber.resume();
        while (!fiber.finished()) {
          ++seen;
          (void)fiber.resume();
        }
      });
      until([&] { return place == 1; });
      task.interrupt();
      ++place;
      task.join();
      CHECK(inside == 0);
      CHECK(seen == 1);
    });
  });
}

TEST_CASE("interrupt: a join is a point where it is seen, wherever the child would run [J-103] [N-018]") {
  for (const bool in_place : {true, false}) {
    CAPTURE(in_place);
    weft::RuntimeOptions options = workers(1);  // nobody takes the child meanwhile
    options.in_place = in_place;
    weft::run(options, [] {
      std::atomic<bool> begun = false;
      std::atomic<bool> sent = false;
      int seen = 0;
      weft::with_nursery([&](weft::Nursery& n) {
        auto task = n.spawn([&] {
          weft::with_nursery([&](weft::Nursery& m) {
            auto child = m.spawn([] {});
            // The catcher stands inside the nursery.
            seen = interrupts_of([&] {
              begun = true;
              while (!sent) weft::seam::pause();
              child.join();
            });
          });
        });
        std::thread outside([&] {
          while (!begun) std::this_thread::yield();
          task.interrupt();
          sent = true;
        });
        weft::shield([&] { task.wait(); });
        outside.join();
      });
      CHECK(seen == 1);
    });
  }
}

TEST_CASE("interrupt: after the end it does nothing, whatever became of the stack [HA1.1]") {
  weft::Task<int> late;
  {
    weft::Runtime runtime(workers(2));
    late = runtime.go([] {
      weft::sleep(100us);
      return 1;
    });
    late.wait();
    late.interrupt();
    CHECK(runtime.run([] {
      int seen = interrupts_of([] {
        for (int i = 0; i < 100; ++i) weft::yield_now();
      });
      return seen;
    }) == 0);
  }
  late.interrupt();
  late.cancel();
  CHECK(late.join() == 1);
}

TEST_CASE("interrupt: one that races with the end of a task never comes to who follows on its stack [HA1.1]") {
  weft::Runtime runtime(workers(1));
  std::atomic<weft::Task<int>*> target{nullptr};
  std::atomic<std::uint64_t> sent{0};
  std::atomic<bool> stop = false;
  std::atomic<bool> away = true;  // nobody holds the pointer
  std::thread outside([&] {
    while (!stop) {
      away = false;
      if (weft::Task<int>* task = target.load()) {
        task->interrupt();
        ++sent;
      }
      away = true;
    }
  });
  runtime.run([&] {
    int wrong = 0;
    for (int round = 0; round < 3000 || sent < 3000; ++round) {
      weft::Task<int> first = weft::go([] { return 1; });
      target = &first;
      // Queued behind it: it gets the stack that the first leaves.
      weft::Task<int> second = weft::go([] {
        return interrupts_of([] {
          for (int i = 0; i < 5; ++i) weft::checkpoint();
        });
      });
      first.wait();
      wrong += second.join();
      target = nullptr;
      while (!away) weft::seam::pause();
    }
    CHECK(wrong == 0);
  });
  stop = true;
  outside.join();
}

TEST_CASE("interrupt: N of the runtime are N signals in all, in loops that never wait [J-103] [J-104] [INT-1]") {
  each_universe([](const Universe& u, weft::Runtime& runtime) {
    runtime.run([&] {
      std::atomic<int> begun = 0;
      std::atomic<bool> stop = false;
      std::atomic<int> seen = 0;
      const int loops = static_cast<int>(u.workers);
      weft::with_nursery([&](weft::Nursery& n) {
        std::vector<weft::Task<void>> all;
        for (int i = 0; i < loops; ++i) {
          all.push_back(n.spawn([&] {
            seen += interrupts_of([&] {
              ++begun;
              while (!stop) weft::checkpoint();
              // Whatever is still pending.
              for (int j = 0; j < 20; ++j) weft::checkpoint();
            });
          }));
        }
        std::thread outside([&] {
          while (begun == 0) std::this_thread::yield();
          for (int i = 0; i < 10; ++i) runtime.interrupt();
          stop = true;
        });
        weft::shield([&] {
          for (auto& each : all) each.wait();
        });
        outside.join();
      });
      CHECK(seen == 10);
    });
  });
}

TEST_CASE("interrupt: of the runtime it is for who catches it, and pending until somebody does [J-103] [INT-1]") {
  each_universe([](const Universe& u, weft::Runtime& runtime) {
    runtime.run([&] {
      for (int i = 0; i < 3; ++i) runtime.interrupt();
      // Nobody catches it here: nothing happens, at every kind of point.
      weft::with_nursery([&](weft::Nursery& n) {
        u.spawn(n, [] {
           weft::checkpoint();
           weft::yield_now();
           weft::sleep(10us);
           weft::Fiber other([] { weft::checkpoint(); }, weft::SignalSet{weft::sig::error});
           (void)other.resume();
           CHECK(other.finished());
         }).join();
        // Its own stack, or one that others have used.
        CHECK(u.spawn(n, [] { return interrupts_of([] { weft::checkpoint(); }); }).join() == 1);
      });
      // At a resume, at an emit, at a wait.
      CHECK(interrupts_of([] {
              weft::Fiber inner([] {}, weft::SignalSet{weft::sig::error});
              (void)inner.resume();
            }) == 1);
      CHECK(interrupts_of([] { weft::sleep(10us); }) == 1);
      CHECK(interrupts_of([] {
              for (int i = 0; i < 100; ++i) weft::checkpoint();
            }) == 0);
    });
  });
}

TEST_CASE("interrupt: of the runtime it wakes nobody; it is seen by who next runs [HC4]") {
  each_universe([](const Universe& u, weft::Runtime& runtime) {
    runtime.run([&] {
      std::atomic<bool> woken = false;
      std::atomic<bool> open = false;
      int seen = 0;
      auto gate = weft::go([&] { until([&] { return open.load(); }); });
      weft::with_nursery([&](weft::Nursery& n) {
        auto sleeper = u.spawn(n, [&] {
          seen = interrupts_of([&] {
            gate.wait();
            woken = true;
            for (int i = 0; i < 10; ++i) weft::checkpoint();
          });
        });
        until_parked(sleeper);
        for (int i = 0; i < 3; ++i) runtime.interrupt();
        weft::sleep(500us);
        CHECK_FALSE(woken);
        open = true;
        sleeper.wait();
      });
      CHECK(seen == 3);
    });
  });
}

TEST_CASE("interrupt: of the runtime each is taken once, while stacks that listen come and go [J-103] [INT-3]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    constexpr int raised = 400;
    std::atomic<int> left = raised;
    std::atomic<int> seen = 0;
    std::thread outside([&] {
      for (; left > 0; --left) {
        runtime.interrupt();
        std::this_thread::yield();
      }
    });
    runtime.run([&] {
      while (left > 0 || seen < raised) {
        weft::with_nursery([&](weft::Nursery& n) {
          for (int i = 0; i < 4; ++i) {
            // A stack of its own size is not kept for the next.
            const std::size_t size = i % 2 == 0 ? 64 * 1024 : 1024 * 1024;
            (void)n.spawn(
                [&] {
                  seen += interrupts_of([] {
                    for (int j = 0; j < 5; ++j) weft::checkpoint();
                    weft::yield_now();
                  });
                },
                {.stack_size = size});
          }
        });
      }
    });
    outside.join();
    CHECK(seen == raised);
  });
}

TEST_CASE("interrupt: of one runtime it is not seen in another [J-103]") {
  weft::Runtime other(workers(1));
  other.interrupt();
  weft::run([] {
    CHECK(interrupts_of([] {
            for (int i = 0; i < 10; ++i) weft::checkpoint();
          }) == 0);
  });
  CHECK(other.run([] { return interrupts_of([] { weft::checkpoint(); }); }) == 1);
}
