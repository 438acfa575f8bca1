// SPDX-License-Identifier: MIT
// The OTP-style supervisor: strategies, intensity, backoff.
#include "weft/supervisor.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/io.hpp"
#include "weft/mutex.hpp"
#include "weft/runtime.hpp"
#include "weft/scope.hpp"
#include "weft/sync_event.hpp"
#include "weft/trace.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

class Log {
 public:
  void add(const std::string& word) {
    const std::lock_guard guard(mutex_);
    text_ += word + " ";
  }
  std::string text() {
    const std::lock_guard guard(mutex_);
    return text_;
  }

 private:
  weft::Mutex mutex_;
  std::string text_;
};

// Says when it starts and when it is stopped; fails once, when `fail` is set, then waits.
struct Actor {
  Log& log;
  std::string name;
  weft::SyncEvent& fail;
  std::atomic<int>& started;

  void operator()() const {
    log.add("+" + name);
    const int life = ++started;  // after that: who has seen it knows what the log says
    try {
      if (life == 1) {
        fail.wait();
      } else {
        weft::sleep(1h);
      }
    } catch (const weft::Cancelled&) {
      log.add("-" + name);
      throw;
    }
    log.add("!" + name);
    throw std::runtime_error(name);
  }
};

std::string run_strategy(weft::Strategy strategy) {
  Log log;
  weft::SyncEvent now;
  weft::SyncEvent never;
  std::atomic<int> lives[3] = {};
  weft::Supervisor supervisor({.strategy = strategy});
  supervisor.add("a", Actor{log, "a", never, lives[0]});
  supervisor.add("b", Actor{log, "b", now, lives[1]});
  supervisor.add("c", Actor{log, "c", never, lives[2]});
  auto running = weft::go([&] { supervisor.run(); });
  until([&] { return lives[0] == 1 && lives[1] == 1 && lives[2] == 1; });
  log.add("|");
  now.set();
  const int expected = strategy == weft::Strategy::one_for_one ? 4 : strategy == weft::Strategy::rest_for_one ? 5 : 6;
  until([&] { return lives[0] + lives[1] + lives[2] == expected; });
  until_parked(running);  // it waits for the next event: this one is dealt with
  log.add("|");
  CHECK(supervisor.restarts() == 1);
  supervisor.stop();
  running.join();
  CHECK(supervisor.restarts() == 1);
  const std::string text = log.text();
  return text.substr(text.find('|') + 2);
}

}  // namespace

TEST_CASE("supervisor: one_for_one, one_for_all, rest_for_one; stopped in reverse, started in order [N-026]") {
  weft::run(workers(1), [] {
    CHECK(run_strategy(weft::Strategy::one_for_one) == "!b +b | -c -b -a ");
    CHECK(run_strategy(weft::Strategy::one_for_all) == "!b -c -a +a +b +c | -c -b -a ");
    CHECK(run_strategy(weft::Strategy::rest_for_one) == "!b -c +b +c | -c -b -a ");
  });
  // Who starts first is seen by one worker only; who is stopped and how often, by all.
  weft::run(workers(4), [] {
    CHECK(run_strategy(weft::Strategy::one_for_one) == "!b +b | -c -b -a ");
    CHECK(run_strategy(weft::Strategy::one_for_all).find("!b -c -a ") == 0);
    CHECK(run_strategy(weft::Strategy::rest_for_one).find("!b -c ") == 0);
  });
}

TEST_CASE("supervisor: intensity is exact: so many restarts are made, the next one gives up [N-026] [B21]") {
  in_each_universe([](const Universe&) {
    for (const unsigned most : {0U, 1U, 3U}) {
      std::atomic<unsigned> lives{0};
      std::atomic<bool> sibling_stopped{false};
      weft::SupervisorOptions options;
      options.max_restarts = most;
      options.within = 1h;
      weft::Supervisor supervisor(options);
      supervisor.add("steady", [&] {
        try {
          weft::sleep(1h);
        } catch (const weft::Cancelled&) {
          sibling_stopped = true;
          throw;
        }
      });
      supervisor.add("broken", [&] {  // fails in its first instruction
        ++lives;
        throw std::runtime_error("broken");
      });
      try {
        supervisor.run();
        FAIL("it did not give up");
      } catch (const weft::SupervisorGaveUp& error) {
        CHECK(error.child() == "broken");
        const auto others = weft::other_errors();
        REQUIRE(others.size() == 1);
        CHECK_THROWS_WITH(std::rethrow_exception(others[0]), "broken");
      }
      CHECK(lives == most + 1);
      CHECK(supervisor.restarts() == most);
    }
  });
}

TEST_CASE("supervisor: restarts further apart than the window do not add up [N-026]") {
  weft::run(workers(2), [] {
    std::atomic<int> lives{0};
    weft::SupervisorOptions options;
    options.max_restarts = 1;
    options.within = 2ms;
    weft::Supervisor supervisor(options);
    supervisor.add(
        "slow",
        [&] {
          if (++lives == 5) return;
          weft::sleep(10ms);
          throw std::runtime_error("slowly");
        },
        weft::Restart::transient);
    supervisor.run();
    CHECK(lives == 5);
    CHECK(supervisor.restarts() == 4);
  });
}

TEST_CASE("supervisor: permanent, transient and temporary children [N-026]") {
  in_each_universe([](const Universe&) {
    std::atomic<int> transient{0};
    std::atomic<int> temporary{0};
    weft::Supervisor ends;
    ends.add(
        "temporary",
        [&] {
          ++temporary;
          throw std::runtime_error("once");
        },
        weft::Restart::temporary);
    ends.add(
        "transient",
        [&] {
          if (++transient < 3) throw std::runtime_error("twice");
        },
        weft::Restart::transient);
    ends.run();
    CHECK(temporary == 1);
    CHECK(transient == 3);
    CHECK(ends.restarts() == 2);

    std::atomic<int> permanent{0};
    weft::Supervisor never_ends({.max_restarts = 4, .within = 1h});
    never_ends.add("permanent", [&] { ++permanent; });
    CHECK_THROWS_AS(never_ends.run(), weft::SupervisorGaveUp);
    CHECK(permanent == 5);
  });
}

TEST_CASE("supervisor: backoff grows, up to its limit [N-026]") {
  weft::run(workers(1), [] {
    std::vector<std::chrono::steady_clock::time_point> starts;
    weft::SupervisorOptions options;
    options.max_restarts = 4;
    options.within = 1h;
    options.backoff = {.first = 4ms, .factor = 2, .most = 10ms};
    weft::Supervisor supervisor(options);
    supervisor.add("flaky", [&] {
      starts.push_back(weft::current_io().now());
      throw std::runtime_error("flaky");
    });
    CHECK_THROWS_AS(supervisor.run(), weft::SupervisorGaveUp);
    REQUIRE(starts.size() == 5);
    const std::chrono::nanoseconds least[] = {4ms, 8ms, 10ms, 10ms};
    for (std::size_t i = 0; i < 4; ++i) CHECK(starts[i + 1] - starts[i] >= least[i]);
  });
}

TEST_CASE("supervisor: cancelled between a child's end and its restart, nothing is left [B21]") {
  in_each_universe([](const Universe&) {
    std::atomic<int> alive{0};
    weft::SupervisorOptions options;
    options.backoff = {.first = 1h, .most = 1h};
    CHECK_FALSE(weft::timeout(3ms, [&] {
      weft::Supervisor supervisor(options);
      supervisor.add("gone", [] { throw std::runtime_error("gone"); });
      supervisor.add("stays", [&] {
        ++alive;
        try {
          weft::sleep(1h);
        } catch (...) {
          --alive;
          throw;
        }
      });
      supervisor.run();
    }));
    CHECK(alive == 0);
  });
}

TEST_CASE("supervisor: one inside another: giving up is a failure of the outer one's child [N-026]") {
  weft::run(workers(2), [] {
    std::atomic<int> inner_lives{0};
    weft::SupervisorOptions options;
    options.max_restarts = 1;
    options.within = 1h;
    weft::Supervisor outer(options);
    outer.add("inner", [&] {
      weft::Supervisor inner(options);
      inner.add("broken", [&] {
        ++inner_lives;
        throw std::runtime_error("broken");
      });
      inner.run();
    });
    CHECK_THROWS_AS(outer.run(), weft::SupervisorGaveUp);
    CHECK(inner_lives == 4);
  });
}
