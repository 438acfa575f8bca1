// SPDX-License-Identifier: MIT
// What a simulation that would not stop leaves behind, and what it must not.
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sim/quietly.hpp"
#include "weft/channel.hpp"
#include "weft/coroutine.hpp"
#include "weft/deadlock.hpp"
#include "weft/detail/tools.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/scope.hpp"
#include "weft/sim.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;
namespace sim = weft::sim;
using weft_test::quietly;

#if WEFT_ASAN
extern "C" {
void __lsan_disable();
void __lsan_enable();
}
#endif

namespace {

// Nobody frees what is on stacks that are abandoned: these cases leak, and LeakSanitizer is right about any other.
class LeaksByIntent {
 public:
  LeaksByIntent() {
#if WEFT_ASAN
    __lsan_disable();
#endif
  }
  ~LeaksByIntent() {
#if WEFT_ASAN
    __lsan_enable();
#endif
  }
  LeaksByIntent(const LeaksByIntent&) = delete;
  LeaksByIntent& operator=(const LeaksByIntent&) = delete;
};

void wait_for_nothing_foreign() {
  weft::await([]() -> weft::Co<> { co_await std::suspend_always(); }());
}

// Does not stop, leaves somebody who has not begun, somebody in a strand, somebody who sleeps, and with one worker all
// of them in the shared queue.
void never_stop() {
  weft::Strand strand;
  weft::SyncEvent never;
  const auto stubborn = [&] {
    for (;;) {
      try {
        (void)never.wait_for(0ns);
      } catch (const weft::Cancelled&) {  // NOLINT(bugprone-empty-catch): that is its fault
      }
    }
  };
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 3; ++i) n.start(stubborn);
    for (int i = 0; i < 3; ++i) (void)n.spawn(stubborn, {.strand = &strand});
    n.start([] { weft::shield([] { weft::sleep(1h); }); });
    stubborn();
  });
}

}  // namespace

TEST_CASE("sim: after a run that was abandoned virtual clocks go on and deadlocks are found [N-060]") {
  const LeaksByIntent leaks;
  const sim::Report foreign = sim::run(1, {}, wait_for_nothing_foreign);
  CHECK(foreign.failure == sim::Failure::deadlock);
  CHECK(foreign.abandoned);
  for (const unsigned workers : {1U, 2U}) {
    sim::Options options;
    options.workers = workers;
    options.max_steps = 500;
    const sim::Report stubborn = sim::run(1, options, never_stop);
    CHECK(stubborn.failure == sim::Failure::livelock);
    CHECK(stubborn.abandoned);
  }
  weft::RuntimeOptions options;
  options.workers = 1;
  options.clock = weft::RuntimeOptions::Clock::virtual_;
  weft::run(options, [] { weft::sleep(1h); });
  CHECK(weft::deadlocks().empty());
  const auto wait_for_nobody = [] {
    weft::SyncEvent event;
    event.wait();
  };
  // An emulator has threads of its own in our process, which nobody knows: there it can only be reported.
  if (!weft_test::emulated()) CHECK_THROWS_AS(weft::run(wait_for_nobody), weft::Deadlock);
}

TEST_CASE("sim: what is abandoned is not run again to be compared or shrunk, whatever its failure is called [N-062]") {
  const LeaksByIntent leaks;
  int runs = 0;
  const sim::Exploration found = sim::explore(quietly(1000), [&] {
    ++runs;
    weft::Mutex a;
    weft::Mutex b;
    const auto both = [](weft::Mutex& one, weft::Mutex& other) {
      weft::shield([&] {
        const std::scoped_lock first(one);
        weft::sleep(1ms);
        const std::scoped_lock second(other);
      });
    };
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] { both(a, b); });
      n.start([&] { both(b, a); });
    });
  });
  CHECK(found.first.failure == sim::Failure::deadlock);
  CHECK(found.first.abandoned);
  CHECK(found.first.time == 1ms);
  CHECK(runs == 1);

  sim::CancelOptions options;
  options.quiet = true;
  options.max_steps = 500;
  const sim::CancelReport report = sim::cancel_everywhere(options, [] {
    try {
      for (int i = 0; i < 5; ++i) weft::yield_now();
    } catch (const weft::Cancelled&) {
      never_stop();
    }
  });
  CHECK(report.first.failure == sim::Failure::livelock);
  CHECK(report.failures == 1);
}
