// SPDX-License-Identifier: MIT
// A clock that moves only when nothing else can happen, and how tests steer it.
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/blocking.hpp"
#include "weft/channel.hpp"
#include "weft/deadlock.hpp"
#include "weft/future.hpp"
#include "weft/interval.hpp"
#include "weft/mutex.hpp"
#include "weft/race.hpp"
#include "weft/runtime.hpp"
#include "weft/select.hpp"
#include "weft/supervisor.hpp"
#include "weft/sync_event.hpp"
#include "weft/time.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

weft::RuntimeOptions virtually(unsigned count) {
  weft::RuntimeOptions options = workers(count);
  options.clock = weft::RuntimeOptions::Clock::virtual_;
  return options;
}

std::chrono::nanoseconds since_start() {
  return weft::now().time_since_epoch();
}

}  // namespace

TEST_CASE("virtual time: a sleep of an hour takes no time, and the clock says an hour [X-033]") {
  for (const unsigned count : worker_counts()) {
    const auto begun = std::chrono::steady_clock::now();
    weft::run(virtually(count), [] {
      CHECK(since_start() == 0ns);
      weft::sleep(1h);
      CHECK(since_start() == 1h);
      weft::sleep(0ns);
      CHECK(since_start() == 1h);
    });
    CHECK(std::chrono::steady_clock::now() - begun < 5s);
  }
  // And the real one takes its time.
  const auto begun = std::chrono::steady_clock::now();
  weft::run(workers(1), [] { weft::sleep(20ms); });
  CHECK(std::chrono::steady_clock::now() - begun >= 20ms);
}

TEST_CASE("virtual time: two tasks interleave in the order of their deadlines [X-024]") {
  for (const unsigned count : worker_counts()) {
    weft::run(virtually(count), [] {
      std::mutex mutex;
      std::string log;
      const auto say = [&](const char* word) {
        const std::lock_guard guard(mutex);
        log += word;
      };
      weft::Future<void> a = weft::async([&] {
        weft::sleep(10ms);
        say("a10 ");
        weft::sleep(20ms);
        say("a30 ");
      });
      weft::Future<void> b = weft::async([&] {
        weft::sleep(20ms);
        say("b20 ");
        weft::sleep(20ms);
        say("b40 ");
      });
      a.await();
      b.await();
      CHECK(log == "a10 b20 a30 b40 ");
      CHECK(since_start() == 40ms);
    });
  }
}

TEST_CASE("virtual time: two runs are the same, to the nanosecond; equal deadlines in the order of arming [X-010]") {
  const auto once = [] {
    std::string log;
    weft::run(virtually(1), [&] {
      std::vector<weft::Future<void>> all;
      for (int i = 0; i < 50; ++i)
        all.push_back(weft::async([&log, i] {
          for (int round = 0; round < 3; ++round) {
            weft::sleep(std::chrono::nanoseconds((i * 7919) % 13 + 1));
            log += std::to_string(i) + "@" + std::to_string(since_start().count()) + " ";
          }
        }));
      for (auto& each : all) each.await();
    });
    return log;
  };
  const std::string first = once();
  CHECK(first.size() > 500);
  CHECK(once() == first);
  CHECK(once() == first);
}

TEST_CASE(
    "virtual time: a race takes exactly the winner's time, by label, and losers do nothing [X-027] [X-029] [X-030]") {
  for (const unsigned count : {1U, 3U}) {
    weft::run(virtually(count), [] {
      std::atomic<int> late{0};
      const auto after = [&](std::chrono::nanoseconds span, int value) {
        return [&late, span, value] {
          weft::sleep(span);
          late += value != 2;
          return value;
        };
      };
      auto result = weft::race(weft::label<"slow">(after(30ms, 3)), weft::label<"fast">(after(10ms, 2)),
                               weft::label<"middle">(after(20ms, 1)));
      CHECK(result.label() == "fast");
      CHECK(result.get<"fast">() == 2);
      CHECK(since_start() == 10ms);
      CHECK(late == 0);
      weft::sleep(1h);
      CHECK(late == 0);
    });
  }
}

TEST_CASE("virtual time: timeouts, await_for, channels, select and intervals see the same clock [X-033]") {
  weft::run(virtually(2), [] {
    CHECK_FALSE(weft::timeout(1h, [] { weft::sleep(2h); }));
    CHECK(since_start() == 1h);
    weft::Future<int> slow = weft::async([] {
      weft::sleep(10h);
      return 1;
    });
    CHECK(slow.await_for(1h) == nullptr);
    CHECK(since_start() == 2h);
    weft::Channel<int> empty(1);
    CHECK_FALSE(empty.recv_for(1h).has_value());
    CHECK(since_start() == 3h);
    CHECK(weft::select(weft::op::recv(empty), weft::op::timeout(1h)).index() == 1);
    CHECK(since_start() == 4h);
    weft::Interval beat(30min);
    for (int i = 0; i < 4; ++i) beat.tick();
    CHECK(since_start() == 6h);
    CHECK(weft::time_left() == std::chrono::nanoseconds::max());
    CHECK(slow.await() == 1);
    CHECK(since_start() == 11h);
  });
}

TEST_CASE("virtual time: one who sleeps with a lock held does not stop the clock [N-045]") {
  for (const unsigned count : worker_counts()) {
    weft::run(virtually(count), [] {
      weft::Mutex mutex;
      std::atomic<int> through{0};
      std::vector<weft::Future<void>> all;
      for (int i = 0; i < 10; ++i)
        all.push_back(weft::async([&] {
          const std::lock_guard guard(mutex);
          weft::sleep(1min);
          ++through;
        }));
      for (auto& each : all) each.await();
      CHECK(through == 10);
      CHECK(since_start() == 10min);
    });
  }
}

TEST_CASE("virtual time: advance and settle, step by step [N-046]") {
  for (const unsigned count : worker_counts()) {
    weft::run(virtually(count), [] {
      std::atomic<int> ticks{0};
      weft::Future<void> clock = weft::async([&] {
        for (;;) {
          weft::sleep(1s);
          ++ticks;
        }
      });
      weft::settle();
      CHECK(ticks == 0);
      CHECK(since_start() == 0ns);  // settling takes no time
      weft::advance(999ms);
      CHECK(ticks == 0);
      weft::advance(1ms);
      CHECK(ticks == 1);
      weft::advance(1min);
      CHECK(ticks == 61);
      CHECK(since_start() == 61s);
    });
  }
}

TEST_CASE("virtual time: settle waits for all who can run, with a real clock as well [N-046]") {
  for (const unsigned count : worker_counts()) {
    weft::run(workers(count), [] {
      std::atomic<int> ran{0};
      std::vector<weft::Future<void>> all;
      for (int i = 0; i < 20; ++i)
        all.push_back(weft::async([&] {
          for (int round = 0; round < 10; ++round) weft::yield_now();
          ++ran;
        }));
      weft::settle();
      CHECK(ran == 20);
      CHECK_THROWS_AS(weft::advance(1s), weft::RuntimeError);
    });
  }
  CHECK_THROWS_AS(weft::settle(), weft::RuntimeError);
}

TEST_CASE("virtual time: it stands while a call outside is under way, or an ExternalWait is about [HB13]") {
  weft::run(virtually(2), [] {
    weft::Future<void> sleeper = weft::async([] { weft::sleep(1h); });
    weft::blocking([] { std::this_thread::sleep_for(20ms); });
    CHECK(since_start() == 0ns);
    CHECK_FALSE(sleeper.done());
    std::atomic<std::uint32_t> flag{0};
    auto outside = std::make_unique<weft::ExternalWait>();
    const weft::Unparker wake = weft::unparker();
    std::thread thread([&] {
      std::this_thread::sleep_for(20ms);
      flag = 1;
      wake.unpark();
    });
    while (flag == 0) weft::park_if(flag, 0);
    CHECK(since_start() == 0ns);
    std::thread later([&] {
      std::this_thread::sleep_for(5ms);
      outside.reset();
    });
    sleeper.await();
    CHECK(since_start() == 1h);
    thread.join();
    later.join();
  });
}

TEST_CASE("virtual time: it stands while a thread that has used a primitive runs [HB13] [N-013]") {
  for (const unsigned count : worker_counts()) {
    weft::run(virtually(count), [] {
      weft::Channel<int> to_task(0);
      weft::Channel<int> to_thread(0);
      std::thread thread([&] {
        to_task.send(1);  // from now on it is known
        std::this_thread::sleep_for(30ms);
        to_task.send(2);
        weft::sleep(10ms);  // of the real clock: it will come back by itself
        to_task.send(3);
        CHECK(to_thread.recv() == 4);  // for ever: it holds nothing any more
        std::this_thread::sleep_for(10ms);
        to_task.send(5);
      });
      {
        const weft::ExternalWait until_it_is_known;
        CHECK(to_task.recv() == 1);
      }
      CHECK(to_task.recv_for(1h) == 2);
      CHECK(to_task.recv_for(1h) == 3);
      CHECK(since_start() == 0ns);
      weft::sleep(1h);  // until it waits
      CHECK(since_start() == 1h);
      to_thread.send(4);
      CHECK(to_task.recv_for(1h) == 5);
      weft::sleep(1h);  // until it has ended, or some call of the system library keeps it
      CHECK(since_start() == 2h);
      thread.join();
    });
  }
}

TEST_CASE("virtual time: it stands while another runtime runs or will by itself, and not for one that waits [HB13]") {
  weft::Channel<int> to_virtual(0);
  weft::Channel<int> to_real(0);
  std::atomic<bool> begun{false};
  std::thread thread([&] {
    weft::run(workers(1), [&] {
      begun = true;
      weft::sleep(30ms);
      to_virtual.send(1);
      CHECK(to_real.recv() == 2);
    });
  });
  while (!begun) std::this_thread::yield();
  weft::run(virtually(2), [&] {
    CHECK(to_virtual.recv_for(1h) == 1);
    CHECK(since_start() == 0ns);
    weft::sleep(1h);
    CHECK(since_start() == 1h);
    to_real.send(2);
  });
  thread.join();
}

TEST_CASE("virtual time: a thread of the blocking pool without a call holds nothing [HB13]") {
  weft::run(virtually(1), [] {
    weft::Channel<int> some(1);
    weft::blocking([&] { some.send(1); });
    CHECK(some.recv() == 1);
    weft::sleep(1h);
    CHECK(since_start() == 1h);
  });
}

TEST_CASE("virtual time: a supervisor's pauses are exact [N-026]") {
  weft::run(virtually(1), [] {
    std::vector<std::chrono::nanoseconds> starts;
    weft::SupervisorOptions options;
    options.max_restarts = 5;
    options.within = 1h;
    options.backoff = {.first = 1s, .factor = 3, .most = 10s};
    weft::Supervisor supervisor(options);
    supervisor.add("flaky", [&] {
      starts.push_back(since_start());
      throw std::runtime_error("flaky");
    });
    CHECK_THROWS_AS(supervisor.run(), weft::SupervisorGaveUp);
    CHECK(starts == std::vector<std::chrono::nanoseconds>{0s, 1s, 4s, 13s, 23s, 33s});
  });
}

TEST_CASE("virtual time: a supervisor's window is exact at its boundary [N-026]") {
  weft::run(virtually(1), [] {
    const auto lives = [](std::chrono::nanoseconds apart) {
      int count = 0;
      weft::SupervisorOptions options;
      options.max_restarts = 1;
      options.within = 10s;
      weft::Supervisor supervisor(options);
      supervisor.add(
          "slow",
          [&] {
            if (++count == 4) return;
            weft::sleep(apart);
            throw std::runtime_error("slow");
          },
          weft::Restart::transient);
      try {
        supervisor.run();
      } catch (const weft::SupervisorGaveUp&) {
        return -count;
      }
      return count;
    };
    CHECK(lives(10s) == 4);         // the one before is just out of the window
    CHECK(lives(10s - 1ns) == -2);  // and just in it
  });
}
