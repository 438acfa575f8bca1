// SPDX-License-Identifier: MIT
// Supervisor channels: who tells what, when, and what happens to the rest.
#include "weft/supervision.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

TEST_CASE("supervision: normal ends, errors and user signals arrive, each with its task and id [J-097] [J-099]") {
  in_each_universe([](const Universe&) {
    weft::Supervision watch;
    std::map<std::uint64_t, std::string> told;
    weft::with_nursery([&](weft::Nursery& n) {
      weft::SuperviseOptions options;
      options.id = 100;
      const weft::SupervisedTask ok = weft::supervise(n, watch, [] { return 7; }, options);
      options.id = 200;
      weft::supervise(n, watch, [] { throw std::runtime_error("bad"); }, options);
      options.id = 300;
      weft::supervise(n, watch, [] { (void)weft::emit(weft::sig::user(3), std::string("three")); }, options);
      options.id = 400;
      weft::supervise(watch, [] { weft::supervised_id.set(444); }, options);  // the id is the dynamic one
      for (int i = 0; i < 4; ++i) {
        const auto event = watch.recv();
        REQUIRE(event.has_value());
        if (event->id == 100) CHECK(event->task == ok);
        told[event->id] = (event->ok() ? "ok " : weft::to_string(event->bits) + " ") + event->what();
      }
    });
    CHECK(told[100] == "ok 7");
    CHECK(told[200] == "|error| bad");
    CHECK(told[300].find("user3") != std::string::npos);
    CHECK(told[300].find("three") != std::string::npos);
    CHECK(told.contains(444));
    CHECK_FALSE(watch.try_recv().has_value());
  });
}

TEST_CASE("supervision: a child for whom there is no stack tells that, and its nursery goes on [B31] [HB23]") {
  for (const unsigned count : {1U, 2U}) {
    weft::Runtime(workers(count)).run([] {
      weft::Supervision watch;
      weft::with_nursery([&](weft::Nursery& n) {
        const weft::SuperviseOptions large{.task = {.stack_size = std::size_t{1} << 40}};
        const weft::SupervisedTask child = weft::supervise(n, watch, [] { FAIL("it ran"); }, large);
        const auto event = watch.recv();
        REQUIRE(event.has_value());
        CHECK(event->task == child);
        CHECK_THROWS_AS(std::rethrow_exception(event->failure), weft::StackError);
        CHECK_FALSE(n.cancelled());
      });
    });
  }
}

TEST_CASE("supervision: a failure of a supervised child does not fail its nursery [HB23]") {
  in_each_universe([](const Universe&) {
    weft::Supervision watch;
    std::atomic<bool> sibling{false};
    weft::with_nursery([&](weft::Nursery& n) {
      weft::supervise(n, watch, [] { throw std::runtime_error("bad"); });
      n.start([&] {
        weft::sleep(500us);
        sibling = true;
      });
    });
    CHECK(sibling);
    CHECK(watch.recv()->bits.contains(weft::sig::error));
  });
}

TEST_CASE("supervision: telling neither blocks nor loses, however many tell and nobody listens [HB23] [B21]") {
  in_each_universe([](const Universe&) {
    weft::Supervision watch;
    constexpr int many = 300;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < many; ++i)
        weft::supervise(n, watch, [i] {
          if (i % 2 == 0) throw std::runtime_error("in its first instruction");
        });
    });
    int errors = 0;
    int all = 0;
    while (const auto event = watch.try_recv()) {
      ++all;
      errors += !event->ok();
      CHECK(event->task.done());
    }
    CHECK(all == many);
    CHECK(errors == many / 2);
  });
}

TEST_CASE("supervision: a signal that the mask names suspends its task until it is answered") {
  in_each_universe([](const Universe&) {
    weft::Supervision watch;
    weft::with_nursery([&](weft::Nursery& n) {
      weft::SuperviseOptions options;
      options.mask = weft::Mask(weft::sig::yield | weft::sig::error);
      weft::supervise(n, watch, [] { return weft::yield(std::string("question")).as<int>() + 1; }, options);
      auto event = watch.recv();
      CHECK(event->bits == weft::sig::yield);
      CHECK(event->value.as<std::string>() == "question");
      CHECK(event->task.state() == weft::SupervisedState::suspended);
      event->task.resume(41);
      event = watch.recv();
      CHECK(event->ok());
      CHECK(event->value.as<int>() == 42);
      CHECK_THROWS_AS(event->task.resume(1), std::logic_error);
      // A resumable error.
      weft::supervise(n, watch, [] { return weft::emit(weft::sig::error, 1).as<int>(); }, options);
      event = watch.recv();
      CHECK(event->bits.contains(weft::sig::error));
      event->task.resume(5);
      CHECK(watch.recv()->value.as<int>() == 5);
      // Nobody answers: cancelled, its end is told.
      weft::supervise(n, watch, [] { weft::yield(1); }, options);
      event = watch.recv();
      event->task.cancel();
      event = watch.recv();
      CHECK(event->bits.contains(weft::sig::error));
      CHECK_THROWS_AS(std::rethrow_exception(event->failure), weft::Cancelled);
    });
  });
}

TEST_CASE("supervision: a cancelled task tells so, also one that never began") {
  weft::run(workers(1), [] {
    weft::Supervision watch;
    bool ran = false;
    weft::SupervisedTask early = weft::supervise(watch, [&] { ran = true; });
    early.cancel();
    early.wait();
    CHECK_FALSE(ran);
    CHECK_THROWS_AS(std::rethrow_exception(watch.recv()->failure), weft::Cancelled);
    bool began = false;
    weft::SupervisedTask late = weft::supervise(watch, [&] {
      began = true;
      weft::sleep(1h);
    });
    until([&] { return began; });
    late.cancel();
    CHECK_THROWS_AS(std::rethrow_exception(watch.recv()->failure), weft::Cancelled);
    late.wait();
  });
}

TEST_CASE("supervision: a closed channel wakes its receivers, and drains first") {
  in_each_universe([](const Universe&) {
    weft::Supervision watch;
    auto waiter = weft::go([&] { return watch.recv().has_value(); });
    until_parked(waiter);
    watch.close();
    CHECK_FALSE(waiter.join());
    weft::Supervision other;
    weft::supervise(other, [] {}).wait();
    other.close();
    CHECK(other.recv().has_value());
    CHECK_FALSE(other.recv().has_value());
    CHECK_FALSE(other.recv_until(weft::current_io().now() + 1h).has_value());
  });
}

TEST_CASE("supervision: what the mask does not name is printed with its trace instead [J-098] [HB23]") {
  const Outcome unnamed = run_program("supervised", {"unnamed"});
  CHECK(unnamed.exit_code == 0);
  CHECK(unnamed.says("supervised task 5 failed: not for you"));
  CHECK(unnamed.says("spawned at"));
  CHECK(unnamed.says("events: 0"));
  const Outcome closed = run_program("supervised", {"closed"});
  INFO("exit code ", closed.exit_code, ", signal ", closed.signal, ", output: ", closed.output);
  CHECK(closed.exit_code == 0);
  CHECK(closed.says("supervised task 5 failed: too late"));
  const Outcome named = run_program("supervised", {"named"});
  CHECK(named.output == "events: 1\n");
}
