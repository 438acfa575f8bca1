// SPDX-License-Identifier: MIT
// The room of a task record holds its closure, the links of a task that waits, and its result, one after the other:
// whatever waits in between must find all of them whole [TASK-4].
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "sched/runtime_core.hpp"
#include "sched/universe.hpp"
#include "weft/dyn.hpp"
#include "weft/nursery.hpp"
#include "weft/sugar.hpp"
#include "weft/task_local.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

std::atomic<int> waited{0};

// Waits when it is destroyed, unless it was moved from. Fills the room.
struct Waits {
  explicit Waits(std::uint64_t seed) { std::iota(words.begin(), words.end(), seed); }
  Waits(Waits&& from) noexcept : words(from.words), armed(std::exchange(from.armed, false)) {}
  Waits& operator=(Waits&&) = delete;
  ~Waits() {
    if (!armed) return;
    const std::array<std::uint64_t, 4> before = words;
    weft::shield([] { weft::sleep(200us); });
    if (words == before) ++waited;
  }
  std::uint64_t sum() const { return std::accumulate(words.begin(), words.end(), std::uint64_t{0}); }

  std::array<std::uint64_t, 4> words{};
  bool armed = true;
};
static_assert(sizeof(Waits) == weft::detail::TaskCore::room_bytes);

constexpr int rounds = 20;

}  // namespace

TEST_CASE("room: a task that has waited with a deadline returns what fills the room [N-010]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<std::array<std::uint64_t, 5>>> tasks;
      for (std::uint64_t i = 0; i < rounds; ++i)
        tasks.push_back(u.spawn(n, [i] {
          weft::sleep(std::chrono::microseconds(100 * (i % 3)));
          return std::array<std::uint64_t, 5>{i, i + 1, i + 2, i + 3, i + 4};
        }));
      for (std::uint64_t i = 0; i < rounds; ++i)
        CHECK(tasks[i].join() == std::array<std::uint64_t, 5>{i, i + 1, i + 2, i + 3, i + 4});
    });
  });
}

TEST_CASE("room: what is bound to a task waits in its destructor after the body has returned [N-010]") {
  in_each_universe([](const Universe& u) {
    waited = 0;
    const weft::Dyn<std::shared_ptr<Waits>> bound{nullptr};
    weft::TaskLocal<std::unique_ptr<Waits>> local;
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<std::string>> tasks;
      for (int i = 0; i < rounds; ++i)
        weft::with_dyns(
            [&] {
              tasks.push_back(u.spawn(n, [&, i] {
                *local = std::make_unique<Waits>(7);
                return "a result that is its own, number " + std::to_string(i);
              }));
            },
            bound.bind(std::make_shared<Waits>(9)));
      for (int i = 0; i < rounds; ++i)
        CHECK(tasks[static_cast<std::size_t>(i)].join() == "a result that is its own, number " + std::to_string(i));
    });
    CHECK(waited == 2 * rounds);
  });
}

TEST_CASE("room: a result that nobody takes waits in its destructor, as a part of its task [N-010]") {
  in_each_universe([](const Universe&) {
    waited = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < rounds; ++i) n.start([] { return Waits(3); });
    });
    CHECK(waited == rounds);
  });
}

TEST_CASE("room: a closure waits in its destructor: run, and cancelled before it has begun [N-010]") {
  in_each_universe([](const Universe&) {
    waited = 0;
    std::atomic<std::uint64_t> sum = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < rounds; ++i) n.start([capture = std::make_unique<Waits>(1), &sum] { sum += capture->sum(); });
    });
    CHECK(sum == rounds * 10);
    weft::with_nursery([&](weft::Nursery& n) {
      n.cancel();
      for (int i = 0; i < rounds; ++i)
        n.start([capture = Waits(1)] { CHECK_MESSAGE(capture.armed == false, "it was cancelled, and runs"); });
    });
    CHECK(waited == 2 * rounds);
  });
}

namespace {

// Its copy waits, and may go on elsewhere.
struct SlowCopy {
  SlowCopy() = default;
  SlowCopy(const SlowCopy& from) : value(from.value) { weft::sleep(50us); }
  SlowCopy& operator=(const SlowCopy&) = delete;
  ~SlowCopy() = default;
  int value = 1;
};

}  // namespace

TEST_CASE("room: a spawner that waits while it copies the closure goes on with the worker it came back on") {
  if (!weft_test::may_steal()) return;  // the global policy has one queue for all
  weft::RuntimeOptions options;
  options.workers = 2;
  options.migration_check = true;  // the copy comes back on the other worker, always:
  options.sysmon = false;          // nobody takes it from that one's inbox while that one waits for a processor
  weft::Runtime runtime(options);
  runtime.run([&] {
    const SlowCopy slow;
    int there = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < rounds; ++i) {
        auto closure = [slow] { (void)slow.value; };
        const unsigned before = weft::detail::this_worker()->index;
        auto child = n.spawn(std::move(closure));
        weft::detail::WorkerCore* here = weft::detail::this_worker();
        CHECK(here->index == 1 - before);
        // At the young end of this worker's deque, unless somebody was quick to steal it. In the other one's it never
        // is.
        const weft::detail::Entry entry(child.core(), weft::detail::entry_task);
        if (here->deque.take_back(entry)) {
          ++there;
          CHECK(here->deque.push(entry));
        }
        child.join();
      }
    });
    CHECK(there > rounds / 2);
  });
}

namespace {

// There is no memory for it.
struct Unmade {
  static void* operator new(std::size_t) { throw std::bad_alloc(); }
  static void operator delete(void*) {}
  std::array<std::uint64_t, 9> words{};
};
static_assert(!weft::detail::fits_room<Unmade>);

// Tells whether the room was guarded while what was moved from died in it.
struct DiesInTheRoom {
  DiesInTheRoom() = default;
  DiesInTheRoom(const DiesInTheRoom&) noexcept {}  // no move: a full object stays behind
  DiesInTheRoom& operator=(const DiesInTheRoom&) = delete;
  ~DiesInTheRoom() {
    const weft::detail::TaskCore* task = weft::detail::current_core()->root->task;
    const auto* here = reinterpret_cast<const std::byte*>(this);
    if (here < task->room || here >= task->room + weft::detail::TaskCore::room_bytes) return;
    ++(task->flags & weft::detail::task_has_result ? guarded : unguarded);
  }
  static inline std::atomic<int> guarded{0};
  static inline std::atomic<int> unguarded{0};
};

}  // namespace

TEST_CASE("room: without memory for its result a task fails with that, and its closure is destroyed once") {
  in_each_universe([](const Universe& u) {
    const auto capture = std::make_shared<int>(1);
    CHECK_THROWS_AS(
        weft::with_nursery([&](weft::Nursery& n) { (void)u.spawn(n, [capture] { return Unmade(); }).join(); }),
        std::bad_alloc);
    CHECK(capture.use_count() == 1);
  });
}

TEST_CASE("room: what a closure leaves behind dies while a wait in it would be refused") {
  DiesInTheRoom::guarded = DiesInTheRoom::unguarded = 0;
  in_each_universe([](const Universe&) {
    weft::with_nursery([](weft::Nursery& n) { n.start([rest = DiesInTheRoom()] { (void)rest; }); });
  });
  CHECK(DiesInTheRoom::guarded > 0);
  CHECK(DiesInTheRoom::unguarded == 0);
}
