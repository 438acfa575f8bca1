// SPDX-License-Identifier: MIT
// Tasks that follow one another on one stack: nothing of one is left for the next.
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/detail/fiber_core.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

struct Seen {
  const void* core = nullptr;
  int uncaught = -1;
  bool handled = true;
};
Seen look() {
  return {weft::detail::current_core()->root, std::uncaught_exceptions(), std::current_exception() != nullptr};
}

struct WaitsWhenItGoes {
  ~WaitsWhenItGoes() {
    weft::shield([] { weft::sleep(10us); });
  }
};

}  // namespace

TEST_CASE("virtual core: the next task on a stack finds no exception of the one before, however that ended [HC5]") {
  const std::vector<std::pair<const char*, std::function<void()>>> ends{
      {"returned", [] {}},
      {"thrown", [] { throw std::runtime_error("x"); }},
      {"thrown across a wait",
       [] {
         const WaitsWhenItGoes waits;
         throw std::runtime_error("x");
       }},
      {"thrown from a handler",
       [] {
         try {
           throw 1;
         } catch (int) {
           weft::sleep(10us);
           throw std::runtime_error("y");
         }
       }},
      {"cancelled in a handler",
       [] {
         try {
           throw 1;
         } catch (int) {
           weft::cancel_scope();
           weft::sleep(1h);
         }
       }},
      {"a handler that waited",
       [] {
         try {
           throw 1;
         } catch (int) {
           weft::yield_now();
           weft::sleep(10us);
         }
       }},
  };
  for (const auto policy : {weft::RuntimeOptions::Policy::steal, weft::RuntimeOptions::Policy::global}) {
    weft::RuntimeOptions options = workers(1);
    options.policy = policy;
    options.in_place = false;
    weft::Runtime runtime(options);
    runtime.run([&] {
      for (const auto& [name, end] : ends) {
        int same = 0;
        for (int round = 0; round < 20; ++round) {
          const void* before = nullptr;
          auto first = weft::go([&] {
            before = look().core;
            weft::with_nursery([&](weft::Nursery&) { end(); });
          });
          first.wait();
          auto second = weft::go([] { return look(); });
          const Seen seen = second.join();
          same += seen.core == before;
          CHECK_MESSAGE(seen.uncaught == 0, name);
          CHECK_FALSE_MESSAGE(seen.handled, name);
          try {
            first.join();
          } catch (...) {
          }
        }
        CHECK_MESSAGE(same > 0, name);
      }
    });
  }
}

namespace {

// While one lives the caller's rounding may be anything.
struct KeepsRounding {
  int before = std::fegetround();
  ~KeepsRounding() { std::fesetround(before); }
};
weft::FiberOptions own_words() {
  weft::FiberOptions options;
  options.fp_words = true;
  return options;
}
struct Gate {
  std::atomic<std::uint32_t> flag{0};
  weft::Unparker waiter;
  bool waits = false;

  void wait() {
    waiter = weft::unparker();
    waits = true;
    while (flag.load() == 0) (void)weft::park_if(flag, 0);
  }
  void open() {
    flag.store(1);
    waiter.unpark();
  }
};

}  // namespace

// A worker whose task has parked inside a fiber with words of its own goes on with its thread's.
TEST_CASE("virtual core: who runs while a fiber with FP words of its own waits has the thread's words [N-005] [HC5]") {
  const KeepsRounding keeps;
  for (const int mode : {FE_TONEAREST, FE_UPWARD}) {
    std::fesetround(mode);
    weft::Runtime runtime(workers(1));
    int unmasked = -1;
    int rounding = -1;
    runtime.run([&] {
      std::fesetround(mode);
      Gate gate;
      auto other = weft::go([&] {
        weft::Fiber fiber(
            [&] {
              std::fesetround(FE_TOWARDZERO);
              gate.wait();
            },
            {}, own_words());
        (void)fiber.resume();
      });
      while (!gate.waits) weft::sleep(1ms);
      weft::sleep(1ms);  // both wait: the worker's loop runs
      unmasked = fegetexcept();
      rounding = std::fegetround();
      gate.open();
      other.join();
    });
    CHECK(unmasked == 0);
    CHECK(rounding == mode);
    CHECK(fegetexcept() == 0);
    CHECK(std::fegetround() == mode);
  }
}

TEST_CASE("virtual core: run gives its caller the FP words back, whatever tasks have done to them [N-005]") {
  const KeepsRounding keeps;
  weft::Runtime runtime(workers(1));
  runtime.run([] { std::fesetround(FE_DOWNWARD); });
  CHECK(std::fegetround() == keeps.before);
}

// One rounds upward and has a fiber with words of its own; the next on that stack goes on right after another that
// waits inside such a fiber.
TEST_CASE("virtual core: the next task on a stack finds no FP words of the one before [N-005] [HC5]") {
  if (!may_steal()) return;  // the global policy goes from task to task by the loop
  weft::Runtime runtime(workers(1));
  int same = 0;
  runtime.run([&] {
    for (int round = 0; round < 20; ++round) {
      const void* before = nullptr;
      weft::go([&] {
        before = look().core;
        std::fesetround(FE_UPWARD);
        weft::Fiber fiber([] {}, {}, own_words());
        (void)fiber.resume();
      }).join();
      Gate second;
      Gate third;
      bool on_same = false;
      int rounding = -1;
      auto next = weft::go([&] {
        on_same = look().core == before;
        second.wait();
        rounding = std::fegetround();
      });
      while (!second.waits) weft::yield_now();
      auto other = weft::go([&] {
        weft::Fiber fiber(
            [&] {
              second.open();
              third.wait();
            },
            {}, own_words());
        (void)fiber.resume();
      });
      next.join();
      same += on_same;
      CHECK(rounding == FE_TONEAREST);
      while (!third.waits) weft::yield_now();
      third.open();
      other.join();
    }
  });
  CHECK(same > 0);
}

// AddressSanitizer has a second stack beside each, of megabytes.
TEST_CASE("virtual core: what a memory tool keeps beside a stack goes with it [B5]") {
  const auto mapped = [] {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * 4096;
  };
  const auto round = [] {
    weft::run(workers(2), [] {
      weft::with_nursery([](weft::Nursery& n) {
        for (int i = 0; i < 8; ++i) n.start([] { weft::sleep(10us); });
      });
    });
  };
  for (int i = 0; i < 10; ++i) round();
  const std::size_t before = mapped();
  for (int i = 0; i < 100; ++i) round();
  CHECK(mapped() < before + (std::size_t{256} << 20));
}
