// SPDX-License-Identifier: MIT
// The life of a temporary worker: where it comes from, what it may do, how it goes.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "doctest/doctest.h"
#include "sched/elastic_help.hpp"
#include "sched/runtime_core.hpp"
#include "sched/runtime_help.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

TEST_CASE("elastic: one temporary worker goes through all states [W-070] [W-071] [W-072] [W-073] [W-074]") {
  for (const unsigned workers : {1U, 2U}) {
    CAPTURE(workers);
    Runtime runtime(brisk(workers));
    RuntimeCore& core = runtime.core();
    const Worker& temporary = core.worker(workers);
    runtime.run([&] {
      until_all_up(core);
      // One that gets no processor for as long as others are idle is taken back before it has slept: another comes.
      do {
        const std::uint64_t before = runtime.stats().promoted;
        with_nursery([&](Nursery& nursery) {
          Blockers blockers(nursery, workers);
          nursery.start([&] {
            while (!blockers.all_inside()) yield_now();
            blockers.release();
          });
          join_children(nursery.core());
        });
        until_gone(runtime, before);
      } while (entered(temporary, WorkerState::sleep) == 0);
    });
    CHECK(temporary.temporary);
    CHECK(entered(temporary, WorkerState::active) >= 1);
    CHECK(entered(temporary, WorkerState::idle_spin) >= 1);
    CHECK(entered(temporary, WorkerState::draining) >= 1);
    CHECK(entered(temporary, WorkerState::dead) == entered(temporary, WorkerState::draining));
    CHECK(state_of(temporary) == WorkerState::dead);
    CHECK_FALSE(temporary.thread.joinable());
    // The others slept only when there was nothing to run, and are still there.
    CHECK(state_of(core.worker(0)) == WorkerState::dead);  // run() has returned
    for (unsigned i = 1; i < workers; ++i) CHECK(entered(core.worker(i), WorkerState::draining) == 0);
  }
}

TEST_CASE("elastic: a place that was given up is taken again") {
  Runtime runtime(brisk(1));
  for (unsigned round = 1; round <= 3; ++round) {
    const std::uint64_t before = runtime.stats().promoted;
    runtime.run([&] {
      with_nursery([&](Nursery& nursery) {
        Blockers blockers(nursery, 1);
        nursery.start([&] {
          while (!blockers.all_inside()) yield_now();
          blockers.release();
        });
        join_children(nursery.core());
      });
      until_gone(runtime, before);
    });
    CHECK(runtime.stats().promoted >= round);
    CHECK(entered(runtime.core().worker(1), WorkerState::dead) == runtime.stats().promoted);
  }
}

TEST_CASE(
    "elastic: a stuck temporary worker is drained: it takes nothing more, its queue goes to the shared one, and it "
    "ends after its slice [W-075] [W-076] [W-077] [W-078]") {
  RuntimeOptions options = brisk(1);
  options.temp_idle_timeout = 10s;  // nobody goes because of idleness
  options.max_workers = 3;
  Runtime runtime(options);
  RuntimeCore& core = runtime.core();
  Pipe base_pipe;
  Pipe temp_pipe;
  std::atomic<unsigned> temp_place{0};
  std::atomic<unsigned> others{0};
  std::atomic<bool> went_on{false};
  std::atomic<unsigned> went_on_at{0};
  runtime.run([&] {
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] {
        // On the temporary worker, once the base worker is stuck: leaves children in its deque and blocks too.
        with_nursery([&](Nursery& inner) {
          while (this_worker()->index == 0) yield_now();
          temp_place = this_worker()->index;
          for (int i = 0; i < 10; ++i) inner.start([&] { ++others; });
          temp_pipe.wait();
          CHECK(this_worker()->deque.size() == 0);
          // A slice more, elsewhere: this worker ends at the next suspension point.
          went_on = true;
          yield_now();
          went_on_at = this_worker()->index;
        });
      });
      std::thread outside([&] {
        REQUIRE(eventually([&] { return temp_place.load() != 0; }));
        Worker& stuck = core.worker(temp_place.load());
        // Replaced, and its children run although it does not.
        REQUIRE(eventually([&] { return runtime.stats().promoted == 2 && others.load() == 10; }));
        REQUIRE(eventually([&] { return stuck.retiring.load() && stuck.look_mask.load() == 0; }));
        CHECK(stuck.deque.size() == 0);
        CHECK(stuck.ready.size() == 0);
        const std::uint64_t steals = stuck.counters.steals + stuck.counters.ready_steals;
        const std::uint64_t accepted = stuck.counters.inbox_pops + stuck.counters.global_pops;
        temp_pipe.release(1);
        REQUIRE(eventually([&] { return runtime.stats().retired == 1; }));
        CHECK(stuck.counters.steals + stuck.counters.ready_steals == steals);
        CHECK(stuck.counters.inbox_pops + stuck.counters.global_pops == accepted);
        CHECK(entered(stuck, WorkerState::draining) == 1);
        CHECK(state_of(stuck) == WorkerState::dead);
        base_pipe.release(1);
      });
      yield_now();
      base_pipe.wait();
      outside.join();
    });
  });
  CHECK(others.load() == 10);
  CHECK(went_on.load());
  CHECK(went_on_at.load() != temp_place.load());
}

TEST_CASE("elastic: what a temporary worker spawns pinned stays with a base worker, and waits for it [WKR-4] [HB19]") {
  RuntimeOptions options = brisk(1);
  options.max_workers = 2;
  Runtime runtime(options);
  Pipe pipe;
  constexpr int count = 8;
  std::atomic<int> ran{0};
  std::atomic<int> elsewhere{0};
  std::atomic<bool> spawned{false};
  runtime.run([&] {
    with_nursery([&](Nursery& nursery) {
      // On the temporary worker, once the base worker is stuck.
      nursery.start([&] {
        while (this_worker()->index == 0) yield_now();
        CHECK(static_cast<Worker*>(this_worker())->temporary);
        for (int i = 0; i < count; ++i) {
          (void)nursery.spawn(
              [&] {
                for (int k = 0; k < 3; ++k) {
                  elsewhere += this_worker()->index != 0;
                  k == 1 ? sleep(10us) : yield_now();
                }
                ++ran;
              },
              {.pinned = true});
        }
        for (int i = 0; i < 100; ++i) yield_now();  // it has the time to take them
        CHECK(ran == 0);
        spawned = true;
        pipe.release(1);
      });
      yield_now();
      pipe.wait();
    });
  });
  CHECK(spawned);
  CHECK(ran == count);
  CHECK(elsewhere == 0);
}
