// SPDX-License-Identifier: MIT
#include "sched/poller.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "doctest/doctest.h"
#include "sched/park.hpp"
#include "sched/runtime_core.hpp"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

// A kernel with one event, that an outside thread brings.
class Bench : public Poller {
 public:
  bool wait(std::int64_t deadline) override {
    ++waits;
    inside.store(true);
    bool in_time = true;
    while (bell_.exchange(0) == 0 && in_time)
      in_time = seam::futex_wait(bell_, 0, deadline) != seam::WaitResult::timed_out;
    inside.store(false);
    return in_time;
  }
  void interrupt() override {
    ++interrupts;
    ring();
  }
  std::size_t reap(Chain&) override {
    ++reaps;
    if (event_.exchange(0) != 0) {
      reaped_by.store(thread_here());
      waiter.unpark();
    }
    return 0;
  }
  void bring() {
    event_.store(1);
    ring();
  }

  std::atomic<unsigned> waits{0};
  std::atomic<unsigned> interrupts{0};
  std::atomic<unsigned> reaps{0};
  std::atomic<bool> inside{false};
  std::atomic<long> reaped_by{0};
  Unparker waiter;

 private:
  void ring() {
    bell_.store(1);
    seam::futex_wake(bell_, 1);
  }
  seam::Atomic<std::uint32_t> bell_{0};
  seam::Atomic<std::uint32_t> event_{0};
};

Bench& give_poller(RuntimeCore& core) {
  auto made = std::make_unique<Bench>();
  Bench& bench = *made;
  const std::lock_guard guard(core.poller_mutex);
  core.install(std::move(made));
  return bench;
}

RuntimeCore& core_here() {
  return *static_cast<RuntimeCore*>(this_worker()->runtime);
}

}  // namespace

TEST_CASE("poller: an idle worker sleeps in it, and a notify gets it out of there") {
  for (const unsigned count : {1U, 2U, 4U}) {
    CAPTURE(count);
    Runtime runtime(workers(count));
    std::atomic<Bench*> bench{nullptr};
    std::atomic<std::uint32_t> flag{0};
    std::atomic<bool> ready{false};
    Unparker wake;
    std::thread outside([&] {
      CHECK(eventually([&] { return ready.load() && bench.load() != nullptr && bench.load()->inside.load(); }));
      flag.store(1);
      wake.unpark();
    });
    runtime.run([&] {
      bench = &give_poller(core_here());
      wake = unparker();
      ready = true;
      while (flag.load() == 0) (void)park_if(flag, 0);
    });
    outside.join();
    CHECK(bench.load()->waits.load() > 0);
    if (count == 1) CHECK(bench.load()->interrupts.load() > 0);
  }
}

TEST_CASE("poller: what comes from outside is reaped by who sleeps there") {
  for (const unsigned count : {1U, 2U, 4U}) {
    CAPTURE(count);
    Runtime runtime(workers(count));
    std::atomic<Bench*> bench{nullptr};
    std::atomic<const TaskCore*> waiter{nullptr};
    std::thread outside([&] {
      // Before it is parked an event would be for nobody.
      CHECK(eventually(
          [&] { return bench.load() != nullptr && bench.load()->inside.load() && is_parked(waiter.load()); }));
      bench.load()->bring();
    });
    runtime.run([&] {
      Bench& mine = give_poller(core_here());
      mine.waiter = unparker();
      waiter = this_task();
      bench = &mine;
      const std::atomic<std::uint32_t> flag{0};
      CHECK(park_if(flag, 0) == WaitOutcome::woken);
    });
    outside.join();
    CHECK(bench.load()->reaped_by.load() != 0);
  }
}

TEST_CASE("poller: when all workers compute, sysmon reaps") {
  RuntimeOptions options = workers(1);
  options.max_workers = 1;
  options.stall_report = false;
  Runtime runtime(options);
  runtime.run([&] {
    Bench& bench = give_poller(core_here());
    bench.waiter = unparker();
    const long mine = thread_here();
    bench.bring();
    // This worker does not come back to its loop.
    CHECK(eventually([&] { return bench.reaped_by.load() != 0; }));
    CHECK(bench.reaped_by.load() != mine);
  });
}

TEST_CASE("poller: the one inside leaves with the runtime's run, and another one takes its place") {
  Runtime runtime(workers(2));
  std::atomic<Bench*> bench{nullptr};
  std::atomic<bool> done{false};
  runtime.run([&] { bench = &give_poller(core_here()); });
  // Worker 0 has gone.
  const auto task = runtime.go([&] {
    bench.load()->waiter = unparker();
    const std::atomic<std::uint32_t> flag{0};
    (void)park_if(flag, 0);
    done = true;
  });
  CHECK(eventually([&] { return bench.load()->inside.load(); }));
  CHECK(eventually([&] {
    bench.load()->bring();
    return done.load();
  }));
}
