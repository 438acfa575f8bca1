// SPDX-License-Identifier: MIT
// The Io interface: raw tasks, permits, timers, and how the door in force is carried.
#include "weft/io.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/blocking_io.hpp"
#include "weft/future.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

struct Note {
  std::atomic<int> ran{0};
  std::atomic<int> skipped{0};
  std::atomic<int> stopped{0};
  weft::ParkToken park;
};

void count(void* arg, weft::RawStart start) {
  auto& note = *static_cast<Note*>(arg);
  (start == weft::RawStart::run ? note.ran : note.skipped).fetch_add(1);
}

}  // namespace

TEST_CASE("io: the runtime itself is the Io in force, without a wrapper [X-032] [X-002]") {
  weft::Runtime runtime(workers(1));
  weft::Io& door = runtime;
  CHECK(static_cast<void*>(dynamic_cast<weft::Io*>(&door)) != nullptr);
  runtime.run([&] { CHECK(&weft::current_io() == &door); });
  CHECK(weft::current_io().runs_inline());  // a plain thread's
}

TEST_CASE("io: spawn_raw calls its entry once, in a task of its own [X-005]") {
  in_each_universe([](const Universe&) {
    Note note;
    weft::Io& io = weft::current_io();
    const weft::RawTask task = io.spawn_raw(&count, &note, {});
    CHECK(task);
    io.release_raw(task, true, nullptr);
    CHECK(note.ran == 1);
    CHECK(note.skipped == 0);
  });
}

TEST_CASE(
    "io: a raw task that is cancelled before it begins gets its entry called all the same, to give back [X-005]") {
  weft::run(workers(1), [] {
    Note note;
    weft::Io& io = weft::current_io();
    const weft::RawTask task = io.spawn_raw(&count, &note, {});
    io.cancel_raw(task, weft::CancelReason::user);
    io.release_raw(task, true, nullptr);
    CHECK(note.ran == 0);
    CHECK(note.skipped == 1);
  });
}

TEST_CASE("io: what cannot be is diagnosed: no entry, a timer or a wait with somebody else's token [X-014]") {
  in_each_universe([](const Universe&) {
    weft::Io& io = weft::current_io();
    CHECK_THROWS_AS((void)io.spawn_raw(nullptr, nullptr, {}), std::invalid_argument);
    CHECK_THROWS_AS((void)io.arm_timer(io.now(), {}), std::logic_error);
    weft::ParkToken other;
    weft::go([&] { other = io.current_park(); }).join();
    CHECK_THROWS_AS((void)io.suspend_raw(other), std::logic_error);
    CHECK_THROWS_AS((void)io.arm_timer(io.now(), other), std::logic_error);
  });
  weft::Runtime runtime(workers(1));
  CHECK_THROWS_AS((void)runtime.io().arm_timer(runtime.io().now(), {}), std::logic_error);
}

TEST_CASE("io: suspend_raw parks until ready, and others run meanwhile [X-006] [X-007] [X-017] [X-022]") {
  in_each_universe([](const Universe&) {
    weft::Io& io = weft::current_io();
    std::atomic<int> step{0};
    const weft::ParkToken park = io.current_park();
    CHECK(park);
    auto waker = weft::go([&] {
      step = 1;
      io.ready(park);
    });
    while (step == 0) CHECK(io.suspend_raw(park, {"test"}) == weft::WaitResult::done);
    CHECK(step == 1);
    waker.join();
  });
}

TEST_CASE("io: a permit that comes before the wait is not lost, and two count as one [X-007] [X-040]") {
  in_each_universe([](const Universe&) {
    weft::Io& io = weft::current_io();
    const weft::ParkToken park = io.current_park();
    io.ready(park);
    io.ready(park);
    CHECK(io.suspend_raw(park) == weft::WaitResult::done);
    // The second one is not kept for the next wait.
    const weft::ParkToken next = io.current_park();
    CHECK(io.suspend_raw(next, {.deadline = io.now() + 2ms}) == weft::WaitResult::timed_out);
  });
}

TEST_CASE("io: a token of a wait that is over wakes nobody, whoever has its record by then [X-021]") {
  in_each_universe([](const Universe&) {
    weft::Io& io = weft::current_io();
    std::vector<weft::ParkToken> old;
    for (int i = 0; i < 20; ++i)
      old.push_back(weft::go([&] {
                      const weft::ParkToken park = io.current_park();
                      io.ready(park);
                      (void)io.suspend_raw(park);
                      return park;
                    }).join());
    old.push_back(io.current_park());
    std::atomic<int> woken{0};
    std::atomic<int> ended{0};
    {
      std::vector<weft::Task<void>> sleepers;
      for (int i = 0; i < 20; ++i)
        sleepers.push_back(weft::go([&] {
          const weft::ParkToken park = io.current_park();
          if (io.suspend_raw(park, {.deadline = io.now() + 5ms}) == weft::WaitResult::done) ++woken;
          ++ended;
        }));
      const weft::ParkToken mine = io.current_park();  // the last of the old ones is void by this
      while (ended < 20) {
        for (const weft::ParkToken& park : old) io.ready(park);
        weft::yield_now();
      }
      for (auto& task : sleepers) task.join();
      CHECK(io.suspend_raw(mine, {.deadline = io.now() + 1ms}) == weft::WaitResult::timed_out);
    }
    CHECK(woken == 0);
  });
}

TEST_CASE("io: a cancelled task's suspend_raw raises, ends or goes on, as it wishes [X-006]") {
  in_each_universe([](const Universe&) {
    weft::Io& io = weft::current_io();
    const auto stopped = [&](weft::OnCancel how) {
      std::atomic<int> at{0};
      weft::ParkToken park;
      auto task = weft::go([&]() -> int {
        park = io.current_park();
        at = 1;
        const auto result = io.suspend_raw(park, {.on_cancel = how});
        return result == weft::WaitResult::cancelled ? 2 : 3;
      });
      while (at == 0 || task.status() != weft::TaskStatus::waiting) weft::yield_now();
      task.cancel();
      if (how == weft::OnCancel::ignore) io.ready(park);
      try {
        return task.join();
      } catch (const weft::Cancelled&) {
        return 1;
      }
    };
    CHECK(stopped(weft::OnCancel::raise) == 1);
    CHECK(stopped(weft::OnCancel::end) == 2);
    CHECK(stopped(weft::OnCancel::ignore) == 3);
  });
}

TEST_CASE("io: a timer ends the wait it was armed for; an evicted one does not [X-008]") {
  in_each_universe([](const Universe&) {
    weft::Io& io = weft::current_io();
    const auto start = io.now();
    weft::ParkToken park = io.current_park();
    const weft::TimerToken timer = io.arm_timer(start + 2ms, park);
    CHECK(io.suspend_raw(park) == weft::WaitResult::done);
    CHECK(io.now() >= start + 2ms);
    CHECK_FALSE(io.cancel_timer(timer));

    // On a busy machine it may have fired before it is evicted: then once more.
    weft::TimerToken evicted;
    do {
      park = io.current_park();
      evicted = io.arm_timer(io.now() + 1ms, park);
    } while (!io.cancel_timer(evicted));
    CHECK_FALSE(io.cancel_timer(evicted));
    CHECK(io.suspend_raw(park, {.deadline = io.now() + 4ms}) == weft::WaitResult::timed_out);

    // Evicted while the wait is under way.
    for (bool in_time = false; !in_time;) {
      park = io.current_park();
      const weft::TimerToken late = io.arm_timer(io.now() + 3ms, park);
      auto evictor = weft::go([&] { in_time = io.cancel_timer(late); });
      const weft::WaitResult end = io.suspend_raw(park, {.deadline = io.now() + 8ms});
      evictor.join();
      CHECK((!in_time || end == weft::WaitResult::timed_out));
    }
  });
}

TEST_CASE("io: a whole conversation by the interface alone, in the same order, to the same clock every time [X-013]") {
  weft::RuntimeOptions options = workers(1);
  options.clock = weft::RuntimeOptions::Clock::virtual_;
  for (int round = 0; round < 3; ++round) {
    weft::run(options, [] {
      struct Talk {
        weft::Io& io = weft::current_io();
        std::string log;
        weft::ParkToken root;
        weft::ParkToken child;
        bool answered = false;
      } talk;
      talk.root = talk.io.current_park();
      talk.log += "spawn ";
      const weft::RawTask task = talk.io.spawn_raw(
          [](void* arg, weft::RawStart) {
            auto& mine = *static_cast<Talk*>(arg);
            mine.log += "child ";
            mine.child = mine.io.current_park();
            (void)mine.io.arm_timer(mine.io.now() + 1ms, mine.child);
            (void)mine.io.suspend_raw(mine.child);
            mine.log += "timer ";
            mine.answered = true;
            mine.io.ready(mine.root);
          },
          &talk, {});
      while (!talk.answered) {
        (void)talk.io.suspend_raw(talk.root);
        talk.log += "root ";
      }
      talk.io.release_raw(task, true, nullptr);
      CHECK(talk.log == "spawn child timer root ");
      CHECK(talk.io.now().time_since_epoch() == 1ms);
    });
  }
}

TEST_CASE("io: a door is seen by what is spawned inside, and by nobody beside it [X-012]") {
  in_each_universe([](const Universe&) {
    weft::Io& mine = weft::current_io();
    weft::BlockingIo other;
    std::atomic<int> inside{0};
    weft::Task<void> beside = weft::go([&] { CHECK(&weft::current_io() == &mine); });
    weft::with_io(other, [&] {
      CHECK(&weft::current_io() == &other);
      weft::go([&] { inside += &weft::current_io() == &other; }).join();
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] { inside += &weft::current_io() == &other; });
        n.spawn([&] { inside += &weft::current_io() == &other; }).join();
      });
      weft::with_io(mine, [&] { CHECK(&weft::current_io() == &mine); });
      CHECK(&weft::current_io() == &other);
    });
    CHECK(inside == 3);
    CHECK(&weft::current_io() == &mine);
    beside.join();
  });
}

TEST_CASE("io: a fiber born without bindings sees the door of whoever resumes it [X-012]") {
  weft::run(workers(1), [] {
    weft::BlockingIo other;
    weft::Fiber bare([] { return weft::Payload::ref(weft::current_io()); }, weft::Mask(""));
    weft::Fiber later([] { return weft::Payload::ref(weft::current_io()); }, weft::Mask(""));
    weft::with_io(other, [&] { CHECK(bare.resume().value.as<weft::Io*>() == &other); });
    CHECK(later.resume().value.as<weft::Io*>() != &other);
  });
}

namespace {

// An Io of a test's own: it tells what it is asked for, and leaves the rest to the runtime.
class Telling final : public weft::Io {
 public:
  explicit Telling(weft::Io& next) : next_(next) {}
  weft::RawTask spawn_raw(weft::RawEntry entry, void* arg, const weft::TaskOptions& options) override {
    log += "spawn ";
    return next_.spawn_raw(entry, arg, options);
  }
  void cancel_raw(weft::RawTask task, weft::CancelReason reason) override { next_.cancel_raw(task, reason); }
  void release_raw(weft::RawTask task, bool wait, const std::exception_ptr& unobserved) noexcept override {
    log += "release ";
    next_.release_raw(task, wait, unobserved);
  }
  weft::ParkToken current_park() override {
    log += "park ";
    return next_.current_park();
  }
  weft::WaitResult suspend_raw(const weft::ParkToken& park, const weft::ParkWish& wish) override {
    log += "suspend ";
    return next_.suspend_raw(park, wish);
  }
  void ready(const weft::ParkToken& park) noexcept override {
    log += "ready ";
    next_.ready(park);
  }
  std::chrono::steady_clock::time_point now() const override { return next_.now(); }
  weft::TimerToken arm_timer(std::chrono::steady_clock::time_point when, const weft::ParkToken& park) override {
    return next_.arm_timer(when, park);
  }
  bool cancel_timer(const weft::TimerToken& timer) override { return next_.cancel_timer(timer); }
  weft::IoResult submit(weft::IoRequest& request) override {
    log += "submit ";
    return request.op == weft::IoOp::poll ? weft::IoResult(request.flags) : weft::IoResult::failed(1);
  }
  std::chrono::steady_clock::time_point poll(std::chrono::steady_clock::time_point deadline) override {
    return next_.poll(deadline);
  }

  std::string log;

 private:
  weft::Io& next_;
};

}  // namespace

TEST_CASE("io: a mock that implements all of it serves async and await as the runtime does [X-004] [X-003]") {
  weft::run(workers(1), [] {
    Telling io(weft::current_io());
    weft::with_io(io, [&] {
      weft::Future<int> future = weft::async([] { return 6 * 7; });
      CHECK(future.await() == 42);
    });
    CHECK(io.log == "spawn park suspend ready release ");
    io.log.clear();
    CHECK(io.block_on(0, weft::io_readable, io.now()).value() == weft::io_readable);
    weft::with_io(io, [] {
      weft::IoRequest request;
      request.op = weft::IoOp::read;
      CHECK(weft::perform_io(request).os_error() == 1);
    });
    CHECK(io.log == "submit submit ");
  });
}
