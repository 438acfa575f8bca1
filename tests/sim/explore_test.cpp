// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "20_replicated_log.hpp"
#include "doctest/doctest.h"
#include "sim/quietly.hpp"
#include "weft/channel.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/par.hpp"
#include "weft/runtime.hpp"
#include "weft/semaphore.hpp"
#include "weft/sim.hpp"
#include "weft/supervisor.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;
namespace sim = weft::sim;
using weft_test::quietly;

namespace {

// Reads under the lock, writes under the lock, and forgets that somebody may come in between.
struct Account {
  weft::Mutex mutex;
  int balance = 0;
  void pay_badly(int amount) {
    int now = 0;
    {
      const std::lock_guard guard(mutex);
      now = balance;
    }
    const std::lock_guard guard(mutex);
    balance = now + amount;
  }
  void pay(int amount) {
    const std::lock_guard guard(mutex);
    balance += amount;
  }
};

void lose_an_update() {
  Account account;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 3; ++i) n.start([&] { account.pay_badly(1); });
  });
  sim::check(account.balance == 3, "no payment is lost");
}

// Gives its seat back, unless its time runs out while it sits.
void leak_on_cancel() {
  weft::Semaphore seats(1);
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 2; ++i)
      n.start([&] {
        weft::timeout(5ms, [&] {
          seats.acquire();
          weft::sleep(1ms * sim::choose(4));
          seats.release();
        });
      });
  });
  sim::check(seats.available() == 1, "the seat is free again");
}

}  // namespace

TEST_CASE("sim: a lost update is found, replayed and shrunk to one interruption [N-062]") {
  const sim::Exploration found = sim::explore(quietly(1000), lose_an_update);
  REQUIRE(found.failures == 1);
  CHECK(found.first.failure == sim::Failure::check);
  CHECK(found.first.text.starts_with("no payment is lost (explore_test.cpp:"));
  CHECK(found.shrunk.schedule.size() == 1);
  CHECK(found.shrunk.schedule[0].find("is interrupted at lock, task") != std::string::npos);
  CHECK(found.text.find("WEFT_SIM_SEED=" + std::to_string(found.first.seed)) != std::string::npos);
  CHECK(found.text.find("WEFT_SIM_REPLAY=" + found.shrunk.replay) != std::string::npos);

  // The seed alone, the whole list of choices and the short one do it again; the last two draw nothing.
  const sim::Report again = sim::run(found.first.seed, {}, lose_an_update);
  CHECK(again.failure == sim::Failure::check);
  CHECK(again.hash == found.first.hash);
  CHECK(sim::replay(found.first.replay, {}, lose_an_update).hash == found.first.hash);
  CHECK(sim::replay(found.shrunk.replay, {}, lose_an_update).failure == sim::Failure::check);
  CHECK(sim::replay(std::to_string(found.first.seed) + ":", {}, lose_an_update).ok());  // the usual choices
  CHECK_THROWS_WITH_AS((void)sim::replay("12:x", {}, lose_an_update),
                       "a replay is SEED:s3=1,f0=1,... (streams s, n, d, f, u); \"12:x\" is not, at \"x\"",
                       std::invalid_argument);
}

TEST_CASE("sim: a leak that needs a cancel at the wrong moment is found, replayed and shrunk [N-024] [N-062]") {
  const sim::Exploration found = sim::explore(quietly(1000), leak_on_cancel);
  REQUIRE(found.failures == 1);
  CHECK(found.first.text.starts_with("the seat is free again"));
  REQUIRE(found.shrunk.schedule.size() == 2);  // both sit long enough
  CHECK(found.shrunk.schedule[0].starts_with("user 0: choose "));
  CHECK(found.shrunk.schedule[1].starts_with("user 1: choose "));
  CHECK(sim::replay(found.shrunk.replay, {}, leak_on_cancel).text == found.first.text);
}

TEST_CASE(
    "sim: a deposed leader that still commits is found in a replicated log, replayed and shrunk [N-061] [N-062]") {
  const sim::Exploration found = sim::explore(quietly(1000), [] { replicated::run_cluster(true); });
  REQUIRE(found.failures == 1);
  CHECK(found.first.text.starts_with("a place of the log is committed once"));
  CHECK(found.shrunk.schedule.size() < found.first.schedule.size() / 10);
  CHECK(sim::replay(found.shrunk.replay, {}, [] { replicated::run_cluster(true); }).text == found.first.text);
  const sim::Exploration right = sim::explore(quietly(100), [] { replicated::run_cluster(false); });
  CHECK_MESSAGE(right.ok(), right.text);
}

TEST_CASE("sim: the environment names a seed or a schedule, and nothing else is tried [N-062]") {
  const std::string failing = std::to_string(sim::explore(quietly(1000), lose_an_update).first.seed);
  setenv("WEFT_SIM_SEED", failing.c_str(), 1);
  const sim::Exploration one = sim::explore(quietly(1000), lose_an_update);
  unsetenv("WEFT_SIM_SEED");
  CHECK(one.tried == 1);
  CHECK(one.failures == 1);
  setenv("WEFT_SIM_REPLAY", (failing + ":").c_str(), 1);
  const sim::Exploration usual = sim::explore(quietly(1000), lose_an_update);
  unsetenv("WEFT_SIM_REPLAY");
  CHECK(usual.tried == 1);
  CHECK(usual.ok());
}

TEST_CASE("sim: the same program without the bug passes every seed [N-062]") {
  const sim::Exploration found = sim::explore(quietly(200), [] {
    Account account;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 3; ++i) n.start([&] { account.pay(1); });
    });
    sim::check(account.balance == 3, "no payment is lost");
  });
  CHECK_MESSAGE(found.ok(), found.text);
  CHECK(found.tried == 200);
}

TEST_CASE("sim: a failure that the same choices do not bring again is told as such [N-060]") {
  int calls = 0;
  const sim::Exploration found = sim::explore(quietly(10), [&] { sim::check(++calls != 4, "the fourth call"); });
  REQUIRE(found.failures == 1);
  CHECK(found.first.failure == sim::Failure::different);
  CHECK(found.first.text.find("with the same choices again it did not") != std::string::npos);
}

TEST_CASE("sim: explore tells how far it is, if it is asked to [N-062]") {
  sim::ExploreOptions options = quietly(20);
  options.progress = sim::ExploreOptions::Progress::always;
  const int saved = dup(2);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  dup2(ends[1], 2);
  const sim::Exploration found = sim::explore(options, [] { weft::yield_now(); });
  dup2(saved, 2);
  close(saved);
  close(ends[1]);
  char room[256];
  const ssize_t size = read(ends[0], room, sizeof room);
  close(ends[0]);
  REQUIRE(size > 0);
  const std::string line(room, static_cast<std::size_t>(size));
  CHECK(line.starts_with("weft::sim: 20 seeds, "));
  CHECK(line.ends_with(" per second, 0 failures\n"));
  CHECK(found.ok());
}

TEST_CASE("sim: a run may be read line by line; without workers, or inside a task, there is none [N-060]") {
  sim::Options options;
  options.keep_trace = true;
  const sim::Report report = sim::run(1, options, [] { weft::sleep(1ms); });
  CHECK(report.trace ==
        "task 0 \"f\" is seen first\ntask 0 goes on\ntask 0 comes to sleep\nthe time is 1000000 ns\ntask 0 goes on\n");
  options.workers = 0;
  CHECK_THROWS_AS((void)sim::run(1, options, [] {}), std::invalid_argument);
  CHECK_THROWS_AS(weft::run([] { (void)sim::run(1, {}, [] {}); }), weft::RuntimeError);
}

TEST_CASE("sim: random walk, PCT and one logical worker each do what they say [N-060]") {
  for (const sim::Strategy strategy : {sim::Strategy::random, sim::Strategy::pct}) {
    sim::ExploreOptions options = quietly(1000);
    options.strategy = strategy;
    CHECK(sim::explore(options, lose_an_update).failures == 1);
  }
  sim::ExploreOptions alone = quietly(200);
  alone.workers = 1;  // nobody is interrupted at a lock that is free
  CHECK(sim::explore(alone, lose_an_update).ok());
}

TEST_CASE("sim: a deadlock is a failure with the runtime's own report [N-060]") {
  const sim::Exploration found = sim::explore(quietly(1000), [] {
    weft::Mutex a;
    weft::Mutex b;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        const std::scoped_lock first(a);
        const std::scoped_lock second(b);
      });
      n.start([&] {
        const std::scoped_lock first(b);
        const std::scoped_lock second(a);
      });
    });
  });
  REQUIRE(found.failures == 1);
  CHECK(found.first.failure == sim::Failure::deadlock);
  CHECK(found.first.text.find("deadlock: nothing can run any more; 3 tasks wait:") != std::string::npos);
  CHECK(found.first.text.find("cycle: ") != std::string::npos);
  CHECK(found.shrunk.schedule.size() == 1);
}

TEST_CASE("sim: a livelock ends at the limit of steps [N-060]") {
  sim::Options options;
  options.max_steps = 2000;
  options.twice = false;
  const sim::Report report = sim::run(1, options, [] {
    for (;;) weft::yield_now();
  });
  CHECK(report.failure == sim::Failure::livelock);
  options.workers = 1;  // nobody is interrupted at a point, but it counts
  const sim::Report polls = sim::run(1, options, [] {
    weft::SyncEvent event;
    while (!event.wait_for(0ns)) {
    }
  });
  CHECK(polls.failure == sim::Failure::livelock);
  CHECK_FALSE(polls.abandoned);
}

TEST_CASE("sim: pieces of par are tasks as any other: they may wait for each other, and are interleaved [N-060]") {
  const sim::Exploration talks = sim::explore(quietly(100), [] {
    weft::Channel<int> ch(0);
    weft::par([&] { ch.send(1); }, [&] { (void)ch.recv(); });
    // Each takes the other's piece from the young end.
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 1; i < 3; ++i) n.start([i] { weft::par([] { weft::yield_now(); }, [i] { weft::sleep(1ms * i); }); });
    });
  });
  CHECK_MESSAGE(talks.ok(), talks.text);
  const sim::Exploration found = sim::explore(quietly(200), [] {
    Account account;
    weft::par([&] { account.pay_badly(1); }, [&] { account.pay_badly(1); });
    sim::check(account.balance == 2, "no payment is lost");
  });
  CHECK(found.first.failure == sim::Failure::check);
}

TEST_CASE("sim: an exception that leaves f, or a detached task, is a failure; values nobody receives are a leak") {
  CHECK(sim::run(1, {}, [] { throw std::runtime_error("out of f"); }).text == "out of f");
  const sim::Report values = sim::run(1, {}, [] {
    weft::Channel<int> ch(2);
    ch.send(1);
  });
  CHECK(values.failure == sim::Failure::leak);
  CHECK(values.text == "1 values were sent and received by nobody");
  const sim::Report held = sim::run(1, {}, [] { sim::hold("a seat"); });
  CHECK(held.text == "\"a seat\" is held 1 times at the end");
}

TEST_CASE("sim: what an address or a real clock decides differs the second time, and is named [N-060]") {
  std::vector<std::unique_ptr<int>> kept;
  const sim::Report address = sim::run(1, {}, [&] {
    kept.push_back(std::make_unique<int>(0));
    sim::note(std::to_string(reinterpret_cast<std::uintptr_t>(kept.back().get())));
  });
  CHECK(address.failure == sim::Failure::different);
  CHECK(address.text.find("First difference: event 3, after \"task 0 goes on\": the first time \"note: ") !=
        std::string::npos);
  const sim::Report clock = sim::run(1, {}, [] {
    static std::int64_t calls = 0;  // as a real clock, it never shows the same twice
    weft::with_nursery([&](weft::Nursery& n) {
      for (std::int64_t i = ++calls; i > 0; --i) n.start([] { weft::yield_now(); });
    });
  });
  CHECK(clock.failure == sim::Failure::different);
  CHECK(clock.text.find("First difference: ") != std::string::npos);
}

TEST_CASE("sim: a wake by a thread that the simulation does not know is told [N-060]") {
  const sim::Report report = sim::run(1, {.twice = false}, [] {
    weft::SyncEvent event;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] { event.wait(); });
      weft::yield_now();
      weft::yield_now();
      std::thread([&] { event.set(); }).join();
    });
  });
  CHECK(report.failure == sim::Failure::thread);
}

TEST_CASE("sim: fault points hit by the seed, and never outside [N-060]") {
  CHECK_FALSE(sim::active());
  CHECK_FALSE(sim::fault("always", 1.0));
  CHECK(sim::choose(10) == 0);
  CHECK_THROWS_AS(sim::check(false, "outside"), sim::CheckFailed);
  int hits = 0;
  int calls = 0;
  sim::ExploreOptions options = quietly(200);
  options.keep_going = true;
  const sim::Exploration found = sim::explore(options, [&] {
    sim::check(sim::active() && sim::fault("always", 1.0) && !sim::fault("never", 0.0), "the ends of the scale");
    for (int i = 0; i < 10; ++i) hits += sim::fault("disk", 0.25), ++calls;
  });
  CHECK(found.ok());
  CHECK(hits * 10 > calls * 2);
  CHECK(hits * 10 < calls * 3);
  const sim::Exploration broken =
      sim::explore(quietly(1000), [] { sim::check(!sim::fault("the rare one", 0.01), "it hit"); });
  REQUIRE(broken.failures == 1);
  CHECK(broken.shrunk.schedule == std::vector<std::string>{"fault 0: the rare one"});
}

TEST_CASE("sim: cancel_everywhere passes what cleans up, and finds a planted leak and a planted hang [N-024]") {
  sim::CancelOptions options;
  options.quiet = true;
  const auto seats_of = [](bool leaks) {
    return [leaks] {
      weft::Semaphore seats(2);
      sim::victim([&] {
        weft::with_nursery([&](weft::Nursery& n) {
          for (int i = 0; i < 3; ++i)
            n.start([&] {
              seats.acquire();
              if (leaks) {
                weft::sleep(1ms);  // a cancel here keeps the seat
                seats.release();
              } else {
                const auto leave = [&](void*) { seats.release(); };
                const std::unique_ptr<void, decltype(leave)> guard(&seats, leave);
                weft::sleep(1ms);
              }
            });
        });
      });
      sim::check(seats.available() == 2, "all seats are free again");
    };
  };
  const sim::CancelReport good = sim::cancel_everywhere(options, seats_of(false));
  CHECK_MESSAGE(good.ok(), good.text);
  CHECK(good.points >= 4);
  const sim::CancelReport leak = sim::cancel_everywhere(options, seats_of(true));
  CHECK(leak.failures > 0);
  CHECK(leak.first.failure == sim::Failure::check);
  CHECK(leak.text.find("all seats are free again") != std::string::npos);
  CHECK(leak.where.find(" at sleep") != std::string::npos);

  // f itself is asked to stop; the answer that it waits for, shielded, never comes then.
  const sim::CancelReport hang = sim::cancel_everywhere(options, [] {
    weft::SyncEvent asked;
    weft::SyncEvent answered;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        asked.wait();
        answered.set();
      });
      weft::yield_now();
      asked.set();
      weft::shield([&] { answered.wait(); });
    });
  });
  CHECK(hang.failures > 0);
  CHECK(hang.first.failure == sim::Failure::hang);
}

TEST_CASE("sim: a supervisor of each strategy may be cancelled anywhere, and leaves no child behind [B21] [N-024]") {
  for (const weft::Strategy strategy :
       {weft::Strategy::one_for_one, weft::Strategy::one_for_all, weft::Strategy::rest_for_one}) {
    sim::CancelOptions options;
    options.quiet = true;
    const sim::CancelReport report = sim::cancel_everywhere(options, [strategy] {
      int alive = 0;
      int runs = 0;
      const auto child = [&](bool fails) {
        return [&, fails] {
          const auto gone = [&](void*) { --alive; };
          ++alive;
          const std::unique_ptr<void, decltype(gone)> guard(&alive, gone);
          weft::sleep(1ms);
          if (fails && ++runs < 3) throw std::runtime_error("again");
          weft::sleep(1ms);
        };
      };
      sim::victim([&] {
        weft::Supervisor supervisor(
            {.strategy = strategy, .max_restarts = 10, .within = 1s, .backoff = {.first = 1ms}});
        supervisor.add("first", child(false), weft::Restart::transient);
        supervisor.add("second", child(true), weft::Restart::transient);
        supervisor.add("third", child(false), weft::Restart::transient);
        supervisor.run();
      });
      sim::check(alive == 0, "no child is left");
    });
    CHECK_MESSAGE(report.ok(), report.text);
    CHECK(report.points >= 10);
  }
}
