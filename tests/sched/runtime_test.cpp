// SPDX-License-Identifier: MIT
// The life of a runtime: made, used, used again, shut down in every state.
#include "weft/runtime.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

std::size_t entries(const char* folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) count += entry.exists() ? 1U : 0U;
  return count;
}
std::set<std::string> threads_now() {
  std::set<std::string> ids;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) ids.insert(entry.path());
  return ids;
}
// No thread is there that was not there before. A thread that was joined leaves the list a little later.
bool no_new_threads(const std::set<std::string>& before) {
  return eventually([&] {
    const std::set<std::string> now = threads_now();
    return std::includes(before.begin(), before.end(), now.begin(), now.end());
  });
}
std::size_t fds_now() {
  return entries("/proc/self/fd");
}

// What act writes to standard error.
template <class F>
std::string said(F&& act) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const int old = dup(2);
  dup2(ends[1], 2);
  close(ends[1]);
  std::string text;
  std::thread reader([&] {
    char block[4096];
    for (ssize_t n; (n = read(ends[0], block, sizeof block)) > 0;) text.append(block, static_cast<std::size_t>(n));
  });
  act();
  dup2(old, 2);
  close(old);
  reader.join();
  close(ends[0]);
  return text;
}

weft::RuntimeErrc refused(auto&& act) {
  try {
    act();
  } catch (const weft::RuntimeError& error) {
    return error.code();
  }
  FAIL("it was accepted");
  return {};
}

}  // namespace

TEST_CASE("runtime: run gives the result of its task, or throws what ended it [N-012]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    CHECK(runtime.run([] { return 42; }) == 42);
    CHECK(runtime.run([] { return std::string("text"); }) == "text");
    CHECK_THROWS_WITH_AS(runtime.run([] { throw std::runtime_error("ended"); }), "ended", std::runtime_error);
    CHECK(runtime.run([] { return 43; }) == 43);
  });
  CHECK(weft::run([] {}) == 0);
  CHECK(weft::run([] { return 7; }) == 7);
}

TEST_CASE("runtime: made and used a hundred times, two at once, no thread or descriptor is left [N-012]") {
  CHECK(weft::run([] { weft::sleep(0ns); }) == 0);
  const std::set<std::string> threads = threads_now();
  const std::size_t fds = fds_now();
  const auto use = [](int round) {
    weft::Runtime runtime(workers(2));
    const int sum = runtime.run([&] {
      return weft::with_nursery([&](weft::Nursery& n) {
        auto a = n.spawn([round] {
          weft::yield_now();
          return round;
        });
        auto b = n.spawn([] {
          weft::sleep(10us);
          return 1;
        });
        return a.join() + b.join();
      });
    });
    CHECK(sum == round + 1);
  };
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) use(i);
  });
  for (int i = 0; i < 100; ++i) use(i);
  other.join();
  CHECK(no_new_threads(threads));
  CHECK(fds_now() == fds);
}

TEST_CASE("runtime: two runtimes pass work to each other by go [N-012]") {
  weft::Runtime first(workers(2));
  weft::Runtime second(workers(2));
  const int sum = first.run([&] {
    int total = 0;
    for (int i = 0; i < 100; ++i) total += second.go([i] { return i; }).join();
    return total;
  });
  CHECK(sum == 4950);
}

TEST_CASE("runtime: run inside a task is refused, and nothing breaks [HC12]") {
  weft::Runtime runtime(workers(2));
  weft::Runtime other(workers(2));
  runtime.run([&] {
    std::vector<char> big(200, 'x');
    for (int i = 0; i < 3; ++i) {
      CHECK(refused([&] { weft::run([] {}); }) == weft::RuntimeErrc::nested_run);
      CHECK(refused([&] { runtime.run([] {}); }) == weft::RuntimeErrc::nested_run);
      CHECK(refused([&] { other.run([big, more = std::string(100, 'y')] { return big.size(); }); }) ==
            weft::RuntimeErrc::nested_run);
    }
    // A record that was given back twice would now be two tasks.
    weft::with_nursery([](weft::Nursery& n) {
      std::vector<weft::Task<int>> tasks;
      for (int i = 0; i < 100; ++i) tasks.push_back(n.spawn([i] { return i; }));
      for (int i = 0; i < 100; ++i) CHECK(tasks[static_cast<std::size_t>(i)].join() == i);
    });
  });
}

TEST_CASE("runtime: a second thread in run is refused, go is not [HC12]") {
  weft::Runtime runtime(workers(2));
  std::atomic<bool> inside = false;
  std::atomic<bool> leave = false;
  std::thread first([&] {
    runtime.run([&] {
      inside = true;
      while (!leave) weft::sleep(100us);
    });
  });
  REQUIRE(eventually([&] { return inside.load(); }));
  CHECK(refused([&] { runtime.run([] {}); }) == weft::RuntimeErrc::busy);
  CHECK(runtime.go([] { return 5; }).join() == 5);
  leave = true;
  first.join();
}

TEST_CASE("runtime: a whole runtime fits into a fiber [HC12]") {
  weft::Fiber fiber(
      [] {
        const int code = weft::run(workers(2), [] {
          weft::with_nursery([](weft::Nursery& n) { n.start([] { weft::sleep(100us); }); });
          return 3;
        });
        weft::yield(code);
        return 4;
      },
      weft::SignalSet{weft::sig::yield});
  CHECK(fiber.resume().value.as<int>() == 3);
  CHECK(fiber.resume().value.as<int>() == 4);
}

TEST_CASE("runtime: a task that outlives run goes on, on the other workers [HC12]") {
  weft::Runtime runtime(workers(2));
  for (int round = 0; round < 10; ++round) {
    weft::Task<int> sleeper;
    weft::Task<int> yielder;
    runtime.run([&] {
      sleeper = weft::go([] {
        weft::sleep(3ms);
        return 1;
      });
      yielder = weft::go([] {
        for (int i = 0; i < 1000; ++i) weft::yield_now();
        return 2;
      });
      // Started, so that they may well stand in the queues and the wheel of the worker that is about to leave.
      while (sleeper.status() == weft::TaskStatus::created || yielder.status() == weft::TaskStatus::created)
        weft::yield_now();
    });
    REQUIRE(eventually([&] { return sleeper.done() && yielder.done(); }));
    CHECK(sleeper.join() == 1);
    CHECK(yielder.join() == 2);
  }
}

TEST_CASE("runtime: what one run left behind, the next one finishes [N-012]") {
  weft::Runtime runtime(workers(1));
  weft::Task<int> left;
  runtime.run([&] {
    left = weft::go([] {
      weft::sleep(1ms);
      return 1;
    });
    weft::yield_now();
  });
  CHECK(runtime.run([&] { return left.join(); }) == 1);
}

TEST_CASE("shutdown: parked, sleeping, queued and new tasks all end; later spawns are refused [V-088] [B19]") {
  const std::set<std::string> threads = threads_now();
  for (const unsigned count : worker_counts()) {
    weft::Runtime runtime(workers(count));
    std::vector<weft::Task<void>> tasks;
    std::atomic<int> reasons = 0;
    const auto note = [&](const weft::Cancelled& cancelled) {
      if (cancelled.reason() == weft::CancelReason::shutdown) ++reasons;
    };
    runtime.run([&] {
      for (int i = 0; i < 50; ++i) {
        tasks.push_back(weft::go([&] {
          try {
            weft::sleep(1h);
          } catch (const weft::Cancelled& cancelled) {
            note(cancelled);
            throw;
          }
        }));
        tasks.push_back(weft::go([&] {
          try {
            weft::with_nursery([&](weft::Nursery& n) { n.start([] { weft::sleep(1h); }); });
          } catch (const weft::Cancelled& cancelled) {
            note(cancelled);
            throw;
          }
        }));
        tasks.push_back(weft::go([&] {
          try {
            for (;;) weft::yield_now();
          } catch (const weft::Cancelled& cancelled) {
            note(cancelled);
            throw;
          }
        }));
      }
      weft::sleep(1ms);
      for (int i = 0; i < 50; ++i) tasks.push_back(weft::go([] { weft::sleep(1h); }));
    });
    CHECK(runtime.shutdown());
    const weft::RuntimeStats stats = runtime.stats();
    CHECK(stats.started == stats.finished);
    for (const auto& task : tasks) CHECK(task.done());
    CHECK(refused([&] { (void)runtime.go([] {}); }) == weft::RuntimeErrc::shut_down);
    CHECK(refused([&] { runtime.run([] {}); }) == weft::RuntimeErrc::shut_down);
    CHECK(no_new_threads(threads));
    CHECK(reasons > 0);
  }
}

TEST_CASE(
    "shutdown: nurseries of tasks that clean up still spawn; the children are born cancelled unless shielded [HC9]") {
  for (const unsigned count : worker_counts()) {
    CAPTURE(count);
    weft::Runtime runtime(workers(count));
    std::atomic<int> shielded = 0;
    std::atomic<int> bare = 0;
    std::atomic<int> stopped = 0;
    std::atomic<int> outside = 0;
    runtime.run([&] {
      std::atomic<int> waiting = 0;
      for (int i = 0; i < 20; ++i)
        (void)weft::go([&, waits = &waiting] {
          try {
            ++*waits;
            weft::sleep(1h);
          } catch (const weft::Cancelled&) {
            try {
              weft::with_nursery([&](weft::Nursery& n) {
                n.start([&] { ++bare; });
                auto held = n.spawn([&] { ++bare; });
                weft::yield_now();
              });
            } catch (const weft::Cancelled& again) {
              if (again.reason() == weft::CancelReason::shutdown) ++stopped;
            }
            weft::shield([&] {
              weft::with_nursery([&](weft::Nursery& n) {
                n.start([&] { ++shielded; });
                n.start([&] { weft::sleep(50us), ++shielded; });
                CHECK(n.spawn([&] { return ++shielded, 5; }).join() == 5);
              });
              if (refused([&] { (void)runtime.go([] {}); }) == weft::RuntimeErrc::shut_down) ++outside;
            });
            throw;
          }
        });
      until([&] { return waiting == 20; });
    });
    CHECK(runtime.shutdown());
    CHECK(bare == 0);
    CHECK(stopped == 20);
    CHECK(shielded == 60);
    CHECK(outside == 20);
    CHECK(runtime.stats().started == runtime.stats().finished);
  }
}

TEST_CASE("shutdown: inside a task it is refused, and the runtime goes on [B19]") {
  weft::Runtime runtime(workers(2));
  runtime.run([&] { CHECK(refused([&] { runtime.shutdown(); }) == weft::RuntimeErrc::nested_run); });
  CHECK(runtime.run([] { return 1; }) == 1);
  CHECK(runtime.shutdown());
}

TEST_CASE("shutdown: while another thread is in run it ends that run [B19]") {
  for (const unsigned count : worker_counts()) {
    weft::Runtime runtime(workers(count));
    std::atomic<bool> inside = false;
    weft::CancelReason reason = weft::CancelReason::none;
    std::thread first([&] {
      try {
        runtime.run([&] {
          inside = true;
          weft::sleep(1h);
        });
      } catch (const weft::Cancelled& cancelled) {
        reason = cancelled.reason();
      }
    });
    REQUIRE(eventually([&] { return inside.load(); }));
    CHECK(runtime.shutdown());
    first.join();
    CHECK(reason == weft::CancelReason::shutdown);
  }
}

TEST_CASE("shutdown: with a deadline it names the tasks that refuse [N-025]") {
  for (const unsigned count : worker_counts()) {
    weft::Runtime runtime(workers(count));
    std::atomic<bool> leave = false;
    weft::Task<void> task;
    runtime.run([&] {
      task = weft::go(
          [&] {
            while (!leave) weft::shield([] { weft::sleep(200us); });
          },
          {.name = "stubborn"});
      while (task.status() == weft::TaskStatus::created) weft::yield_now();
    });
    bool ended = true;
    const std::string text = said([&] { ended = runtime.shutdown(5ms); });
    CHECK_FALSE(ended);
    CHECK(text.find("\"stubborn\"") != std::string::npos);
    CHECK(text.find("runtime_test.cpp:") != std::string::npos);
    leave = true;
    // The second call waits for it.
    CHECK(runtime.shutdown());
    CHECK(task.done());
  }
}

TEST_CASE("shutdown: the deadline holds although a task was active when the wait began [N-025]") {
  weft::Runtime runtime(workers(2));
  weft::Runtime other(workers(2));
  std::atomic<bool> leave = false;
  std::atomic<bool> returned = false;
  // Nothing happens in the first runtime, not even a timer, until this one ends.
  weft::Task<void> gate = other.go([&] { until([&] { return leave.load(); }); });
  weft::Task<void> task;
  runtime.run([&] {
    task = weft::go([&] {
      weft::shield([&] {
        compute_for(5ms);
        gate.wait();
      });
    });
    while (task.status() == weft::TaskStatus::created) weft::seam::pause();
  });
  // If the deadline is forgotten shutdown ends with the task, and says so.
  std::thread rescuer([&] {
    (void)eventually([&] { return returned.load(); });
    leave = true;
  });
  bool ended = true;
  (void)said([&] { ended = runtime.shutdown(20ms); });
  returned = true;
  rescuer.join();
  CHECK_FALSE(ended);
  task.wait();  // it uses the gate
}

TEST_CASE("shutdown: a runtime that was given up ends cleanly once its tasks do [N-025] [B19]") {
  const std::set<std::string> threads = threads_now();
  std::atomic<bool> leave = false;
  {
    weft::Runtime runtime(workers(2));
    weft::Task<void> task;
    runtime.run([&] {
      task = weft::go([&] {
        while (!leave) weft::shield([] { weft::sleep(100us); });
      });
      while (task.status() == weft::TaskStatus::created) weft::seam::pause();
    });
    (void)said([&] { CHECK_FALSE(runtime.shutdown(1ms)); });
    leave = true;
    task.wait();
  }
  CHECK(no_new_threads(threads));
}

TEST_CASE("shutdown: a spawn from outside is either refused or run to its end [B19] [V-088]") {
  for (int round = 0; round < 100; ++round) {
    weft::Runtime runtime(workers(2));
    std::vector<weft::Task<void>> tasks;
    std::atomic<int> ready = 0;
    std::thread spawner([&] {
      ++ready;
      try {
        for (;;) tasks.push_back(runtime.go([] {}));
      } catch (const weft::RuntimeError& error) {
        CHECK(error.code() == weft::RuntimeErrc::shut_down);
      }
    });
    while (ready == 0) std::this_thread::yield();
    if (round % 2 == 0) std::this_thread::sleep_for(50us);
    CHECK(runtime.shutdown());
    spawner.join();
    std::size_t done = 0;
    for (const auto& task : tasks) done += task.done() ? 1U : 0U;
    CHECK(done == tasks.size());
  }
}

TEST_CASE("runtime: a failure that nobody looks at is printed, counted, and makes the run fail [V-088]") {
  std::string text;
  int code = -1;
  text = said([&] {
    code = weft::run(workers(2), [] {
      std::atomic<bool> begun = false;  // a task that the shutdown finds unstarted never fails
      (void)weft::go([&] {
        begun = true;
        throw std::runtime_error("nobody looked");
      });
      until([&] { return begun.load(); });
    });
  });
  CHECK(code == 1);
  CHECK(text.find("nobody looked") != std::string::npos);
  // Dropped at any moment around the end: never silent, never twice.
  for (int round = 0; round < 300; ++round) {
    weft::Runtime runtime(workers(2));
    text = said([&] {
      runtime.run([&] {
        std::atomic<bool> begun = false;
        auto task = weft::go([&] {
          begun = true;
          throw std::runtime_error("lost?");
        });
        while (!begun) weft::seam::pause();
        for (int i = 0; i < 5 * round; ++i) weft::seam::pause();
      });
      runtime.shutdown();
    });
    CHECK(runtime.detached_failures() == 1);
    const std::size_t at = text.find("lost?");
    CHECK(at != std::string::npos);
    CHECK(text.find("lost?", at + 1) == std::string::npos);
  }
}

TEST_CASE("runtime: started and finished are equal when nothing lives, and never the other way round [V-086] [V-087]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    std::atomic<bool> stop = false;
    std::atomic<bool> wrong = false;
    std::thread watcher([&] {
      while (!stop) {
        const weft::RuntimeStats stats = runtime.stats();
        // started is read first here, so only a finish without a start can show.
        if (stats.finished > runtime.stats().started) wrong = true;
      }
    });
    runtime.run([] {
      weft::with_nursery([](weft::Nursery& n) {
        for (int i = 0; i < 50; ++i)
          n.start([&n] {
            for (int k = 0; k < 10; ++k) n.start([] { weft::yield_now(); });
          });
      });
    });
    stop = true;
    watcher.join();
    CHECK_FALSE(wrong);
    const weft::RuntimeStats stats = runtime.stats();
    CHECK(stats.started == 551);
    CHECK(stats.finished == 551);
  });
}
