// SPDX-License-Identifier: MIT
// The list of the waits of this floor: each has the forms that wait until, for, and never throw, and says what it waits
// for. What each does when its time runs out is tested where it lives.
#include <chrono>
#include <concepts>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/barrier.hpp"
#include "weft/cond_var.hpp"
#include "weft/dump.hpp"
#include "weft/interval.hpp"
#include "weft/latch.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/once.hpp"
#include "weft/semaphore.hpp"
#include "weft/sync_event.hpp"
#include "weft/wait_group.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

using When = std::chrono::steady_clock::time_point;
using Span = std::chrono::nanoseconds;
using Lock = std::unique_lock<weft::Mutex>;
constexpr When when{};
constexpr Span span{};
constexpr auto nothing = [] {};

#define WAIT_FORMS(Type, name, ...)                                                      \
  static_assert(requires(Type& x __VA_OPT__(, ) __VA_ARGS__) { x.name##_for(span); });   \
  static_assert(requires(Type& x __VA_OPT__(, ) __VA_ARGS__) { x.name##_until(when); }); \
  static_assert(requires(Type& x __VA_OPT__(, ) __VA_ARGS__) {                           \
    { x.name##_result(when) } -> std::same_as<weft::WaitResult>;                         \
    { x.name##_result() } -> std::same_as<weft::WaitResult>;                             \
  })

WAIT_FORMS(weft::Mutex, lock);
WAIT_FORMS(weft::RwMutex, lock);
WAIT_FORMS(weft::RwMutex, lock_shared);
WAIT_FORMS(weft::Semaphore, acquire);
WAIT_FORMS(weft::SyncEvent, wait);
WAIT_FORMS(weft::Latch, wait);
WAIT_FORMS(weft::WaitGroup, wait);
WAIT_FORMS(weft::Barrier, arrive_and_wait);
static_assert(requires(weft::CondVar& c, Lock& l) {
  { c.wait_for(l, span) } -> std::same_as<bool>;
  { c.wait_until(l, when) } -> std::same_as<bool>;
  { c.wait_result(l, when) } -> std::same_as<weft::WaitResult>;
});
static_assert(requires(weft::Once& o) {
  { o.call_for(span, nothing) } -> std::same_as<bool>;
  { o.call_until(when, nothing) } -> std::same_as<bool>;
  { o.call_result(nothing, when) } -> std::same_as<weft::WaitResult>;
});
static_assert(requires(weft::Lazy<int>& l) {
  { l.get_for(span) } -> std::same_as<int*>;
  { l.get_until(when) } -> std::same_as<int*>;
});
static_assert(requires(weft::Interval& i, weft::Interval::Tick& t) {
  { i.tick_for(span, t) } -> std::same_as<bool>;
  { i.tick_until(when, t) } -> std::same_as<bool>;
  { i.tick_result(t, when) } -> std::same_as<weft::WaitResult>;
});

TEST_CASE("waits: each of them parks, shows in a dump what it waits for, and ends by a cancel [W-015]") {
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    weft::Mutex mutex;
    weft::Mutex other;
    weft::RwMutex rw;
    weft::CondVar cond;
    weft::Semaphore semaphore(0);
    weft::SyncEvent event;
    weft::Latch latch(1);
    weft::WaitGroup group(1);
    weft::Barrier barrier(2);
    weft::Once once;
    weft::Interval interval(100s);
    mutex.lock();
    rw.lock();
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<void>> tasks;
      const auto waits = [&](auto&& body) {
        tasks.push_back(n.spawn(std::forward<decltype(body)>(body)));
        until_parked(tasks.back());
      };
      waits([&] { mutex.lock(); });
      waits([&] { rw.lock(); });
      waits([&] { rw.lock_shared(); });
      waits([&] {
        Lock lock(other);
        cond.wait(lock);
      });
      waits([&] { semaphore.acquire(); });
      waits([&] { event.wait(); });
      waits([&] { latch.wait(); });
      waits([&] { group.wait(); });
      waits([&] { (void)barrier.arrive_and_wait(); });
      waits([&] { once.call([&] { weft::sleep(100s); }); });
      waits([&] { once.call([] {}); });
      waits([&] { (void)interval.tick(); });
      const std::string text = weft::dump();
      for (const char* kind : {" lock ", " lock_shared ", " wait ", " acquire ", " event ", " latch ", " wait_group ",
                               " barrier ", " once ", " tick ", "held by"}) {
        INFO(kind);
        CHECK(text.find(kind) != std::string::npos);
      }
      for (auto& task : tasks) task.cancel();
      for (auto& task : tasks) until([&] { return task.status() == weft::TaskStatus::cancelled; });
    });
    mutex.unlock();
    rw.unlock();
    CHECK(mutex.try_lock());
    CHECK(rw.try_lock());
    CHECK(other.try_lock());
  });
}

}  // namespace
