// SPDX-License-Identifier: MIT
// The cleanup of defer and with in a task, and destructors while a stack unwinds: neither cancellation nor a deadline
// nor an interrupt from outside reaches into them; nothing of it is lost.
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/scope.hpp"
#include "weft/sugar.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

// One of each: a park with and without a timer, a yield, a nursery with a child that waits, a join.
void wait_in_all_ways(const Universe& u) {
  weft::sleep(100us);
  weft::yield_now();
  weft::with_nursery([&](weft::Nursery& n) {
    auto child = u.spawn(n, [] { weft::sleep(50us); });
    child.join();
    n.start([] { weft::sleep(50us); });
  });
  weft::checkpoint();
  CHECK_FALSE(weft::cancel_requested());
}

bool raises_cancelled(const std::function<void()>& act) {
  try {
    act();
  } catch (const weft::Cancelled&) {
    return true;
  }
  return false;
}

int uncaught_interrupts() {
  int count = 0;
  for (int i = 0; i < 10; ++i) {
    try {
      weft::checkpoint();
    } catch (const weft::UncaughtSignal& signal) {
      CHECK(signal.event.bits == weft::sig::interrupt);
      ++count;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("cleanup: of a cancelled defer or with it may wait, and runs to its end [HB1]") {
  in_each_universe([](const Universe& u) {
    struct Connection {
      const Universe* u;
      int* closed;
      void close() const {
        wait_in_all_ways(*u);
        ++*closed;
      }
    };
    int cleaned = 0;
    int closed = 0;
    int ended = 0;
    for (const bool by_handle : {true, false}) {
      weft::with_nursery([&](weft::Nursery& n) {
        auto child = u.spawn(n, [&] {
          CHECK(raises_cancelled([&] {
            weft::defer(
                [&] {
                  wait_in_all_ways(u);
                  ++cleaned;
                },
                [&] { weft::with(Connection{&u, &closed}, [](const Connection&) { weft::sleep(1h); }); });
          }));
          ++ended;
          CHECK(raises_cancelled([] { weft::sleep(1h); }));  // what was asked is asked still
        });
        until_parked(child);
        by_handle ? child.cancel() : n.cancel();
      });
    }
    CHECK(cleaned == 2);
    CHECK(closed == 2);
    CHECK(ended == 2);
  });
}

TEST_CASE("cleanup: after a body that returned, too: what is asked meanwhile is raised at the next point [HB1]") {
  in_each_universe([](const Universe& u) {
    bool cleaned = false;
    bool told = false;
    weft::with_nursery([&](weft::Nursery& n) {
      std::atomic<bool> cancelled = false;
      auto child = u.spawn(n, [&] {
        const int result = weft::defer(
            [&] {
              until([&] { return cancelled.load(); });
              wait_in_all_ways(u);
              cleaned = true;
            },
            [] { return 5; });
        CHECK(result == 5);
        told = raises_cancelled([] { weft::yield_now(); });
      });
      until_parked(child);
      child.cancel();
      cancelled = true;
      child.wait();
    });
    CHECK(cleaned);
    CHECK(told);
  });
}

TEST_CASE("cleanup: a deadline around it does not reach it, one inside of it does [HB1] [N-020]") {
  in_each_universe([](const Universe& u) {
    bool cleaned = false;
    CHECK_FALSE(weft::timeout(1ms, [&] {
      weft::defer(
          [&] {
            CHECK(weft::time_left() == std::chrono::nanoseconds::max());
            CHECK_FALSE(weft::timeout(500us, [] { weft::sleep(1h); }));
            wait_in_all_ways(u);
            // And a failure in a nursery of its own stops those beside it.
            CHECK_THROWS_AS(weft::with_nursery([&](weft::Nursery& n) {
                              n.start([] { weft::sleep(1h); });
                              n.start([] { throw std::runtime_error("x"); });
                            }),
                            std::runtime_error);
            cleaned = true;
          },
          [] { weft::sleep(1h); });
    }));
    CHECK(cleaned);
  });
}

TEST_CASE("cleanup: inside of a cleanup, in a fiber of its own, and one that throws [HB1]") {
  in_each_universe([](const Universe& u) {
    std::string log;
    std::string failure;
    bool told = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        weft::Fiber fiber(
            [&] {
              weft::defer(
                  [&] {
                    weft::defer(
                        [&] {
                          wait_in_all_ways(u);
                          log += "a";
                        },
                        [&] {
                          wait_in_all_ways(u);
                          log += "b";
                        });
                    wait_in_all_ways(u);
                    log += "c";
                    throw std::runtime_error("while cleaning");
                  },
                  [] { weft::sleep(1h); });
            },
            weft::Mask("e"));
        const weft::Event& event = fiber.resume();
        REQUIRE(event.bits == weft::sig::error);
        try {
          std::rethrow_exception(event.value.as<std::exception_ptr>());
        } catch (const std::runtime_error& error) {
          failure = error.what();
        }
        // It ended by an exception: the shield is gone all the same.
        told = raises_cancelled([] { weft::sleep(1h); });
      });
      until_parked(child);
      child.cancel();
    });
    CHECK(log == "bac");
    CHECK(failure == "while cleaning");
    CHECK(told);
  });
}

TEST_CASE("cleanup: its children are not cancelled; its joiner's cleanup does not shield a child [HB1] [HA1.3]") {
  in_each_universe([](const Universe& u) {
    int ran = 0;
    bool child_told = false;
    std::atomic<bool> begun = false;
    std::atomic<int> interrupted = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      auto task = u.spawn(n, [&] {
        weft::defer(
            [&] {
              weft::with_nursery([&](weft::Nursery& inner) {
                u.spawn(inner, [&] {
                   weft::sleep(50us);
                   ++ran;
                 }).join();
                auto child = u.spawn(inner, [&] {
                  begun = true;
                  while (interrupted < 2) {
                    try {
                      weft::sleep(20us);
                    } catch (const weft::UncaughtSignal&) {
                      ++interrupted;
                    }
                  }
                  child_told = raises_cancelled([] { weft::sleep(1h); });
                });
                auto asker = weft::go([&] {
                  until([&] { return begun.load(); });
                  child.interrupt();
                  child.interrupt();
                  until([&] { return interrupted == 2; });
                  child.cancel();
                });
                (void)raises_cancelled([&] { child.join(); });
                asker.wait();
              });
            },
            [] { weft::sleep(1h); });
      });
      until_parked(task);
      task.cancel();
    });
    CHECK(ran == 1);
    CHECK(interrupted == 2);
    CHECK(child_told);
  });
}

TEST_CASE("cleanup: a fiber may be suspended in it, and is shielded again in whichever task goes on with it [HB1]") {
  in_each_universe([](const Universe& u) {
    std::string log;
    // Its bindings are its own, so that another thread may resume it.
    weft::Fiber fiber(
        [&] {
          weft::Fiber inner(
              [&] {
                weft::defer(
                    [&] {
                      log += "a";
                      weft::yield(1);
                      wait_in_all_ways(u);
                      log += "b";
                      weft::yield(2);
                      wait_in_all_ways(u);
                      log += "c";
                    },
                    [] {});
              },
              weft::Mask("ep"));
          (void)inner.resume();
        },
        weft::Mask("yep"));
    CHECK(fiber.resume().value.as<int>() == 1);
    weft::sleep(10us);
    // Not shielded while it is suspended.
    CHECK_FALSE(weft::timeout(100us, [&] { weft::sleep(1h); }));
    bool told = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto task = u.spawn(n, [&] {
        CHECK(raises_cancelled([] { weft::sleep(1h); }));
        CHECK(fiber.resume().value.as<int>() == 2);
        told = raises_cancelled([] { weft::yield_now(); });
      });
      until_parked(task);
      task.cancel();
    });
    CHECK(told);
    CHECK(log == "ab");
    CHECK(fiber.resume().ok());
    CHECK(log == "abc");

    // And it is killed there, in the middle of its cleanup.
    bool after = false;
    {
      weft::Fiber victim([&] {
        weft::defer(
            [&] {
              weft::yield(1);
              after = true;
            },
            [] {});
      });
      CHECK(victim.resume().value.as<int>() == 1);
    }
    CHECK_FALSE(after);
    CHECK_FALSE(weft::timeout(100us, [&] { weft::sleep(1h); }));
  });
}

TEST_CASE(
    "cleanup: a killed body runs its destructors, which may wait under cancel, and not its cleanup [HB1] [E-018]") {
  in_each_universe([](const Universe& u) {
    bool cleaned = false;
    bool destroyed = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto task = u.spawn(n, [&] {
        struct Guard {
          const Universe& u;
          bool& destroyed;
          ~Guard() {
            weft::defer([] { weft::sleep(50us); }, [] { weft::sleep(50us); });
            destroyed = true;
          }
        };
        weft::Fiber fiber([&] {
          weft::defer([&] { cleaned = true; },
                      [&] {
                        const Guard guard{u, destroyed};
                        weft::yield();
                      });
        });
        (void)fiber.resume();
        CHECK(raises_cancelled([] { weft::sleep(1h); }));
        fiber.kill();
        CHECK(uncaught_interrupts() == 1);
        CHECK(raises_cancelled([] { weft::sleep(1h); }));
      });
      until_parked(task);
      task.interrupt();
      task.cancel();
    });
    CHECK(destroyed);
    CHECK_FALSE(cleaned);
  });
}

TEST_CASE("cleanup: interrupts wait until it is over, each of them, whoever catches them [HB1] [J-103]") {
  in_each_universe([](const Universe& u) {
    for (const bool cancelled : {false, true}) {
      bool cleaned = false;
      int uncaught = 0;
      weft::with_nursery([&](weft::Nursery& n) {
        std::atomic<bool> sent = false;
        auto task = u.spawn(n, [&] {
          (void)raises_cancelled([&] {
            weft::defer(
                [&] {
                  until([&] { return sent.load(); });
                  wait_in_all_ways(u);
                  weft::Generator<int> numbers([] {
                    weft::yield(1);
                    weft::sleep(10us);
                    weft::yield(2);
                  });
                  int sum = 0;
                  for (const int x : numbers) sum += x;
                  CHECK(sum == 3);
                  cleaned = true;
                },
                [&] {
                  if (cancelled) weft::sleep(1h);
                });
          });
          uncaught = uncaught_interrupts();
        });
        until_parked(task);
        for (int i = 0; i < 3; ++i) task.interrupt();
        if (cancelled) task.cancel();
        sent = true;
        task.wait();
      });
      CHECK(cleaned);
      CHECK(uncaught == 3);
    }
    // Caught around the cleanup, they are seen after it; caught inside of it, at once.
    int around = 0;
    int inside = 0;
    int in_cleanup = -1;
    weft::with_nursery([&](weft::Nursery& n) {
      std::atomic<bool> sent = false;
      auto task = u.spawn(n, [&] {
        weft::Fiber fiber(
            [&] {
              weft::defer(
                  [&] {
                    until([&] { return sent.load(); });
                    weft::checkpoint();
                    in_cleanup = around;
                    weft::Fiber catcher([] { weft::checkpoint(); }, weft::SignalSet{weft::sig::interrupt});
                    (void)catcher.resume();
                    for (; !catcher.finished(); (void)catcher.resume()) ++inside;
                  },
                  [] {});
              for (int i = 0; i < 5; ++i) weft::checkpoint();
            },
            weft::SignalSet{weft::sig::interrupt});
        (void)fiber.resume();
        for (; !fiber.finished(); (void)fiber.resume()) ++around;
      });
      until_parked(task);
      for (int i = 0; i < 3; ++i) task.interrupt();
      sent = true;
      task.wait();
    });
    CHECK(in_cleanup == 0);
    CHECK(inside == 1);
    CHECK(around == 2);
  });
}

TEST_CASE("cleanup: a destructor that waits while the stack unwinds gets no interrupt, which is raised after [HB1]") {
  in_each_universe([](const Universe& u) {
    struct Guard {
      const Universe& u;
      bool& done;
      ~Guard() {
        weft::sleep(1ms);
        weft::yield_now();
        weft::checkpoint();
        weft::with_nursery([&](weft::Nursery& n) { n.start([] { weft::sleep(50us); }); });
        weft::Generator<int> numbers([] {
          weft::sleep(10us);
          weft::yield(1);
        });
        for (const int x : numbers) CHECK(x == 1);
        done = true;
      }
    };
    // The task ends with what is pending, or looks again.
    for (const bool looks : {false, true}) {
      bool done = false;
      int seen = 0;
      weft::with_nursery([&](weft::Nursery& n) {
        auto task = u.spawn(n, [&] {
          try {
            const Guard guard{u, done};
            weft::sleep(1h);
          } catch (const weft::Cancelled&) {
            if (!looks) throw;
            seen = uncaught_interrupts();
          }
        });
        until_parked(task);
        task.interrupt();
        task.interrupt();
        task.cancel();
        task.wait();
      });
      CHECK(done);
      CHECK(seen == (looks ? 2 : 0));
    }
  });
}

TEST_CASE("cleanup: an interrupt of the runtime is not raised while a fiber that catches it unwinds [HB1] [INT-1]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    runtime.run([&] {
      int in_destructor = -1;
      int seen = 0;
      weft::Fiber fiber(
          [&] {
            struct Guard {
              weft::Runtime& runtime;
              int& in_destructor;
              int& seen;
              ~Guard() {
                runtime.interrupt();
                weft::sleep(50us);
                weft::checkpoint();
                in_destructor = seen;
              }
            };
            try {
              const Guard guard{runtime, in_destructor, seen};
              throw std::runtime_error("x");
            } catch (const std::runtime_error&) {
            }
            weft::checkpoint();
          },
          weft::SignalSet{weft::sig::interrupt});
      (void)fiber.resume();
      for (; !fiber.finished(); (void)fiber.resume()) ++seen;
      CHECK(in_destructor == 0);
      CHECK(seen == 1);
    });
  });
}

TEST_CASE("cleanup: on a plain thread a deadline around it does not reach it [HB1]") {
  bool cleaned = false;
  CHECK_FALSE(weft::timeout(1ms, [&] {
    weft::defer(
        [&] {
          weft::sleep(1ms);
          cleaned = true;
        },
        [] { weft::sleep(1h); });
  }));
  CHECK(cleaned);
  // Its first wait is in the cleanup.
  CHECK(weft::defer([] { weft::sleep(10us); }, [] { return 3; }) == 3);
}
