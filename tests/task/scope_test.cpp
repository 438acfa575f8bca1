// SPDX-License-Identifier: MIT
// Cancellation: level-triggered, nested, shielded, with a reason and a scope that name who asked.
#include "weft/scope.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/sugar.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

std::string outcome(const std::function<void()>& act) {
  try {
    act();
  } catch (const weft::Cancelled& cancelled) {
    return to_string(cancelled.reason());
  } catch (const std::exception& error) {
    return error.what();
  }
  return "ended";
}

}  // namespace

TEST_CASE("scope: a swallowed Cancelled is raised again at every further point [N-020] [B15]") {
  in_each_universe([](const Universe& u) {
    int raised = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      auto stubborn = u.spawn(n, [&] {
        const std::vector<std::function<void()>> points{
            [] { weft::sleep(1h); }, [] { weft::yield_now(); }, [] { weft::sleep(0ns); },
            [&] { weft::with_nursery([](weft::Nursery& inner) { inner.spawn([] { weft::sleep(1h); }).join(); }); }};
        // The first one parks before it is cancelled.
        for (const auto& point : points) {
          try {
            point();
          } catch (...) {
            ++raised;
          }
        }
      });
      until_parked(stubborn);
      n.cancel();
    });
    CHECK(raised == 4);
  });
}

TEST_CASE("scope: a loop that swallows Cancelled does not hold its worker [B15]") {
  weft::RuntimeOptions options = workers(1);
  weft::run(options, [] {
    std::atomic<bool> other_ran = false;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        while (!other_ran) {
          try {
            weft::sleep(1h);
          } catch (...) {
          }
        }
      });
      weft::yield_now();
      weft::Task<void> other = weft::go([&] { other_ran = true; });
      n.cancel();
    });
    CHECK(other_ran);
  });
}

TEST_CASE("scope: nested timeouts blame the right one [N-020] [N-027]") {
  in_each_universe([](const Universe&) {
    // The outer one is first: the inner block does not swallow it.
    bool inner_ended = true;
    CHECK_FALSE(weft::timeout(2ms, [&] {
      inner_ended = weft::timeout(1h, [] { weft::sleep(1h); });
      FAIL("the outer deadline came out as the inner one's");
    }));
    CHECK(inner_ended);
    // The inner one is first: the outer block goes on.
    bool went_on = false;
    CHECK(weft::timeout(1h, [&] {
      CHECK_FALSE(weft::timeout(2ms, [] { weft::sleep(1h); }));
      weft::sleep(1ms);
      went_on = true;
    }));
    CHECK(went_on);
    // Both at once: the outermost wins.
    CHECK_FALSE(weft::timeout(2ms, [&] {
      (void)weft::timeout(2ms, [] { weft::sleep(1h); });
      weft::sleep(1h);
    }));
    CHECK(weft::timeout(1h, [] {}));
  });
}

TEST_CASE("scope: Cancelled tells who asked and why [N-027]") {
  in_each_universe([](const Universe& u) {
    // user, by the nursery and by the handle
    std::string by_nursery;
    std::string by_handle;
    std::string by_sibling;
    std::string by_deadline;
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] { by_nursery = outcome([] { weft::sleep(1h); }); });
      until_parked(child);
      n.cancel();
      (void)child.wait_result();
    });
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] { by_handle = outcome([] { weft::sleep(1h); }); });
      until_parked(child);
      child.cancel();
      child.wait();
    });
    try {
      weft::with_nursery([&](weft::Nursery& n) {
        auto child = u.spawn(n, [&] { by_sibling = outcome([] { weft::sleep(1h); }); });
        until_parked(child);
        auto fails = u.spawn(n, [] { throw std::runtime_error("x"); });
      });
    } catch (const std::runtime_error&) {
    }
    // A child that has not begun when the time is over never runs.
    while (by_deadline.empty())
      weft::with_nursery({.deadline = 2ms}, [&](weft::Nursery& n) {
        auto child = u.spawn(n, [&] { by_deadline = outcome([] { weft::sleep(1h); }); });
        child.wait();
      });
    CHECK(by_nursery == to_string(weft::CancelReason::user));
    CHECK(by_handle == to_string(weft::CancelReason::user));
    CHECK(by_sibling == to_string(weft::CancelReason::sibling));
    CHECK(by_deadline == to_string(weft::CancelReason::deadline));
  });
}

TEST_CASE("scope: a nursery that swallows its own Cancelled without a result tells the true reason [N-027]") {
  in_each_universe([](const Universe&) {
    CHECK(outcome([] {
            (void)weft::with_nursery({.deadline = 1ms}, [](weft::Nursery&) -> int {
              weft::sleep(1h);
              return 1;
            });
          }) == to_string(weft::CancelReason::deadline));
    CHECK(outcome([] {
            (void)weft::with_nursery([](weft::Nursery& n) -> int {
              n.cancel();
              weft::sleep(1h);
              return 1;
            });
          }) == to_string(weft::CancelReason::user));
  });
}

TEST_CASE("scope: the scope of Cancelled is the same for all who were in it, and no other's [N-027]") {
  in_each_universe([](const Universe& u) {
    const void* first = nullptr;
    const void* second = nullptr;
    const void* other = nullptr;
    const auto note = [](const void*& where) {
      return [&where] {
        try {
          weft::sleep(1h);
        } catch (const weft::Cancelled& cancelled) {
          where = cancelled.scope();
          throw;
        }
      };
    };
    weft::with_nursery([&](weft::Nursery& outer) {
      auto third = u.spawn(outer, note(other));
      weft::with_nursery([&](weft::Nursery& n) {
        auto a = u.spawn(n, note(first));
        auto b = u.spawn(n, note(second));
        until_parked(a);
        until_parked(b);
        n.cancel();
      });
      outer.cancel();
    });
    CHECK(first != nullptr);
    CHECK(first == second);
    // It may end before it has begun to sleep: then it never ran.
    CHECK(other != first);
  });
}

TEST_CASE("scope: cancel reaches down through nested nurseries and timeouts, not through shields [N-020]") {
  in_each_universe([](const Universe& u) {
    std::atomic<int> begun = 0;
    std::atomic<int> stopped = 0;
    std::atomic<int> shielded = 0;
    weft::with_nursery([&](weft::Nursery& top) {
      auto deep = u.spawn(top, [&] {
        weft::timeout(1h, [&] {
          weft::with_nursery([&](weft::Nursery& middle) {
            auto inner = u.spawn(middle, [&] {
              weft::with_nursery([&](weft::Nursery& low) {
                auto a = u.spawn(low, [&] {
                  ++begun;
                  try {
                    weft::sleep(1h);
                  } catch (const weft::Cancelled&) {
                    ++stopped;
                    throw;
                  }
                });
                auto b = u.spawn(low, [&] {
                  weft::shield([&] {
                    ++begun;
                    weft::sleep(3ms);
                    ++shielded;
                  });
                });
              });
            });
          });
        });
      });
      until([&] { return begun == 2; });
      top.cancel();
    });
    CHECK(stopped == 1);
    CHECK(shielded == 1);
  });
}

TEST_CASE("scope: a cancel inside a shield works although the outside was cancelled before [HA3]") {
  in_each_universe([](const Universe& u) {
    bool timed_out = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        weft::shield([&] {
          while (!weft::cancel_requested() && !n.cancelled()) weft::sleep(100us);
          CHECK_FALSE(weft::cancel_requested());
          timed_out = !weft::timeout(1ms, [] { weft::sleep(1h); });
        });
      });
      until_parked(child);
      n.cancel();
    });
    CHECK(timed_out);
  });
}

TEST_CASE("scope: deadlines are inherited by callees and children, a shield keeps them out [N-020]") {
  in_each_universe([](const Universe& u) {
    CHECK(weft::time_left() == std::chrono::nanoseconds::max());
    CHECK_FALSE(weft::timeout(20ms, [&] {
      CHECK(weft::time_left() <= 20ms);
      weft::timeout(1h, [&] { CHECK(weft::time_left() <= 20ms); });
      weft::timeout(1ms, [&] { CHECK(weft::time_left() <= 1ms); });
      weft::with_nursery([&](weft::Nursery& n) {
        auto child = u.spawn(n, [] { CHECK(weft::time_left() <= 20ms); });
        child.join();
      });
      weft::shield([&] { CHECK(weft::time_left() == std::chrono::nanoseconds::max()); });
      compute_for(21ms);
      CHECK(weft::cancel_reason() == weft::CancelReason::deadline);
      weft::yield_now();
      FAIL("a suspension point past the deadline");
    }));
  });
}

TEST_CASE("scope: a deadline stops a computation that comes by yield_now [J-104] [N-020]") {
  in_each_universe([](const Universe&) {
    // On a busy machine the time may be over before the first.
    for (std::uint64_t rounds = 0; rounds == 0;)
      CHECK_FALSE(weft::timeout(2ms, [&] {
        for (;; ++rounds) weft::yield_now();
      }));
  });
}

TEST_CASE("scope: a shield whose time is over lets others in, and does not cancel by itself [N-020]") {
  in_each_universe([](const Universe& u) {
    CHECK(outcome([] { weft::shield([] { weft::sleep(3ms); }, 1ms); }) == "ended");
    CHECK(outcome([] {
            weft::shield(
                [] {
                  weft::sleep(2ms);
                  weft::with_nursery([](weft::Nursery& n) { n.start([] { weft::sleep(1ms); }); });
                  CHECK(weft::timeout(1h, [] { weft::sleep(1ms); }));
                  CHECK_FALSE(weft::cancel_requested());
                  CHECK(weft::time_left() == std::chrono::nanoseconds::max());
                },
                1ms);
          }) == "ended");
    std::string reason;
    std::string inner;
    std::atomic<bool> inner_begun = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        reason = outcome([&] {
          weft::shield(
              [&] {
                // Whoever was started inside is let down, too.
                weft::with_nursery([&](weft::Nursery& m) {
                  m.start([&] {
                    inner_begun = true;
                    inner = outcome([] { weft::timeout(1h, [] { weft::sleep(1h); }); });
                  });
                  weft::sleep(1h);
                });
              },
              3ms);
        });
      });
      until([&] { return inner_begun.load(); });
      until_parked(child);
      n.cancel();
    });
    CHECK(reason == to_string(weft::CancelReason::user));
    CHECK(inner == to_string(weft::CancelReason::user));
  });
}

TEST_CASE("scope: what is asked after a shield's time is over wakes those inside at once [N-020]") {
  in_each_universe([](const Universe& u) {
    std::string reason;
    weft::with_nursery([&](weft::Nursery& n) {
      std::atomic<bool> lapsed = false;
      auto child = u.spawn(n, [&] {
        reason = outcome([&] {
          weft::shield(
              [&] {
                weft::sleep(1ms);
                lapsed = true;
                weft::sleep(1h);
              },
              500us);
        });
      });
      until([&] { return lapsed.load(); });
      until_parked(child);
      n.cancel();
    });
    CHECK(reason == to_string(weft::CancelReason::user));
    // The deadline of an outer scope, which passed during the shield and after it.
    for (const auto limit : {1ms, 4ms}) {
      CHECK_FALSE(weft::timeout(limit, [] { weft::shield([] { weft::sleep(1h); }, 2ms); }));
    }
  });
}

TEST_CASE("scope: a shield whose time is over ends no wait for a flag by itself [N-020]") {
  weft::run(workers(2), [] {
    std::atomic<std::uint32_t> flag = 0;
    const weft::Unparker me = weft::unparker();
    auto waker = weft::go([&] {
      weft::sleep(4ms);
      flag = 1;
      me.unpark();
    });
    weft::shield([&] { CHECK(weft::park_if(flag, 0) == weft::WaitOutcome::changed); }, 1ms);
    waker.join();  // its unpark may come after the flag was seen
    flag = 0;
    const auto begun = std::chrono::steady_clock::now();
    weft::shield([&] { CHECK(weft::park_if_for(flag, 0, 3ms) == weft::WaitOutcome::timed_out); }, 1ms);
    CHECK(std::chrono::steady_clock::now() - begun >= 3ms);
  });
}

TEST_CASE("scope: cleanup while unwinding may wait although the task is cancelled [HB1]") {
  in_each_universe([](const Universe& u) {
    bool flushed = false;
    struct Connection {
      bool& flushed;
      ~Connection() {
        weft::sleep(500us);
        weft::with_nursery([](weft::Nursery& n) { n.start([] { weft::sleep(100us); }); });
        flushed = true;
      }
    };
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        const Connection connection{flushed};
        weft::sleep(1h);
      });
      until_parked(child);
      n.cancel();
    });
    CHECK(flushed);
  });
}

TEST_CASE("scope: a generator that an unwinding destructor resumes may wait, too [HB1]") {
  in_each_universe([](const Universe& u) {
    int got = 0;
    struct Drain {
      int& got;
      ~Drain() {
        weft::Generator<int> generator([] {
          weft::sleep(200us);
          weft::yield(5);
        });
        for (const int x : generator) got = x;
      }
    };
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        const Drain drain{got};
        weft::sleep(1h);
      });
      until_parked(child);
      n.cancel();
    });
    CHECK(got == 5);
  });
}

TEST_CASE("scope: a wait while unwinding past a deadline parks, it does not spin [HB1]") {
  weft::RuntimeOptions options = workers(1);
  options.sysmon = false;  // which may fire the timer before the task has left: then it need not park
  weft::Runtime runtime(options);
  runtime.run([&] {
    std::uint64_t parks = 0;
    struct Slow {
      weft::Runtime& runtime;
      std::uint64_t& parks;
      ~Slow() {
        const std::uint64_t before = runtime.stats().parks;
        weft::sleep(5ms);
        parks = runtime.stats().parks - before;
      }
    };
    CHECK_FALSE(weft::timeout(1ms, [&] {
      const Slow slow{runtime, parks};
      weft::sleep(1h);
    }));
    CHECK(parks >= 1);
    CHECK(parks <= 3);
  });
}

TEST_CASE("scope: uncaught_exceptions counts a cancellation like any exception [B27]") {
  in_each_universe([](const Universe& u) {
    int during = -1;
    bool guard_saw_failure = false;
    struct Guard {
      int at_start = std::uncaught_exceptions();
      int& during;
      bool& failed;
      ~Guard() {
        during = std::uncaught_exceptions();
        failed = during > at_start;
        weft::sleep(100us);
        if (std::uncaught_exceptions() != during) during = -2;
      }
    };
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        const Guard guard{.during = during, .failed = guard_saw_failure};
        weft::sleep(1h);
      });
      until_parked(child);
      child.cancel();
    });
    CHECK(during == 1);
    CHECK(guard_saw_failure);
  });
}

TEST_CASE("scope: a destructor in the normal flow waits quietly under cancel [N-028] [HB1]") {
  in_each_universe([](const Universe& u) {
    bool whole = true;
    bool normal_flow = false;
    std::atomic<bool> released = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto slow = u.spawn(n, [&] { weft::shield([&] { until([&] { return released.load(); }); }); });
      struct Flush {
        weft::Task<void>& task;
        bool& whole;
        ~Flush() { whole = task.wait_result() == weft::WaitResult::done; }
      };
      auto joiner = u.spawn(n, [&] {
        {
          const Flush flush{slow, whole};
        }
        normal_flow = true;
      });
      until_parked(joiner);
      until_parked(slow);
      joiner.cancel();
      joiner.wait();
      CHECK_FALSE(slow.done());
      released = true;
    });
    CHECK_FALSE(whole);
    CHECK(normal_flow);
  });
}

TEST_CASE("scope: wait_result sees a deadline, and tells whether the task ended [N-028]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      auto slow = u.spawn(n, [] { weft::sleep(1h); });
      bool ended = true;
      weft::timeout(1ms, [&] { ended = slow.wait_result() == weft::WaitResult::done; });
      CHECK_FALSE(ended);
      auto quick = u.spawn(n, [] { weft::sleep(100us); });
      CHECK(quick.wait_result() == weft::WaitResult::done);
      slow.cancel();
      CHECK(slow.wait_result() == weft::WaitResult::done);
    });
  });
}

TEST_CASE("scope: a cancelled child may still use nurseries of its own while it cleans up [HC9]") {
  in_each_universe([](const Universe& u) {
    int cleaned = 0;
    bool born_cancelled = true;
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        try {
          weft::sleep(1h);
        } catch (const weft::Cancelled&) {
          // Not shielded: what it spawns never runs.
          weft::Task<void> never;
          CHECK(outcome([&] {
                  weft::with_nursery([&](weft::Nursery& inner) {
                    never = inner.spawn([&] { born_cancelled = false; });
                    weft::yield_now();
                  });
                }) == to_string(weft::CancelReason::user));
          // Shielded: it does.
          weft::shield([&] { weft::with_nursery([&](weft::Nursery& inner) { inner.start([&] { ++cleaned; }); }); });
          throw;
        }
      });
      until_parked(child);
      n.cancel();
    });
    CHECK(cleaned == 1);
    CHECK(born_cancelled);
  });
}

TEST_CASE("scope: protect does not keep a cancellation, the next point raises it again [B15]") {
  in_each_universe([](const Universe& u) {
    bool second = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        weft::Fiber fiber([] { weft::sleep(1h); }, weft::Mask("e"));
        (void)fiber.resume();
        CHECK(fiber.finished());
        try {
          weft::sleep(1h);
        } catch (const weft::Cancelled&) {
          second = true;
          throw;
        }
      });
      until_parked(child);
      child.cancel();
    });
    CHECK(second);
  });
}

TEST_CASE(
    "scope: cancelled a thousand times against everything that wakes, the last word is one of the two [B1] [B16]") {
  for (const unsigned count : worker_counts()) {
    weft::run(workers(count), [] {
      int ended = 0;
      int cancelled = 0;
      for (int round = 0; round < 1000; ++round) {
        weft::with_nursery([&](weft::Nursery& n) {
          auto child = n.spawn([&] { weft::sleep(std::chrono::microseconds(round % 90)); });
          auto canceller = n.spawn([&] {
            weft::sleep(std::chrono::microseconds((round * 7) % 90));
            child.cancel();
          });
          canceller.wait();
          child.wait();
          (child.status() == weft::TaskStatus::done ? ended : cancelled) += 1;
        });
      }
      CHECK(ended + cancelled == 1000);
    });
  }
}
