// SPDX-License-Identifier: MIT
// What the checks of locks report, and what they leave alone.
#include "weft/lock_check.hpp"

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

// Reports that come while it lives.
class Checked {
 public:
  Checked() : before_(weft::lock_reports().size()) { weft::check_locks(true); }
  ~Checked() { weft::check_locks(false); }
  Checked(const Checked&) = delete;
  Checked& operator=(const Checked&) = delete;
  std::vector<std::string> reports() const {
    const auto all = weft::lock_reports();
    return {all.begin() + static_cast<std::ptrdiff_t>(before_), all.end()};
  }

 private:
  std::size_t before_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

[[gnu::noinline]] void lock_a_then_b(weft::Mutex& a, weft::Mutex& b) {
  const std::lock_guard first(a);
  const std::lock_guard second(b);
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void lock_b_then_a(weft::Mutex& a, weft::Mutex& b) {
  const std::lock_guard first(b);
  const std::lock_guard second(a);
  asm volatile("" ::: "memory");
}

#ifndef NDEBUG
TEST_CASE("lock_check: two mutexes in both orders are reported with both places, though nothing locks up [N-042]") {
  const Checked checked;
  weft::run([] {
    weft::Mutex a;
    weft::Mutex b;
    weft::with_nursery([&](weft::Nursery& n) {
      n.spawn([&] { lock_a_then_b(a, b); }).join();
      n.spawn([&] { lock_b_then_a(a, b); }).join();
      n.spawn([&] { lock_b_then_a(a, b); }).join();
    });
  });
  const auto reports = checked.reports();
  REQUIRE(reports.size() == 1);
  CHECK(has(reports[0], "lock order"));
  CHECK(has(reports[0], "lock_a_then_b"));
  CHECK(has(reports[0], "lock_b_then_a"));
  CHECK(has(reports[0], "lock_check_test.cpp:"));
}

TEST_CASE("lock_check: a ring of three orders is reported, too [N-042]") {
  const Checked checked;
  weft::run([] {
    weft::Mutex a;
    weft::Mutex b;
    weft::Mutex c;
    lock_a_then_b(a, b);
    lock_a_then_b(b, c);
    lock_a_then_b(c, a);
  });
  CHECK(checked.reports().size() == 1);
}
#endif

TEST_CASE("lock_check: one order, try_lock, and mutexes that are no more are no reason to report [N-042]") {
  const Checked checked;
  weft::run([] {
    for (int i = 0; i < 3; ++i) {
      weft::Mutex a;
      weft::Mutex b;
      // In turn, at the same addresses: they are others each time.
      i % 2 == 0 ? lock_a_then_b(a, b) : lock_b_then_a(a, b);
    }
    weft::Mutex a;
    weft::Mutex b;
    lock_a_then_b(a, b);
    const std::lock_guard first(b);
    CHECK(a.try_lock());  // backs off instead of waiting: makes no order
    a.unlock();
  });
  CHECK(checked.reports().empty());
}

[[gnu::noinline]] void lock_it(weft::StdMutex& mutex) {
  mutex.lock();
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void wait_here() {
  weft::sleep(1us);
  asm volatile("" ::: "memory");
}

TEST_CASE("lock_check: a wait while a std::mutex is held is reported with both places [N-041] [B41]") {
  const Checked checked;
  weft::Runtime runtime(workers(1));
  runtime.run([] {
    weft::StdMutex mutex;
    lock_it(mutex);
    wait_here();
    wait_here();  // told once
    mutex.unlock();
  });
  const auto reports = checked.reports();
  REQUIRE(reports.size() == 1);
  CHECK(has(reports[0], "holds a std::mutex"));
  CHECK(has(reports[0], "lock_it"));
  CHECK(has(reports[0], "wait_here"));
  CHECK(has(reports[0], "lock_check_test.cpp:"));
}

TEST_CASE("lock_check: so is a yield, and a wait of ours for a mutex, a child, an event [N-041]") {
  weft::Runtime runtime(workers(1));
  const auto tells = [&](auto&& wait) {
    const Checked checked;
    runtime.run([&] {
      weft::StdMutex mutex;
      const std::lock_guard guard(mutex);
      wait();
    });
    return checked.reports().size();
  };
  CHECK(tells([] { weft::yield_now(); }) == 1);
  CHECK(tells([] {
          weft::Mutex mutex;
          mutex.lock();
          CHECK_FALSE(mutex.lock_for(1ms));
        }) == 1);
  CHECK(tells([] {
          weft::SyncEvent event;
          CHECK_FALSE(event.wait_for(1ms));
        }) == 1);
}

TEST_CASE("lock_check: who unlocks before it waits, and a plain thread, are left alone [N-041]") {
  const Checked checked;
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    weft::StdMutex mutex;
    for (int i = 0; i < 10; ++i) {
      {
        const std::lock_guard guard(mutex);
      }
      weft::sleep(1us);
    }
  });
  weft::StdMutex mutex;
  const std::lock_guard guard(mutex);
  weft::sleep(1us);  // blocks this thread, which unlocks it, too
  CHECK(checked.reports().empty());
}

}  // namespace
