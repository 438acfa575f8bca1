// SPDX-License-Identifier: MIT
// Tasks of their own: who they are, what they inherit, how their handles behave.
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/detail/tools.hpp"
#include "weft/dyn.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

TEST_CASE("go: a root task: no fiber around it, its own id, the spawner's bindings as they were [J-092]") {
  static const weft::Dyn<int> level{"level"};
  in_each_universe([](const Universe&) {
    const std::uint64_t mine = weft::current_task_id();
    level.set(1);
    weft::Task<bool> task;
    weft::Fiber fiber(
        [&] {
          task = weft::go([mine] {
            const bool root = !weft::in_fiber() && weft::current_task_id() != mine;
            weft::yield_now();
            return root && level.get_or(0) == 1;
          });
        },
        weft::Mask("ip"));
    (void)fiber.resume();
    level.set(2);
    CHECK(task.join());
    CHECK(weft::current_task_id() == mine);
    level.unset();
  });
}

TEST_CASE("go: its signals end at itself, an error at its handle [J-092]") {
  in_each_universe([](const Universe&) {
    weft::Fiber outer(
        [] {
          auto task = weft::go([]() -> int { return weft::emit(weft::sig::user0, 1).as<int>(); });
          task.wait();
          CHECK(task.status() == weft::TaskStatus::failed);
          CHECK_THROWS_AS(task.join(), weft::SignalError);
          auto uncaught = weft::go([] { weft::yield(1); });
          CHECK_THROWS_AS(uncaught.join(), weft::UncaughtSignal);
        },
        // One that names io would be asked whether it may spawn [HB7].
        weft::Mask(weft::sig::all.without(weft::sig::wait | weft::sig::await | weft::sig::io)));
    CHECK(outer.resume().ok());
  });
}

TEST_CASE("go: outside of every runtime it is refused with a hint, nothing leaks [J-092]") {
  auto held = std::make_shared<int>(1);
  CHECK_THROWS_AS((void)weft::go([held] {}), weft::RuntimeError);
  CHECK(held.use_count() == 1);
}

TEST_CASE("go: it is queued, not run inside the call [J-095]") {
  weft::run(workers(1), [] {
    std::string order;
    auto task = weft::go([&] { order += "task "; });
    order += "after go, ";
    task.join();
    CHECK(order == "after go, task ");
  });
}

TEST_CASE("handle: name, id, status and emptiness are what they say [HA1]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      std::atomic<bool> open = false;
      auto task = u.spawn(
          n,
          [&] {
            CHECK(weft::current_task_name() == "worker bee");
            until([&] { return open.load(); });
            return 1;
          },
          weft::TaskOptions{.name = "worker bee"});
      CHECK(task.name() == "worker bee");
      CHECK(task.id() != 0);
      until_parked(task);  // waits for the status; a second look could find it at its next try
      CHECK_FALSE(task.done());
      open = true;
      CHECK(task.join() == 1);
      CHECK(task.done());
      CHECK(task.status() == weft::TaskStatus::done);
      weft::Task<int> moved = std::move(task);
      CHECK_FALSE(static_cast<bool>(task));
      CHECK_THROWS_AS(task.wait(), std::logic_error);
      CHECK(moved.id() != 0);
    });
  });
}

TEST_CASE("handle: joined from a thread, a task and its own joiner's neighbour, many at once [N-013]") {
  weft::Runtime runtime(workers(2));
  std::atomic<bool> open = false;
  auto task = runtime.go([&] {
    until([&] { return open.load(); });
    return 5;
  });
  CHECK_FALSE(task.wait_for(1ms));
  std::atomic<int> ended = 0;
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 10; ++i)
        n.start([&] {
          task.wait();
          ++ended;
        });
      weft::sleep(500us);
      CHECK(ended == 0);
      open = true;
    });
  });
  CHECK(ended == 10);
  CHECK(task.join() == 5);
}

TEST_CASE("handle: join with a limit leaves the result where it is; join_result tells the three ways [N-033] [N-028]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      std::atomic<bool> open = false;
      auto task = u.spawn(n, [&] {
        until([&] { return open.load(); });
        return std::make_unique<int>(5);
      });
      CHECK_FALSE(task.join_for(200us).has_value());
      CHECK_FALSE(task.join_until(std::chrono::steady_clock::now() + 200us).has_value());
      CHECK(task.join_result(std::chrono::steady_clock::now() + 200us).error().why == weft::AwaitError::Why::timed_out);
      auto stopped = u.spawn(n, [&]() noexcept { return task.join_result().error().why; });
      until_parked(stopped);
      stopped.cancel();
      CHECK(stopped.join() == weft::AwaitError::Why::cancelled);
      open = true;
      CHECK(**task.join_for(1h) == 5);
      auto quick = u.spawn(n, [] { weft::sleep(100us); });
      CHECK(quick.join_until(std::chrono::steady_clock::now() + 1h));
      CHECK(quick.join_result().has_value());
      CHECK(*u.spawn(n, [] { return 6; }).join_result() == 6);
    });
    auto failing = weft::go([] { throw std::runtime_error("on purpose"); });
    const auto failed = failing.join_result();
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().why == weft::AwaitError::Why::failed);
    CHECK_THROWS_WITH(std::rethrow_exception(failed.error().failure), "on purpose");
    CHECK_THROWS_WITH((void)failing.join_for(1h), "on purpose");
  });
}

TEST_CASE("handle: a cancelled, unstarted task never runs, and its closure is gone [HB21]") {
  weft::run(workers(1), [] {
    auto held = std::make_shared<int>(1);
    bool ran = false;
    auto task = weft::go([&ran, held] { ran = true; });
    task.cancel();
    task.wait();
    CHECK_FALSE(ran);
    CHECK(held.use_count() == 1);
    CHECK(task.status() == weft::TaskStatus::cancelled);
  });
}

TEST_CASE("handle: a result whose destructor waits does no harm when nobody asked for it [HB21]") {
  struct Slow {
    bool armed = true;
    Slow() = default;
    Slow(Slow&& other) noexcept : armed(std::exchange(other.armed, false)) {}
    ~Slow() {
      if (armed) weft::sleep(50us);
    }
  };
  for (const unsigned count : worker_counts()) {
    weft::run(workers(count), [] {
      for (int round = 0; round < 200; ++round) {
        weft::with_nursery([&](weft::Nursery& n) {
          for (int i = 0; i < 3; ++i) n.start([] { return Slow{}; });
          auto kept = n.spawn([] { return Slow{}; });
        });
        weft::with_nursery([](weft::Nursery& n) { n.start([] { weft::sleep(10us); }); });
      }
    });
  }
}

TEST_CASE("handle: a closure that cannot be moved into its record throws at the spawn, nothing is counted [HB21]") {
  struct Thrower {
    Thrower() = default;
    Thrower(const Thrower&) { throw std::runtime_error("copy"); }
    void operator()() const {}
  };
  weft::Runtime runtime(workers(1));
  runtime.run([] {
    const Thrower thrower;
    CHECK_THROWS_WITH_AS((void)weft::go(thrower), "copy", std::runtime_error);
    weft::with_nursery([&](weft::Nursery& n) { CHECK_THROWS_AS(n.start(thrower), std::runtime_error); });
  });
  const Thrower thrower;
  CHECK_THROWS_AS((void)runtime.go(thrower), std::runtime_error);
  CHECK(runtime.stats().started == 1);
}

#if !WEFT_ASAN && !WEFT_TSAN  // they end a process that asks for so much
TEST_CASE("options: without memory for its name a task has none, and runs") {
  weft::run(workers(1), [] {
    const weft::TaskOptions options{.name = std::string_view("x", std::size_t{1} << 60)};
    auto closure = std::make_shared<int>(7);
    auto task = weft::go([closure] { return *closure; }, options);
    CHECK(task.name().empty());
    CHECK(task.join() == 7);
    weft::with_nursery([&](weft::Nursery& n) { CHECK(n.spawn([closure] { return *closure; }, options).join() == 7); });
    CHECK(closure.use_count() == 1);
  });
}
#endif

TEST_CASE("options: a task with a strand and a pin keeps both promises [N-006] [N-015]") {
  for (const auto policy : {weft::RuntimeOptions::Policy::steal, weft::RuntimeOptions::Policy::global}) {
    weft::RuntimeOptions options = workers(4);
    options.policy = policy;
    weft::Runtime runtime(options);
    weft::Strand strand;
    std::atomic<int> inside = 0;
    std::atomic<bool> overlapped = false;
    std::atomic<int> moved = 0;
    std::atomic<int> done = 0;
    const auto body = [&](bool pinned) {
      const auto home = thread_here();
      for (int k = 0; k < 4; ++k) {
        if (inside.fetch_add(1) != 0) overlapped = true;
        compute_for(20us);
        inside.fetch_sub(1);
        if (k == 1) weft::yield_now();
        if (k == 2) weft::sleep(50us);
        moved += pinned && thread_here() != home;
      }
      ++done;
    };
    runtime.run([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        for (int i = 0; i < 40; ++i) {
          const bool pinned = i % 2 == 0;
          // By tasks on all workers, so that the pins differ.
          n.start([&, pinned] { (void)n.spawn([&, pinned] { body(pinned); }, {.pinned = pinned, .strand = &strand}); });
        }
      });
    });
    CHECK_FALSE(overlapped);
    CHECK(moved == 0);
    CHECK(done == 40);
  }
}
