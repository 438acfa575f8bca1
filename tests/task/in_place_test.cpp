// SPDX-License-Identifier: MIT
// A child that its joiner finds unstarted runs on the joiner's stack. Nothing else may tell that it did.
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/dyn.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/task_local.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

TEST_CASE("in place: an unstarted child runs on its joiner's stack, and is counted [N-011]") {
  if (!may_run_in_place()) return;
  for (const bool allowed : {true, false}) {
    weft::RuntimeOptions options = workers(1);
    options.in_place = allowed;
    weft::Runtime runtime(options);
    int joined = 0;
    runtime.run([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        for (int i = 0; i < 10; ++i) joined += n.spawn([i] { return i; }).join();
        for (int i = 0; i < 10; ++i) n.start([] {});
      });
    });
    CHECK(joined == 45);
    CHECK(runtime.stats().in_place == (allowed ? 20 : 0));
  }
}

TEST_CASE("in place: a child that parks, fails, is cancelled or is stolen ends its join alike [N-011] [N-018]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      auto parks = u.spawn(n, [] {
        weft::sleep(1ms);
        return 1;
      });
      CHECK(parks.join() == 1);
      auto yields = u.spawn(n, [] {
        for (int i = 0; i < 5; ++i) weft::yield_now();
        return 2;
      });
      CHECK(yields.join() == 2);
      auto nests = u.spawn(n, [&] {
        return weft::with_nursery([&](weft::Nursery& inner) { return u.spawn(inner, [] { return 3; }).join(); });
      });
      CHECK(nests.join() == 3);
    });
    CHECK_THROWS_WITH_AS(weft::with_nursery([&](weft::Nursery& n) {
                           auto fails = u.spawn(n, []() -> int { throw std::runtime_error("no"); });
                           (void)fails.join();
                         }),
                         "no", std::runtime_error);
    weft::with_nursery([&](weft::Nursery& n) {
      auto stops = u.spawn(n, [] { weft::sleep(1h); });
      stops.cancel();
      CHECK_THROWS_AS(stops.join(), weft::Cancelled);
      CHECK(stops.status() == weft::TaskStatus::cancelled);
    });
  });
}

TEST_CASE("in place: a handle that is used up brings the same result, whatever the child did before [N-011] [N-018]") {
  static const weft::Dyn<int> level{"level of one that is used up"};
  static weft::TaskLocal<int> local;
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      CHECK(u.spawn(n, [] { return 1; }).join() == 1);
      CHECK(u.spawn(n, [] { return weft::sleep(1ms), 2; }).join() == 2);
      CHECK(u.spawn(n, [] { return weft::yield_now(), 3; }).join() == 3);
      CHECK(u.spawn(n, [&] { return *local = 4; }).join() == 4);
      CHECK(u.spawn(n, [] { return std::string(100, 'x'); }).join().size() == 100);
      // A child of its own waits on the same stack, which may go on elsewhere.
      CHECK(u.spawn(n, [&] {
               weft::with_nursery([&](weft::Nursery& inner) { u.spawn(inner, [] { weft::sleep(1ms); }).join(); });
               return 5;
             }).join() == 5);
      CHECK(n.spawn([] { return 6; }, weft::TaskOptions{.name = "named"}).join() == 6);
      try {
        throw 7;
      } catch (int seven) {
        CHECK(u.spawn(n, [seven] { return std::current_exception() == nullptr ? seven : 0; }).join() == 7);
      }
      CHECK(u.spawn(n, [] { return level.set(9), 8; }).join() == 8);
      CHECK(level.get_or(0) == 0);
      int ended = 0;
      u.spawn(n, [&] { ++ended; }).join();
      CHECK(ended == 1);
    });
  });
}

TEST_CASE("in place: a join that throws throws what the child threw, wherever it ran [N-018]") {
  struct Mine {};
  in_each_universe([](const Universe& u) {
    for (int round = 0; round < 20; ++round) {
      std::string seen;
      bool asked = false;
      try {
        weft::with_nursery([&](weft::Nursery& n) {
          auto fails = u.spawn(n, [&]() -> int {
            if (u.mode == Mode::stolen) compute_for(20us);
            throw Mine{};
          });
          try {
            (void)fails.join();
          } catch (const Mine&) {
            seen = "its own";
          } catch (const weft::Cancelled&) {
            seen = "cancelled";
          }
          // Where the child ran elsewhere, its end is seen first and its siblings are asked right after.
          const auto end = std::chrono::steady_clock::now() + 60s;
          while (!(asked = n.cancelled()) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        });
      } catch (const Mine&) {
        seen += ", nursery too";
      }
      CHECK(seen == "its own, nursery too");
      CHECK(asked);
    }
  });
}

TEST_CASE("in place: a joiner with a narrower scope leaves in time [HA4.1]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      auto slow = u.spawn(n, [] { weft::sleep(1h); });
      CHECK_FALSE(weft::timeout(2ms, [&] { slow.wait(); }));
      CHECK_FALSE(slow.wait_for(1ms));
      CHECK_FALSE(slow.done());
      slow.cancel();
    });
  });
}

TEST_CASE("in place: signals of a child end at its own boundary [HA4.2]") {
  in_each_universe([](const Universe& u) {
    std::vector<int> out;
    std::string uncaught;
    weft::Generator<int> generator([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        auto child = u.spawn(n, [&] {
          try {
            weft::yield(7);
          } catch (const weft::UncaughtSignal&) {
            uncaught = "uncaught";
          }
        });
        child.join();
      });
      weft::yield(8);
    });
    for (const int x : generator) out.push_back(x);
    CHECK(out == std::vector<int>{8});
    CHECK(uncaught == "uncaught");
  });
}

TEST_CASE("in place: a join while unwinding does not lend its exceptions to the child [HA4.3]") {
  in_each_universe([](const Universe& u) {
    int uncaught_in_child = -1;
    bool current_in_child = true;
    struct Joiner {
      const Universe& u;
      int& uncaught;
      bool& current;
      ~Joiner() {
        weft::with_nursery([&](weft::Nursery& n) {
          u.spawn(n, [&] {
             uncaught = std::uncaught_exceptions();
             current = std::current_exception() != nullptr;
             weft::sleep(1ms);
             uncaught += std::uncaught_exceptions();
           }).join();
        });
        CHECK(std::uncaught_exceptions() == 1);
      }
    };
    try {
      const Joiner joiner{u, uncaught_in_child, current_in_child};
      throw 1;
    } catch (int) {
      CHECK(uncaught_in_child == 0);
      CHECK_FALSE(current_in_child);
      uncaught_in_child = -1;
      current_in_child = true;
      weft::with_nursery([&](weft::Nursery& n) {
        u.spawn(n, [&] { current_in_child = std::current_exception() != nullptr; }).join();
      });
      CHECK_FALSE(current_in_child);
      CHECK(std::current_exception() != nullptr);
    }
  });
}

TEST_CASE("in place: a child is cancellable although its joiner unwinds [HA4.3]") {
  in_each_universe([](const Universe& u) {
    bool cancelled = false;
    struct Joiner {
      const Universe& u;
      bool& cancelled;
      ~Joiner() {
        weft::Task<void> child;  // used by a child
        weft::with_nursery([&](weft::Nursery& n) {
          child = u.spawn(n, [&] {
            try {
              weft::sleep(1h);
            } catch (const weft::Cancelled&) {
              cancelled = true;
              throw;
            }
          });
          n.start([&] {
            until_parked(child);
            n.cancel();
          });
        });
      }
    };
    try {
      const Joiner joiner{u, cancelled};
      throw 1;
    } catch (int) {
      CHECK(cancelled);
    }
  });
}

TEST_CASE("in place: bindings are those of the spawn, not of the join [HA4.3]") {
  static const weft::Dyn<int> level{"level"};
  in_each_universe([](const Universe& u) {
    int seen = -1;
    int after = -1;
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        seen = level.get_or(0);
        level.set(9);
      });
      level.set(5);
      child.join();
      after = level.get_or(0);
    });
    CHECK(seen == 0);
    CHECK(after == 5);
    level.unset();
  });
}

TEST_CASE("in place: a child starts with the default rounding mode, its joiner keeps its own [HA4.3] [HC5]") {
  in_each_universe([](const Universe& u) {
    int in_child = -1;
    int after = -1;
    weft::FiberOptions options;
    options.fp_words = true;
    weft::Fiber fiber(
        [&] {
          weft::with_nursery([&](weft::Nursery& n) {
            auto child = u.spawn(n, [&] {
              in_child = std::fegetround();
              weft::yield_now();
              in_child |= std::fegetround();
            });
            std::fesetround(FE_UPWARD);
            child.join();
            after = std::fegetround();
          });
          std::fesetround(FE_TONEAREST);
        },
        {}, options);
    (void)fiber.resume();
    CHECK(in_child == FE_TONEAREST);
    CHECK(after == FE_UPWARD);
  });
}

TEST_CASE("in place: a mutex that the joiner holds is not the child's, and stays the joiner's [HA4.4]") {
  in_each_universe([](const Universe& u) {
    weft::Mutex mutex;
    bool tried = true;
    bool waited = true;
    bool got = false;
    weft::with_nursery([&](weft::Nursery& n) {
      const std::lock_guard guard(mutex);
      auto child = u.spawn(n, [&] {
        tried = mutex.try_lock();
        waited = mutex.lock_for(1ms);
        return 1;
      });
      CHECK(child.join() == 1);
      CHECK_FALSE(mutex.try_lock());
    });
    CHECK_FALSE(tried);
    CHECK_FALSE(waited);
    // The other way: what a child has locked stays the child's, not its joiner's.
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        const std::lock_guard guard(mutex);
        weft::sleep(1ms);
        got = true;
      });
      child.join();
      CHECK(mutex.try_lock());
      mutex.unlock();
    });
    CHECK(got);
  });
}

TEST_CASE("in place: a child with a stack of its own size gets it [HA4.5]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      weft::TaskOptions options;
      options.stack_size = 2u << 20;
      auto deep = u.spawn(
          n,
          [] {
            volatile char big[1u << 20];
            big[0] = 1;
            big[sizeof big - 1] = 2;
            return big[0] + big[sizeof big - 1];
          },
          options);
      CHECK(deep.join() == 3);
    });
  });
}

TEST_CASE("in place: a joiner that has used half of its stack waits instead [HA4.5]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    const std::uint64_t before = runtime.stats().in_place;
    const weft::detail::Slot slot = weft::detail::current_core()->slot;
    const std::size_t half = (slot.ceiling() - slot.floor()) / 2;
    weft::with_nursery([&](weft::Nursery& n) {
      auto* mine = static_cast<volatile char*>(__builtin_alloca(half));
      mine[0] = 1;
      n.spawn([half] {
         auto* its = static_cast<volatile char*>(__builtin_alloca(half));
         its[0] = 2;
         CHECK(its[0] == 2);
       }).join();
      CHECK(mine[0] == 1);
    });
    CHECK(runtime.stats().in_place == before);
  });
}

TEST_CASE("in place: not for a joiner with a strand, a pin or a stack of its own [HA4.7]") {
  weft::Runtime runtime(workers(2));
  runtime.run([&] {
    weft::Strand strand;
    weft::TaskOptions pinned;
    pinned.pinned = true;
    weft::TaskOptions serial;
    serial.strand = &strand;
    weft::TaskOptions roomy;
    roomy.stack_size = 1u << 20;
    for (const weft::TaskOptions& options : {pinned, serial, roomy}) {
      const std::uint64_t before = runtime.stats().in_place;
      weft::with_nursery([&](weft::Nursery& n) {
        auto joiner = n.spawn(
            [] {
              int sum = 0;
              weft::with_nursery([&](weft::Nursery& inner) {
                for (int i = 0; i < 4; ++i) sum += inner.spawn([i] { return i; }).join();
              });
              return sum;
            },
            options);
        CHECK(joiner.join() == 6);
      });
      CHECK(runtime.stats().in_place == before);
    }
  });
}

TEST_CASE("in place: joins in spawn order work, only the youngest entry is looked at [HA4.8]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<int>> tasks;
      for (int i = 0; i < 50; ++i) tasks.push_back(u.spawn(n, [i] { return i; }));
      for (int i = 0; i < 50; ++i) CHECK(tasks[static_cast<std::size_t>(i)].join() == i);
    });
  });
}

TEST_CASE("in place: a joiner does not run a task that waits for it [HA4.8]") {
  // X waits for what J does after its join of A. If J helped with X while it waits for A, nobody would go on.
  in_each_universe([](const Universe& u) {
    std::atomic<bool> released = false;
    weft::with_nursery([&](weft::Nursery& outer) {
      weft::with_nursery([&](weft::Nursery& n) {
        auto a = u.spawn(n, [] { weft::sleep(1ms); });
        outer.start([&] {
          while (!released) weft::sleep(100us);
        });
        a.join();
      });
      released = true;
    });
    CHECK(released);
  });
}

TEST_CASE("in place: the child is the current task, with its own id and name [HA1.3]") {
  in_each_universe([](const Universe& u) {
    const std::uint64_t mine = weft::current_task_id();
    std::uint64_t seen = 0;
    std::uint64_t again = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        seen = weft::current_task_id();
        weft::yield_now();
        again = weft::current_task_id();
      });
      child.join();
      CHECK(seen == child.id());
      CHECK(again == child.id());
    });
    CHECK(weft::current_task_id() == mine);
    CHECK(seen != mine);
  });
}

TEST_CASE("in place: cancelling the joiner reaches a child that is parked on its stack [HA1.3] [HA4.1]") {
  in_each_universe([](const Universe& u) {
    std::atomic<bool> child_begun = false;
    bool child_stopped = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto joiner = u.spawn(n, [&] {
        weft::with_nursery([&](weft::Nursery& inner) {
          auto child = u.spawn(inner, [&] {
            child_begun = true;
            try {
              weft::sleep(1h);
            } catch (const weft::Cancelled&) {
              child_stopped = true;
              throw;
            }
          });
          child.join();
        });
      });
      until([&] { return child_begun.load(); });
      joiner.cancel();
      joiner.wait();
    });
    CHECK(child_stopped);
  });
}
