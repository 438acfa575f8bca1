// SPDX-License-Identifier: MIT
// Deadlocks that were planted are named, and nothing else is called one [N-040].
#include "weft/deadlock.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/universe.hpp"
#include "weft/barrier.hpp"
#include "weft/blocking.hpp"
#include "weft/channel.hpp"
#include "weft/cond_var.hpp"
#include "weft/latch.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/once.hpp"
#include "weft/select.hpp"
#include "weft/semaphore.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using std::string;

namespace {

bool has(const string& text, const string& part) {
  return text.find(part) != string::npos;
}

weft::TaskOptions named(const char* name, std::source_location site = std::source_location::current()) {
  weft::TaskOptions options;
  options.name = name;
  options.site = site;
  return options;
}

// An emulator has threads of its own in our process, which nobody knows: every verdict is a "maybe" there.
bool can_be_sure() {
  return !emulated();
}

// Runs it with 1, 2 and 4 workers; each time run() must throw Deadlock. check(report).
void dies(const std::function<void()>& body, const std::function<void(const string&)>& check) {
  if (!can_be_sure()) return;
  for (const unsigned count : worker_counts()) {
    INFO("workers: ", count);
    weft::Runtime runtime(workers(count));
    string report;
    try {
      runtime.run(body);
    } catch (const weft::Deadlock& deadlock) {
      report = deadlock.what();
      CHECK(deadlock.code() == weft::RuntimeErrc::deadlock);
    }
    INFO("report: ", report);
    REQUIRE(has(report, "nothing can run any more"));
    check(report);
  }
}

TEST_CASE("deadlock: two mutexes in opposite order are named as a cycle [N-040]") {
  dies(
      [] {
        weft::Mutex a;
        weft::Mutex b;
        weft::Barrier both(2);
        weft::with_nursery([&](weft::Nursery& n) {
          (void)n.spawn(
              [&] {
                const std::lock_guard first(a);
                (void)both.arrive_and_wait();
                const std::lock_guard second(b);
              },
              named("left"));
          (void)n.spawn(
              [&] {
                const std::lock_guard first(b);
                (void)both.arrive_and_wait();
                const std::lock_guard second(a);
              },
              named("right"));
        });
      },
      [](const string& report) {
        CHECK(has(report, "\"left\" -lock-> "));
        CHECK(has(report, "\"right\" -lock-> "));
        CHECK(has(report, "held by"));
        CHECK(has(report, "deadlock_test.cpp"));
        CHECK((has(report, "waits: nursery") || has(report, "in place")));
      });
}

TEST_CASE("deadlock: who locks twice waits for itself [N-040]") {
  dies(
      [] {
        weft::Mutex mutex;
        mutex.lock();
        mutex.lock();
      },
      [](const string& report) {
        CHECK(has(report, "cycle: task "));
        CHECK(has(report, "-lock-> "));
      });
}

TEST_CASE("deadlock: two tasks that join each other [N-040]") {
  dies(
      [] {
        std::optional<weft::Task<void>> one;
        std::optional<weft::Task<void>> two;
        weft::SyncEvent ready;
        weft::with_nursery([&](weft::Nursery& n) {
          one = n.spawn(
              [&] {
                ready.wait();
                two->join();
              },
              named("one"));
          two = n.spawn(
              [&] {
                ready.wait();
                one->join();
              },
              named("two"));
          ready.set();
        });
      },
      [](const string& report) {
        CHECK(has(report, "\"one\" -join-> "));
        CHECK(has(report, "\"two\" -join-> "));
      });
}

TEST_CASE("deadlock: a nursery waits for a child that wants what its owner holds [N-040]") {
  dies(
      [] {
        weft::Mutex mutex;
        const std::lock_guard guard(mutex);
        weft::with_nursery([&](weft::Nursery& n) { (void)n.spawn([&] { mutex.lock(); }, named("child")); });
      },
      [](const string& report) {
        CHECK(has(report, "cycle: "));
        CHECK(has(report, "\"child\" -lock-> "));
        CHECK((has(report, "-nursery-> ") || has(report, "-in place-> ")));
      });
}

TEST_CASE("deadlock: a join of a task that wants what the joiner holds, in place or not [N-040]") {
  dies(
      [] {
        weft::Mutex mutex;
        weft::with_nursery([&](weft::Nursery& n) {
          const std::lock_guard guard(mutex);
          n.spawn([&] { mutex.lock(); }, named("child")).join();
        });
      },
      [](const string& report) {
        CHECK(has(report, "\"child\" -lock-> "));
        CHECK((has(report, "-join-> ") || has(report, "-in place-> ")));
      });
}

TEST_CASE("deadlock: an initialiser that needs itself through another task [N-040]") {
  dies(
      [] {
        weft::Once once;
        weft::with_nursery(
            [&](weft::Nursery& n) { once.call([&] { n.spawn([&] { once.call([] {}); }, named("again")).join(); }); });
      },
      [](const string& report) { CHECK(has(report, "\"again\" -once-> ")); });
}

TEST_CASE("deadlock: a ring of three [N-040]") {
  dies(
      [] {
        weft::Mutex mutexes[3];
        weft::Barrier all(3);
        weft::with_nursery([&](weft::Nursery& n) {
          for (std::size_t i = 0; i < 3; ++i)
            (void)n.spawn(
                [&, i] {
                  const std::lock_guard first(mutexes[i]);
                  (void)all.arrive_and_wait();
                  const std::lock_guard second(mutexes[(i + 1) % 3]);
                },
                named(i == 0   ? "x"
                      : i == 1 ? "y"
                               : "z"));
        });
      },
      [](const string& report) {
        const std::size_t at = report.find("cycle: ");
        REQUIRE(at != string::npos);
        const string line = report.substr(at, report.find('\n', at) - at);
        for (const char* name : {"\"x\" -lock-> ", "\"y\" -lock-> ", "\"z\" -lock-> "}) CHECK(has(line, name));
      });
}

TEST_CASE("deadlock: two who send to each other before they receive; the other side is shown as last seen [N-040]") {
  dies(
      [] {
        weft::Channel<int> to_left(1);
        weft::Channel<int> to_right(1);
        weft::Barrier both(2);
        weft::with_nursery([&](weft::Nursery& n) {
          const auto talk = [&both](weft::Channel<int>& out, weft::Channel<int>& in) {
            out.send(1);
            (void)in.recv();
            (void)both.arrive_and_wait();
            out.send(2);
            (void)both.arrive_and_wait();
            out.send(3);  // is full: each waits for the other to receive
            (void)in.recv();
          };
          (void)n.spawn([&, talk] { talk(to_right, to_left); }, named("left"));
          (void)n.spawn([&, talk] { talk(to_left, to_right); }, named("right"));
        });
      },
      [](const string& report) {
        CHECK(has(report, "send 0x"));
#ifndef NDEBUG
        CHECK(has(report, "last seen used by"));
        CHECK(has(report, "\"left\" -send, last seen-> "));
        CHECK(has(report, "\"right\" -send, last seen-> "));
#endif
      });
}

TEST_CASE("deadlock: through a select that joins who waits for the selector [N-040]") {
  dies(
      [] {
        weft::Mutex mutex;
        weft::Channel<int> never(0);
        weft::SyncEvent locked;
        weft::Task<void> other;  // used by a child
        weft::with_nursery([&](weft::Nursery& n) {
          other = n.spawn(
              [&] {
                locked.wait();
                mutex.lock();
              },
              named("other"));
          (void)n.spawn(
              [&] {
                const std::lock_guard guard(mutex);
                locked.set();
                (void)weft::select(weft::op::recv(never), weft::op::join(other));
              },
              named("selector"));
        });
      },
      [](const string& report) {
        CHECK(has(report, "\"other\" -lock-> "));
        CHECK(has(report, "\"selector\" -select join-> "));
      });
}

TEST_CASE("deadlock: waits that nobody holds are listed with what they wait for [N-040]") {
  dies(
      [] {
        weft::Semaphore semaphore(0);
        weft::Latch latch(1);
        weft::Mutex mutex;
        weft::CondVar cond;
        weft::Barrier barrier(2);
        weft::with_nursery([&](weft::Nursery& n) {
          n.start([&] { semaphore.acquire(); });
          n.start([&] { latch.wait(); });
          n.start([&] { (void)barrier.arrive_and_wait(); });
          n.start([&] {
            std::unique_lock lock(mutex);
            cond.wait(lock);
          });
        });
      },
      [](const string& report) {
        for (const char* kind : {"acquire 0x", "latch 0x", "barrier 0x", "wait 0x"}) CHECK(has(report, kind));
        CHECK((has(report, "waits: nursery 0x") || has(report, "waits: in place")));
        CHECK_FALSE(has(report, "cycle"));
      });
}

TEST_CASE(
    "deadlock: the stuck tasks end by Cancelled, their destructors run, and the runtime can be used again [N-040]") {
  if (!can_be_sure()) return;
  weft::Runtime runtime(workers(2));
  bool destroyed = false;
  bool reason = false;
  for (int round = 0; round < 2; ++round) {
    destroyed = reason = false;
    CHECK_THROWS_AS(runtime.run([&] {
      struct Witness {
        ~Witness() { *flag = true; }
        bool* flag;
      } witness{&destroyed};
      weft::SyncEvent never;
      try {
        never.wait();
      } catch (const weft::Cancelled& cancelled) {
        reason = cancelled.reason() == weft::CancelReason::deadlock;
        throw;
      }
    }),
                    weft::Deadlock);
    CHECK(destroyed);
    CHECK(reason);
    CHECK(runtime.run([] { return 7; }) == 7);
  }
}

TEST_CASE("deadlock: a stuck pair beside a live task is found by asking [N-040]") {
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    weft::Mutex a;
    weft::Mutex b;
    weft::Barrier both(2);
    CHECK(weft::deadlocks().empty());
    weft::with_nursery([&](weft::Nursery& n) {
      auto left = n.spawn(
          [&] {
            const std::lock_guard first(a);
            (void)both.arrive_and_wait();
            const std::lock_guard second(b);
          },
          named("left"));
      auto right = n.spawn(
          [&] {
            const std::lock_guard first(b);
            (void)both.arrive_and_wait();
            const std::lock_guard second(a);
          },
          named("right"));
      until([&] {
        const string text = weft::deadlocks();
        return has(text, "\"left\" -lock-> ") && has(text, "\"right\" -lock-> ");
      });
      // One that waits with a limit is stuck with nobody.
      auto timed = n.spawn([&] { (void)a.lock_for(1h); }, named("timed"));
      until_parked(timed);
      CHECK_FALSE(has(weft::deadlocks(), "timed"));
      timed.cancel();
      timed.wait();
      left.cancel();  // ends it
      until([&] { return weft::deadlocks().empty(); });
    });
  });
}

TEST_CASE("deadlock: the caller can choose not to be told [N-040]") {
  weft::RuntimeOptions options = workers(1);
  options.deadlock = weft::RuntimeOptions::OnDeadlock::ignore;
  weft::Runtime runtime(options);
  weft::SyncEvent event;
  std::thread late([&] {
    std::this_thread::sleep_for(100ms);
    event.set();
  });
  CHECK(runtime.run([&] {
    event.wait();
    return 3;
  }) == 3);
  late.join();
}

TEST_CASE("deadlock: exit_on_deadlock makes 124 of it, and leaves other results alone [N-040]") {
  if (!can_be_sure()) return;
  CHECK(weft::exit_on_deadlock([] { return 5; }) == 5);
  CHECK(weft::exit_on_deadlock([] {
          return weft::run(workers(1), [] {
            weft::SyncEvent never;
            never.wait();
            return 0;
          });
        }) == weft::deadlock_exit_code);
}

TEST_CASE("deadlock: a program ends with 124 and its report, or goes on waiting and says so once [N-040]") {
  if (!can_be_sure()) return;
  const Outcome raised = run_program("deadlock", {"raise"});
  CHECK(raised.exit_code == 124);
  CHECK(raised.says("deadlock: nothing can run any more; 1 task waits"));
  CHECK(raised.says("event 0x"));
  const Outcome told = run_program("deadlock", {"report"});
  CHECK(told.signal == SIGALRM);
  const string text = "deadlock: nothing can run any more";
  const std::size_t first = told.output.find(text);
  REQUIRE(first != string::npos);
  CHECK(told.output.find(text, first + 1) == string::npos);
  CHECK(run_program("deadlock", {"raise"}, {"WEFT_DEADLOCK=raise"}).exit_code == 124);
}

TEST_CASE("deadlock: beside a thread that nobody knows it is a maybe: printed once, and no error [N-040]") {
  const Outcome outcome = run_program("deadlock", {"maybe"});
  CHECK(outcome.exit_code == 7);
  const string text = "maybe a deadlock";
  const std::size_t first = outcome.output.find(text);
  REQUIRE(first != string::npos);
  CHECK(outcome.output.find(text, first + 1) == string::npos);
}

// None of these is a deadlock; each outlasts the watch's patience several times.

TEST_CASE("deadlock: no false alarm beside a timer [N-040]") {
  for (const unsigned count : worker_counts()) {
    weft::Runtime runtime(workers(count));
    CHECK(runtime.run([] {
      weft::SyncEvent event;
      std::atomic<int> woken = 0;
      weft::with_nursery([&](weft::Nursery& n) {
        for (int i = 0; i < 3; ++i)
          n.start([&] {
            event.wait();
            ++woken;
          });
        n.start([&] {
          weft::sleep(250ms);
          event.set();
        });
      });
      return woken.load();
    }) == 3);
  }
}

TEST_CASE("deadlock: no false alarm beside a scope's deadline [N-040]") {
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    weft::SyncEvent never;
    CHECK_FALSE(weft::timeout(150ms, [&] { never.wait(); }));
  });
}

TEST_CASE("deadlock: no false alarm beside a blocking call [N-040]") {
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    weft::SyncEvent event;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] { event.wait(); });
      weft::blocking([] { std::this_thread::sleep_for(200ms); });
      event.set();
    });
  });
}

TEST_CASE("deadlock: no false alarm beside a task that blocks its worker [N-040]") {
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    weft::SyncEvent event;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] { event.wait(); });
      std::this_thread::sleep_for(200ms);
      event.set();
    });
  });
}

TEST_CASE("deadlock: no false alarm beside threads, known or not [N-040]") {
  for (const bool known : {false, true}) {
    weft::SyncEvent event;
    weft::SyncEvent begun;
    std::thread thread([&] {
      if (known) begun.wait();  // parks, so we know it from now on
      std::this_thread::sleep_for(200ms);
      event.set();
    });
    weft::Runtime runtime(workers(2));
    runtime.run([&] {
      begun.set();
      event.wait();
    });
    thread.join();
  }
}

TEST_CASE("deadlock: no false alarm beside a thread that waits for a limited time [N-040]") {
  weft::SyncEvent event;
  std::thread thread([&] {
    weft::SyncEvent never;
    CHECK_FALSE(never.wait_for(200ms));
    event.set();
  });
  weft::Runtime runtime(workers(2));
  runtime.run([&] { event.wait(); });
  thread.join();
}

TEST_CASE("deadlock: a thread that waits for the same is stuck with the others [N-040]") {
  if (!can_be_sure()) return;
  weft::Runtime runtime(workers(2));
  weft::Semaphore semaphore(0);
  std::thread thread([&] { semaphore.acquire(); });
  CHECK_THROWS_AS(runtime.run([&] {
    weft::SyncEvent never;
    never.wait();
  }),
                  weft::Deadlock);
  semaphore.release();
  thread.join();
}

TEST_CASE("deadlock: while an ExternalWait lives there is none; once it is gone, and its thread, there is [N-040]") {
  if (!can_be_sure()) return;
  weft::Runtime runtime(workers(1));
  std::atomic<bool> over{false};
  std::thread thread([&] {
    const weft::ExternalWait outside;
    std::this_thread::sleep_for(150ms);
    over = true;
  });
  CHECK_THROWS_AS(runtime.run([&] {
    weft::SyncEvent never;
    try {
      never.wait();
    } catch (...) {
      CHECK(over);
      throw;
    }
  }),
                  weft::Deadlock);
  thread.join();
}

TEST_CASE("deadlock: no false alarm beside another runtime that still does something [N-040]") {
  weft::SyncEvent event;
  std::thread other([&] {
    weft::Runtime second(workers(1));
    second.run([&] {
      weft::sleep(200ms);
      event.set();
    });
  });
  weft::Runtime first(workers(1));
  first.run([&] { event.wait(); });
  other.join();
}

}  // namespace
