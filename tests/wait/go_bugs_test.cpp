// SPDX-License-Identifier: MIT
// Twelve mistakes that Go programs are known for, written with Weft: each is impossible here, or is reported with the
// names of those who are stuck.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <source_location>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/universe.hpp"
#include "weft/channel.hpp"
#include "weft/cond_var.hpp"
#include "weft/deadlock.hpp"
#include "weft/latch.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/select.hpp"
#include "weft/semaphore.hpp"
#include "weft/wait_group.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using std::string;

namespace {

weft::TaskOptions named(const char* name, std::source_location site = std::source_location::current()) {
  weft::TaskOptions options;
  options.name = name;
  options.site = site;
  return options;
}

// Both policies, 1 and 4 workers.
void everywhere(const std::function<void(weft::Runtime&)>& body) {
  for (const unsigned count : worker_counts())
    for (const auto policy : {weft::RuntimeOptions::Policy::steal, weft::RuntimeOptions::Policy::global}) {
      INFO("workers: ", count, policy == weft::RuntimeOptions::Policy::steal ? ", steal" : ", global");
      weft::RuntimeOptions options = workers(count);
      options.policy = policy;
      weft::Runtime runtime(options);
      body(runtime);
    }
}

// Everybody is stuck; the report holds all of these. An emulator has threads of its own in our process, which nobody
// knows: there the program would be reported, and go on to wait.
void is_reported(const std::function<void()>& program, const std::vector<string>& parts) {
  if (emulated()) return;
  everywhere([&](weft::Runtime& runtime) {
    string report;
    try {
      runtime.run(program);
    } catch (const weft::Deadlock& deadlock) {
      report = deadlock.what();
    }
    INFO("report: ", report);
    for (const string& part : parts) {
      INFO("part: ", part);
      CHECK(report.find(part) != string::npos);
    }
  });
}

TEST_CASE(
    "go bugs: the receiver gave up by its timeout, the sender of an unbuffered reply is stuck: reported by name") {
  is_reported(
      [] {
        weft::Channel<int> reply;
        weft::Latch gave_up(1);
        weft::with_nursery([&](weft::Nursery& n) {
          (void)n.spawn(
              [&] {
                gave_up.wait();
                reply.send(1);
              },
              named("worker"));
          auto got = weft::select(weft::op::recv(reply), weft::op::timeout(100us));
          CHECK(got.index() == 1);
          gave_up.count_down();
        });
      },
      {"\"worker\"", "send"});
}

TEST_CASE("go bugs: the same with the nursery asked to stop, as a request that gave up should: nobody is stuck") {
  everywhere([](weft::Runtime& runtime) {
    runtime.run([] {
      weft::Channel<int> reply;
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] { reply.send(1); });
        n.cancel();
      });
    });
  });
}

TEST_CASE("go bugs: a lock held over a send, whose receiver needs the lock first: reported, with the holder") {
  is_reported(
      [] {
        weft::Channel<int> channel;
        weft::Mutex mutex;
        weft::Latch locked(1);
        weft::with_nursery([&](weft::Nursery& n) {
          (void)n.spawn(
              [&] {
                const std::lock_guard guard(mutex);
                locked.count_down();
                channel.send(1);
              },
              named("producer"));
          (void)n.spawn(
              [&] {
                locked.wait();
                const std::lock_guard guard(mutex);
                (void)channel.recv();
              },
              named("consumer"));
        });
      },
      {"\"producer\"", "\"consumer\"", "send", "lock", "held by"});
}

TEST_CASE("go bugs: two locks in opposite order: reported as a cycle") {
  is_reported(
      [] {
        weft::Mutex a;
        weft::Mutex b;
        weft::Latch both(2);
        const auto lock = [&both](weft::Mutex& first, weft::Mutex& second) {
          const std::lock_guard one(first);
          both.count_down();
          both.wait();
          const std::lock_guard two(second);
        };
        weft::with_nursery([&](weft::Nursery& n) {
          (void)n.spawn([&] { lock(a, b); }, named("ab"));
          (void)n.spawn([&] { lock(b, a); }, named("ba"));
        });
      },
      {"cycle", "\"ab\" -lock-> ", "\"ba\" -lock-> "});
}

TEST_CASE("go bugs: a reader that reads again while a writer waits between: reported") {
  is_reported(
      [] {
        weft::RwMutex mutex;
        weft::Task<void> writer;
        weft::Latch reading(1);
        std::atomic<bool> writes = false;
        weft::with_nursery([&](weft::Nursery& n) {
          writer = n.spawn(
              [&] {
                reading.wait();
                writes = true;
                const std::lock_guard guard(mutex);
              },
              named("writer"));
          (void)n.spawn(
              [&] {
                const std::shared_lock outer(mutex);
                reading.count_down();
                while (!writes || writer.status() != weft::TaskStatus::waiting) weft::yield_now();
                const std::shared_lock inner(mutex);
              },
              named("reader"));
        });
      },
      weft::detail::notes_use
          ? std::vector<string>{"\"reader\"", "last seen with task", "\"reader\" -lock_shared, last seen-> "}
          : std::vector<string>{"\"reader\"", "\"writer\""});
}

TEST_CASE("go bugs: who waits for a permit that another one keeps is reported, with the one who has it") {
  is_reported(
      [] {
        weft::Semaphore first(1);
        weft::Semaphore second(1);
        weft::Latch both(2);
        weft::with_nursery([&](weft::Nursery& n) {
          const auto take = [&](weft::Semaphore& mine, weft::Semaphore& other) {
            mine.acquire();
            both.count_down();
            both.wait();
            other.acquire();
          };
          (void)n.spawn([&, take] { take(first, second); }, named("left"));
          (void)n.spawn([&, take] { take(second, first); }, named("right"));
        });
      },
      weft::detail::notes_use
          ? std::vector<string>{"last seen with", "\"left\" -acquire, last seen-> ", "\"right\" -acquire, last seen-> "}
          : std::vector<string>{"\"left\"", "\"right\"", "acquire"});
}

TEST_CASE("go bugs: one done() too few: the one who waits for the group is reported; one too many is refused") {
  is_reported(
      [] {
        weft::WaitGroup group(2);
        weft::with_nursery([&](weft::Nursery& n) {
          n.start([&] { group.done(); });
          (void)n.spawn([&] { group.wait(); }, named("waiter"));
        });
      },
      {"\"waiter\"", "wait_group"});
  weft::WaitGroup group(1);
  group.done();
  CHECK_THROWS_AS(group.done(), std::logic_error);
}

TEST_CASE("go bugs: adding to a group after the wait has begun: a nursery waits for late children, too") {
  everywhere([](weft::Runtime& runtime) {
    std::atomic<int> ended = 0;
    runtime.run([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] {
          weft::sleep(1ms);
          for (int i = 0; i < 10; ++i)
            n.start([&] {
              weft::sleep(1ms);
              ++ended;
            });
        });
      });
      CHECK(ended == 10);
    });
  });
}

TEST_CASE("go bugs: a second close is no crash, and the first reason stays") {
  weft::Channel<int> channel(1);
  CHECK(channel.close("first"));
  CHECK_FALSE(channel.close("second"));
  CHECK(channel.close_reason() == "first");
}

TEST_CASE("go bugs: a send on a closed channel fails by an exception, and the value is still the sender's") {
  weft::Channel<std::unique_ptr<int>> channel(1);
  channel.close("over");
  auto value = std::make_unique<int>(7);
  CHECK_THROWS_WITH_AS(channel.send(std::move(value)), doctest::Contains("over"), weft::ChannelClosed);
  REQUIRE(value != nullptr);
  CHECK(*value == 7);
}

TEST_CASE("go bugs: a close while senders are parked cuts nothing off: what they sent arrives, and they are told so") {
  everywhere([](weft::Runtime& runtime) {
    runtime.run([] {
      weft::Channel<int> channel;
      std::atomic<int> sent = 0;
      int received = 0;
      weft::with_nursery([&](weft::Nursery& n) {
        for (int i = 1; i <= 5; ++i)
          n.start([&, i] {
            try {
              channel.send(i);
              sent += i;
            } catch (const weft::ChannelClosed&) {  // came after the close
            }
          });
        weft::sleep(1ms);
        channel.close();
        for (const int value : channel) received += value;
      });
      CHECK(received == sent);
    });
  });
}

TEST_CASE("go bugs: a select whose cases nobody serves, Go's nil channels: reported as a select") {
  is_reported(
      [] {
        weft::Channel<int> one;
        weft::Channel<int> two;
        weft::with_nursery([&](weft::Nursery& n) {
          (void)n.spawn([&] { (void)weft::select(weft::op::recv(one), weft::op::recv(two)); }, named("chooser"));
        });
      },
      {"\"chooser\"", "select"});
}

TEST_CASE("go bugs: a range over a channel that nobody closes: the reader is reported") {
  is_reported(
      [] {
        weft::Channel<int> channel(4);
        weft::with_nursery([&](weft::Nursery& n) {
          n.start([&] {
            for (int i = 0; i < 10; ++i) channel.send(i);  // and forgets to close it
          });
          (void)n.spawn(
              [&] {
                for (const int value : channel) CHECK(value < 10);
              },
              named("reader"));
        });
      },
      {"\"reader\"", "recv"});
}

TEST_CASE(
    "go bugs: a notify before the wait: lost without a condition, which is reported; with one it cannot be lost") {
  is_reported(
      [] {
        weft::Mutex mutex;
        weft::CondVar changed;
        changed.notify_one();
        weft::with_nursery([&](weft::Nursery& n) {
          (void)n.spawn(
              [&] {
                std::unique_lock lock(mutex);
                changed.wait(lock);
              },
              named("late"));
        });
      },
      {"\"late\""});
  everywhere([](weft::Runtime& runtime) {
    runtime.run([] {
      weft::Mutex mutex;
      weft::CondVar changed;
      bool ready = true;
      changed.notify_one();
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return ready; });
    });
  });
}

TEST_CASE(
    "go bugs: two selects that meet on an unbuffered channel while each waits elsewhere, too: no wake is lost [HA7]") {
  everywhere([](weft::Runtime& runtime) {
    runtime.run([] {
      weft::Channel<int> one;
      weft::Channel<int> two;
      weft::Channel<int> three;
      for (int round = 0; round < 200; ++round) {
        std::atomic<int> met = 0;
        weft::with_nursery([&](weft::Nursery& n) {
          n.start([&] { met += weft::select(weft::op::send(one, 1), weft::op::recv(two)).index() == 0; });
          n.start([&] { met += weft::select(weft::op::recv(one), weft::op::send(three, 1)).index() == 0; });
        });
        CHECK(met == 2);
      }
    });
  });
}

}  // namespace
