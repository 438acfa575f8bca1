// SPDX-License-Identifier: MIT
// Structured concurrency: nobody outlives the nursery, a cancel reaches everybody, nothing is lost.
#include "weft/nursery.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/detail/nursery_core.hpp"
#include "weft/fiber.hpp"
#include "weft/fiber_error.hpp"
#include "weft/runtime.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

// What a child holds: tells when its closure, or its result, is gone.
struct Token {
  std::atomic<int>* count;
  explicit Token(std::atomic<int>& c) : count(&c) { ++*count; }
  Token(const Token& other) noexcept : count(other.count) { ++*count; }
  Token(Token&& other) noexcept : count(other.count) { ++*count; }
  Token& operator=(const Token&) = delete;
  ~Token() { --*count; }
};

}  // namespace

TEST_CASE("nursery: it says when everything in it is cancelled") {
  in_each_universe([](const Universe&) {
    using Time = std::chrono::steady_clock::time_point;
    weft::with_nursery([](weft::Nursery& n) { CHECK(n.deadline() == Time::max()); });
    const Time before = std::chrono::steady_clock::now();
    weft::with_nursery(weft::NurseryOptions{.deadline = 1h}, [&](weft::Nursery& n) {
      CHECK(n.deadline() >= before + 1h);
      CHECK(n.deadline() <= std::chrono::steady_clock::now() + 1h);
    });
  });
}

TEST_CASE("nursery: it ends when the last child has, and not before [W-010] [W-013]") {
  in_each_universe([](const Universe& u) {
    std::atomic<int> ended = 0;
    const int seen = weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 20; ++i) {
        auto child = u.spawn(n, [&, i] {
          if (i % 3 == 0) weft::sleep(std::chrono::microseconds(50 * i));
          if (i % 3 == 1) weft::yield_now();
          ++ended;
        });
      }
      return ended.load();
    });
    CHECK(seen <= 20);
    CHECK(ended == 20);
    weft::with_nursery([](weft::Nursery&) {});
  });
}

TEST_CASE("nursery: results and closures of children die exactly once [W-010]") {
  in_each_universe([](const Universe& u) {
    std::atomic<int> tokens = 0;
    CHECK_THROWS_AS(weft::with_nursery([&](weft::Nursery& n) {
                      auto small = u.spawn(n, [token = Token(tokens)] { return token; });
                      auto large = u.spawn(n, [token = Token(tokens), room = std::array<char, 300>{}] {
                        return std::pair(token, room);
                      });
                      auto dropped = u.spawn(n, [token = Token(tokens)] { return token; });
                      n.start([token = Token(tokens)] { weft::yield_now(); });
                      (void)small.join();
                      (void)large.join();
                      auto fails = u.spawn(n, [token = Token(tokens)]() -> Token { throw 1; });
                      (void)fails.join();
                    }),
                    int);
    CHECK(tokens == 0);
    weft::with_nursery([&](weft::Nursery& n) {
      n.cancel();
      n.start([token = Token(tokens)] { FAIL("a child of a cancelled nursery ran"); });
      auto never = n.spawn([token = Token(tokens)] { return token; });
    });
    CHECK(tokens == 0);
  });
}

TEST_CASE("nursery: cancel wakes every parked child once, by its claim [W-014] [W-097]") {
  for (const unsigned count : worker_counts()) {
    weft::Runtime runtime(workers(count));
    runtime.run([&] {
      std::atomic<int> stopped = 0;
      weft::with_nursery([&](weft::Nursery& n) {
        std::vector<weft::Task<void>> children;
        for (int i = 0; i < 200; ++i)
          children.push_back(n.spawn([&] {
            try {
              weft::sleep(1h);
            } catch (const weft::Cancelled&) {
              ++stopped;
              throw;
            }
          }));
        for (const auto& child : children) until_parked(child);
        const std::uint64_t before = runtime.stats().wakes;
        n.cancel();
        n.cancel();
        CHECK(runtime.stats().wakes - before == children.size());  // nobody else wakes, nobody has waited again
      });
      CHECK(stopped == 200);
    });
  }
}

TEST_CASE("nursery: a lazy one lets parked children wait on; they notice at their next point [W-011] [W-012]") {
  in_each_universe([](const Universe& u) {
    std::atomic<bool> open = false;
    auto gate = weft::go([&] { until([&] { return open.load(); }); });
    std::string first;
    std::string second;
    weft::with_nursery({.lazy = true}, [&](weft::Nursery& n) {
      auto child = u.spawn(n, [&] {
        gate.wait();
        first = "waited on";
        try {
          weft::yield_now();
        } catch (const weft::Cancelled&) {
          second = "noticed";
        }
      });
      weft::shield([&] {
        until_parked(child);
        n.cancel();
        weft::sleep(500us);
        CHECK(child.status() == weft::TaskStatus::waiting);
        open = true;
      });
    });
    CHECK(first == "waited on");
    CHECK(second == "noticed");
  });
}

TEST_CASE("nursery: a child spawned after cancel is born cancelled, its closure destroyed [B20] [HC9]") {
  in_each_universe([](const Universe& u) {
    std::atomic<int> tokens = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      n.cancel();
      auto late = n.spawn([token = Token(tokens)] { FAIL("it ran"); });
      weft::shield([&] { late.wait(); });
      CHECK(late.status() == weft::TaskStatus::cancelled);
      CHECK(tokens == 0);
      if (u.mode == Mode::in_place) CHECK_THROWS_AS(late.join(), weft::Cancelled);
    });
  });
}

TEST_CASE("nursery: children spawn siblings while it is being cancelled and left; nobody is lost [B20] [W-010]") {
  for (const unsigned count : worker_counts()) {
    weft::Runtime runtime(workers(count));
    runtime.run([&] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<int> begun = 0;
        std::atomic<int> ended = 0;
        std::atomic<int> tokens = 0;
        weft::with_nursery([&](weft::Nursery& n) {
          for (int i = 0; i < 4; ++i)
            n.start([&, i, token = Token(tokens)] {
              ++begun;
              for (int k = 0; k < 5; ++k) n.start([inner = Token(tokens)] { weft::yield_now(); });
              if (i == round % 4) n.cancel();
              weft::shield([] { weft::yield_now(); });
              ++ended;
            });
          if (round % 2 == 0) weft::shield([] { weft::yield_now(); });
        });
        CHECK(begun == ended);
        CHECK(tokens == 0);
      }
    });
    const weft::RuntimeStats stats = runtime.stats();
    CHECK(stats.started == stats.finished);
  }
}

TEST_CASE("nursery: a plain thread may spawn into the nursery of a task [N-013]") {
  in_each_universe([](const Universe&) {
    std::atomic<int> ran = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      std::atomic<bool> spawned = false;
      std::thread outside([&] {
        for (int i = 0; i < 20; ++i) n.start([&] { ++ran; });
        auto child = n.spawn([] { return 4; });
        CHECK(child.join() == 4);
        spawned = true;
      });
      while (!spawned) weft::sleep(50us);
      outside.join();
    });
    CHECK(ran == 20);
  });
}

TEST_CASE("nursery: a thread outside of every runtime gets a clear error, and loses nothing [N-013]") {
  std::atomic<int> tokens = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    try {
      n.start([token = Token(tokens)] {});
      FAIL("accepted");
    } catch (const weft::RuntimeError& error) {
      CHECK(error.code() == weft::RuntimeErrc::not_in_task);
    }
    CHECK(tokens == 0);
  });
}

TEST_CASE("nursery: an outer cancel that meets the last child does not lose the join [HA6] [B5]") {
  for (const unsigned count : worker_counts(2)) {
    weft::run(workers(count), [] {
      for (int round = 0; round < 2000; ++round) {
        weft::with_nursery([&](weft::Nursery& outer) {
          outer.start([&, round] {
            weft::with_nursery([&](weft::Nursery& n) {
              n.start([round] { compute_for(std::chrono::nanoseconds(round % 700)); });
              n.start([round] { compute_for(std::chrono::nanoseconds((round * 13) % 900)); });
            });
            // The frame of the nursery is used again at once.
            volatile char over_it[512];
            for (volatile char& c : over_it) c = static_cast<char>(0xff);
          });
          if (round % 2 == 0) compute_for(std::chrono::nanoseconds((round * 7) % 2000));
          outer.cancel();
        });
      }
    });
  }
}

TEST_CASE("nursery: a cancel by handle that meets the end of the nursery touches nothing that is gone [HA6] [HB21]") {
  weft::Runtime runtime(workers(2));
  std::mutex mutex;
  std::vector<weft::Task<void>> handles;
  std::atomic<bool> stop = false;
  std::thread canceller([&] {
    while (!stop) {
      weft::Task<void> handle;
      {
        const std::lock_guard guard(mutex);
        if (!handles.empty()) {
          handle = std::move(handles.back());
          handles.pop_back();
        }
      }
      if (handle) handle.cancel();
    }
  });
  runtime.run([&] {
    for (int round = 0; round < 20000; ++round) {
      weft::with_nursery([&](weft::Nursery& n) {
        auto task = n.spawn([round] { compute_for(std::chrono::nanoseconds(round % 3000)); });
        const std::lock_guard guard(mutex);
        handles.push_back(std::move(task));
      });
      // Whoever still looks at the scope finds a lock that is never free.
      volatile std::uint64_t over_it[256];
      for (volatile std::uint64_t& word : over_it) word = ~std::uint64_t{0};
    }
  });
  stop = true;
  canceller.join();
}

TEST_CASE("nursery: handles may outlive it, with their results [HB21]") {
  in_each_universe([](const Universe& u) {
    auto task = weft::with_nursery([&](weft::Nursery& n) {
      return u.spawn(n, [] {
        weft::yield_now();
        return std::string(100, 'r');
      });
    });
    CHECK(task.done());
    // Records come and go meanwhile.
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 500; ++i) n.start([] {});
    });
    CHECK(task.join() == std::string(100, 'r'));
    task.cancel();
    task.interrupt();
    CHECK(task.status() == weft::TaskStatus::done);
  });
}

TEST_CASE("nursery: a cancelled, unstarted child's closure is destroyed by a worker, as a task [HB21]") {
  for (const unsigned count : worker_counts()) {
    weft::Runtime runtime(workers(count));
    std::uint64_t destroyed_by = 0;
    std::uint64_t child_id = 0;
    struct Closure {
      std::uint64_t* id;
      explicit Closure(std::uint64_t* i) : id(i) {}
      Closure(Closure&& other) noexcept : id(std::exchange(other.id, nullptr)) {}
      Closure(const Closure&) = delete;
      ~Closure() {
        if (id != nullptr) *id = weft::current_task_id();
      }
      void operator()() const { FAIL("it ran"); }
    };
    runtime.run([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        auto child = n.spawn(Closure(&destroyed_by));
        child_id = child.id();
        n.cancel();
      });
    });
    CHECK(destroyed_by == child_id);
  }
}

TEST_CASE(
    "nursery: a child apart for which there is no stack fails alone, any other one with its nursery [B31] [N-021]") {
  constexpr std::size_t too_large = std::size_t{1} << 40;
  for (const unsigned count : worker_counts()) {
    weft::Runtime runtime(workers(count));
    std::atomic<int> held{0};
    int ran = 0;
    runtime.run([&] {
      const weft::TaskOptions apart{.stack_size = too_large, .apart = true};
      weft::SyncEvent go_on;
      weft::with_nursery([&](weft::Nursery& n) {
        auto sibling = n.spawn([&] {
          go_on.wait();
          ++ran;
        });
        auto lone = n.spawn([token = Token(held)] { return token.count->load(); }, apart);
        CHECK_THROWS_AS(lone.join(), weft::StackError);
        CHECK(lone.status() == weft::TaskStatus::failed);
        CHECK(held == 0);
        (void)n.spawn([token = Token(held)] {}, apart);  // nobody will know
        until([&] { return held == 0; });
        CHECK_FALSE(n.cancelled());
        CHECK_FALSE(sibling.done());
        go_on.set();
      });
      CHECK(ran == 1);
      // What it throws is no less a failure.
      CHECK_THROWS_AS(weft::with_nursery([](weft::Nursery& n) {
                        (void)n.spawn([] { throw std::runtime_error("its own"); }, {.apart = true});
                      }),
                      std::runtime_error);
      bool stopped = false;
      CHECK_THROWS_AS(weft::with_nursery([&](weft::Nursery& n) {
                        auto sibling = n.spawn([&] {
                          try {
                            weft::sleep(1h);
                          } catch (const weft::Cancelled&) {
                            stopped = true;
                            throw;
                          }
                        });
                        until_parked(sibling);  // cancelled before it has begun, it would not begin
                        (void)n.spawn([token = Token(held)] {}, {.stack_size = too_large});
                      }),
                      weft::StackError);
      CHECK(stopped);
      CHECK(held == 0);
    });
    CHECK(runtime.stats().started == runtime.stats().finished);
  }
}

TEST_CASE("nursery: suspending out of an open nursery is refused [N-020]") {
  in_each_universe([](const Universe&) {
    weft::Fiber fiber([] { weft::with_nursery([](weft::Nursery&) { weft::yield(1); }); },
                      weft::SignalSet{weft::sig::yield});
    CHECK_THROWS_AS((void)fiber.resume(), weft::FiberError);
    CHECK(fiber.finished());
  });
}
