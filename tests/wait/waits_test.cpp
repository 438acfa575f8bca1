// SPDX-License-Identifier: MIT
// The list of all waits up to the futures: each has the forms that wait until, for, and never throw, ends at its time
// in each of them, and by a request to stop with an exception or quietly; and says what it waits for.
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/barrier.hpp"
#include "weft/broadcast.hpp"
#include "weft/channel.hpp"
#include "weft/cond_var.hpp"
#include "weft/dump.hpp"
#include "weft/future.hpp"
#include "weft/interval.hpp"
#include "weft/latch.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/once.hpp"
#include "weft/ordered_channel.hpp"
#include "weft/pool.hpp"
#include "weft/select.hpp"
#include "weft/semaphore.hpp"
#include "weft/sync_event.hpp"
#include "weft/time.hpp"
#include "weft/wait.hpp"
#include "weft/wait_group.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
namespace op = weft::op;

namespace {

using When = std::chrono::steady_clock::time_point;
using Span = std::chrono::nanoseconds;
using Lock = std::unique_lock<weft::Mutex>;
using weft::WaitResult;
constexpr auto nothing = [] {};

// How it ended, in one language. A wait that gives a value gives none here.
WaitResult how(WaitResult end) {
  return end;
}
WaitResult how(bool done) {
  return done ? WaitResult::done : WaitResult::timed_out;
}
template <class Status>
  requires(std::same_as<Status, weft::SendStatus> || std::same_as<Status, weft::RecvStatus> ||
           std::same_as<Status, weft::WaitOutcome> || std::same_as<Status, weft::AwaitError::Why>)
WaitResult how(Status status) {
  if (status == Status::timed_out) return WaitResult::timed_out;
  return status == Status::cancelled ? WaitResult::cancelled : WaitResult::done;
}
WaitResult how(const weft::SentMany& many) {
  return how(many.status);
}
WaitResult how(const weft::AwaitError& error) {
  return how(error.why);
}
template <class T, class E>
WaitResult how(const std::expected<T, E>& got) {
  return got ? WaitResult::done : how(got.error());
}
template <class T>
  requires(std::is_pointer_v<T>)
WaitResult how(T got) {
  return how(got != nullptr);
}
template <class T>
WaitResult how(const std::optional<T>& got) {
  return how(got.has_value());
}

// A wait as the list has it: an object of which nothing comes, and the four forms.
template <class W>
concept AWait = std::constructible_from<W, weft::Nursery&> && requires(W& w, When when, Span span) {
  w.plain();
  { w.until(when) } -> std::same_as<WaitResult>;
  { w.during(span) } -> std::same_as<WaitResult>;
  { w.quiet(when) } noexcept -> std::same_as<WaitResult>;
  { w.quiet() } noexcept -> std::same_as<WaitResult>;
};

#define FORMS(object, verb)                 \
  void plain() {                            \
    (void)object.verb();                    \
  }                                         \
  WaitResult until(When when) {             \
    return how(object.verb##_until(when));  \
  }                                         \
  WaitResult during(Span span) {            \
    return how(object.verb##_for(span));    \
  }                                         \
  WaitResult quiet(When when) noexcept {    \
    return how(object.verb##_result(when)); \
  }                                         \
  WaitResult quiet() noexcept {             \
    return how(object.verb##_result());     \
  }

struct MutexLock {
  explicit MutexLock(weft::Nursery&) { mutex.lock(); }
  FORMS(mutex, lock)
  weft::Mutex mutex;
};
struct RwLock {
  explicit RwLock(weft::Nursery&) { rw.lock_shared(); }
  FORMS(rw, lock)
  weft::RwMutex rw;
};
struct RwLockShared {
  explicit RwLockShared(weft::Nursery&) { rw.lock(); }
  FORMS(rw, lock_shared)
  weft::RwMutex rw;
};
struct SemaphoreAcquire {
  explicit SemaphoreAcquire(weft::Nursery&) {}
  FORMS(semaphore, acquire)
  weft::Semaphore semaphore{0};
};
struct EventWait {
  explicit EventWait(weft::Nursery&) {}
  FORMS(event, wait)
  weft::SyncEvent event;
};
struct LatchWait {
  explicit LatchWait(weft::Nursery&) {}
  FORMS(latch, wait)
  weft::Latch latch{1};
};
struct GroupWait {
  explicit GroupWait(weft::Nursery&) {}
  FORMS(group, wait)
  weft::WaitGroup group{1};
};
struct BarrierArrive {
  explicit BarrierArrive(weft::Nursery&) {}
  FORMS(barrier, arrive_and_wait)
  weft::Barrier barrier{100};
};
struct CondWait {
  explicit CondWait(weft::Nursery&) {}
  void plain() {
    Lock lock(mutex);
    cond.wait(lock);
  }
  WaitResult until(When when) {
    Lock lock(mutex);
    return how(cond.wait_until(lock, when));
  }
  WaitResult during(Span span) {
    Lock lock(mutex);
    return how(cond.wait_for(lock, span));
  }
  WaitResult quiet(When when = When::max()) noexcept {
    Lock lock(mutex);
    return cond.wait_result(lock, when);
  }
  weft::Mutex mutex;
  weft::CondVar cond;
};
struct OnceCall {
  explicit OnceCall(weft::Nursery& n) {
    until_parked(n.spawn([this] { once.call([] { weft::sleep(100s); }); }));
  }
  void plain() { once.call(nothing); }
  WaitResult until(When when) { return how(once.call_until(when, nothing)); }
  WaitResult during(Span span) { return how(once.call_for(span, nothing)); }
  WaitResult quiet(When when = When::max()) noexcept { return once.call_result(nothing, when); }
  weft::Once once;
};
struct LazyGet {
  explicit LazyGet(weft::Nursery& n) {
    until_parked(n.spawn([this] { (void)lazy.get(); }));
  }
  FORMS(lazy, get)
  weft::Lazy<int> lazy{[] {
    weft::sleep(100s);
    return 1;
  }};
};
struct IntervalTick {
  explicit IntervalTick(weft::Nursery&) {}
  void plain() { (void)interval.tick(); }
  WaitResult until(When when) { return how(interval.tick_until(when, tick)); }
  WaitResult during(Span span) { return how(interval.tick_for(span, tick)); }
  WaitResult quiet(When when = When::max()) noexcept { return interval.tick_result(tick, when); }
  weft::Interval interval{100s};
  weft::Interval::Tick tick{};
};
// A limit is what a sleep waits for: to be slept to the end is its time-out.
struct Sleep {
  explicit Sleep(weft::Nursery&) {}
  static WaitResult slept(WaitResult end) { return end == WaitResult::done ? WaitResult::timed_out : end; }
  static void plain() { weft::sleep(100s); }
  static WaitResult until(When when) {
    weft::sleep_until(when);
    return WaitResult::timed_out;
  }
  static WaitResult during(Span span) {
    weft::sleep(span);
    return WaitResult::timed_out;
  }
  static WaitResult quiet(When when = When::max()) noexcept { return slept(weft::sleep_result(when)); }
};
struct ParkIf {
  explicit ParkIf(weft::Nursery&) {}
  void plain() { (void)weft::park_if(flag, 0); }
  WaitResult until(When when) { return how(weft::park_if_until(flag, 0, when)); }
  WaitResult during(Span span) { return how(weft::park_if_for(flag, 0, span)); }
  WaitResult quiet(When when) noexcept { return how(weft::park_if_result(flag, 0, when)); }
  WaitResult quiet() noexcept { return how(weft::park_if_result(flag, 0)); }
  std::atomic<std::uint32_t> flag{0};
};
struct ChannelSend {
  explicit ChannelSend(weft::Nursery&) {}
  void plain() { channel.send(1); }
  WaitResult until(When when) { return how(channel.send_until(1, when)); }
  WaitResult during(Span span) { return how(channel.send_for(1, span)); }
  WaitResult quiet(When when) noexcept { return how(channel.send_result(1, when)); }
  WaitResult quiet() noexcept { return how(channel.send_result(1)); }
  weft::Channel<int> channel;
};
struct ChannelSendCopy {
  explicit ChannelSendCopy(weft::Nursery&) {}
  void plain() { channel.send(value); }
  WaitResult until(When when) { return how(channel.send_until(value, when)); }
  WaitResult during(Span span) { return how(channel.send_for(value, span)); }
  WaitResult quiet(When when) noexcept { return how(channel.send_result(value, when)); }
  WaitResult quiet() noexcept { return how(channel.send_result(value)); }
  weft::Channel<std::string> channel;
  const std::string value = "kept";
};
struct ChannelSendMany {
  explicit ChannelSendMany(weft::Nursery&) {}
  void plain() { (void)channel.send_many(values); }
  WaitResult until(When when) { return how(channel.send_many_until(values, when)); }
  WaitResult during(Span span) { return how(channel.send_many_for(values, span)); }
  WaitResult quiet(When when) noexcept { return how(channel.send_many_result(values, when)); }
  WaitResult quiet() noexcept { return how(channel.send_many_result(values)); }
  weft::Channel<int> channel;
  std::vector<int> values{1, 2, 3};
};
struct ChannelRecv {
  explicit ChannelRecv(weft::Nursery&) {}
  FORMS(channel, recv)
  weft::Channel<int> channel;
};
struct ChannelRecvMany {
  explicit ChannelRecvMany(weft::Nursery&) {}
  void plain() { (void)channel.recv_many(into, 3); }
  WaitResult until(When when) { return how(channel.recv_many_until(into, 3, when)); }
  WaitResult during(Span span) { return how(channel.recv_many_for(into, 3, span)); }
  WaitResult quiet(When when) noexcept { return how(channel.recv_many_result(into, 3, when)); }
  WaitResult quiet() noexcept { return how(channel.recv_many_result(into, 3)); }
  weft::Channel<int> channel;
  std::vector<int> into;
};
struct BroadcastRecv {
  explicit BroadcastRecv(weft::Nursery&) {}
  FORMS(subscriber, recv)
  weft::Broadcast<int> broadcast{1};
  weft::Broadcast<int>::Subscriber subscriber = broadcast.subscribe();
};
struct Select {
  explicit Select(weft::Nursery&) {}
  void plain() { (void)weft::select(op::recv(a), op::send(b, 1)); }
  WaitResult until(When when) { return how(weft::select_until(when, op::recv(a), op::send(b, 1))); }
  WaitResult during(Span span) { return how(weft::select_for(span, op::recv(a), op::send(b, 1))); }
  WaitResult quiet(When when = When::max()) noexcept {
    return how(weft::select_result(when, op::recv(a), op::send(b, 1)));
  }
  weft::Channel<int> a, b;
};
struct SelectList {
  explicit SelectList(weft::Nursery&) {
    for (weft::Channel<int>& channel : channels) ops.emplace_back(op::recv(channel));
  }
  void plain() { (void)weft::select(ops); }
  WaitResult until(When when) { return how(weft::select_until(when, ops)); }
  WaitResult during(Span span) { return how(weft::select_for(span, ops)); }
  WaitResult quiet(When when = When::max()) noexcept { return how(weft::select_result(when, ops)); }
  weft::Channel<int> channels[3];
  std::vector<weft::Op<std::optional<int>>> ops;
};
struct PoolTake {
  explicit PoolTake(weft::Nursery&) {}
  FORMS(pool, take)
  weft::Pool<int> pool{1};
  weft::Pool<int>::Taken taken = pool.take();
};
struct TaskJoin {
  explicit TaskJoin(weft::Nursery& n)
      : task(n.spawn([] {
          weft::sleep(100s);
          return 1;
        })) {}
  FORMS(task, join)
  weft::Task<int> task;
};
struct TaskWait {
  explicit TaskWait(weft::Nursery& n) : task(n.spawn([] { weft::sleep(100s); })) {}
  FORMS(task, wait)
  weft::Task<void> task;
};
struct FutureAwait {
  explicit FutureAwait(weft::Nursery&) {}
  FORMS(future, await)
  weft::Future<int> future = weft::async([] {
    weft::sleep(100s);
    return 1;
  });
};
struct FutureWait {
  explicit FutureWait(weft::Nursery&) {}
  FORMS(future, wait)
  weft::Future<void> future = weft::async([] { weft::sleep(100s); });
};
struct OrderedSend {
  explicit OrderedSend(weft::Nursery& n) : task(n.spawn([] { return 1; })) {}
  void plain() { ordered.send(std::move(task)); }
  WaitResult until(When when) { return how(ordered.send_until(std::move(task), when)); }
  WaitResult during(Span span) { return how(ordered.send_for(std::move(task), span)); }
  WaitResult quiet(When when) noexcept { return how(ordered.send_result(std::move(task), when)); }
  WaitResult quiet() noexcept { return how(ordered.send_result(std::move(task))); }
  weft::OrderedChannel<int> ordered;
  weft::Task<int> task;
};
// For a task that does not end.
struct OrderedRecv {
  explicit OrderedRecv(weft::Nursery& n) {
    ordered.spawn(n, [] { weft::sleep(100s); });
  }
  FORMS(ordered, recv)
  weft::OrderedChannel<void> ordered{1};
};
struct OrderedRecvTask {
  explicit OrderedRecvTask(weft::Nursery&) {}
  FORMS(ordered, recv_task)
  weft::OrderedChannel<int> ordered;
};

// A new wait comes here; the forms it lacks do not compile.
using AllWaits =
    std::tuple<MutexLock, RwLock, RwLockShared, SemaphoreAcquire, EventWait, LatchWait, GroupWait, BarrierArrive,
               CondWait, OnceCall, LazyGet, IntervalTick, Sleep, ParkIf, ChannelSend, ChannelSendCopy, ChannelSendMany,
               ChannelRecv, ChannelRecvMany, BroadcastRecv, Select, SelectList, PoolTake, TaskJoin, TaskWait,
               FutureAwait, FutureWait, OrderedSend, OrderedRecv, OrderedRecvTask>;

template <class... W>
  requires(AWait<W> && ...)
void for_each_wait(std::type_identity<std::tuple<W...>>, auto&& body) {
  (body(std::type_identity<W>()), ...);
}
// body(wait, nursery) in a task, with a wait that has met nobody yet.
void with_each_wait(weft::Runtime& runtime, auto&& body) {
  for_each_wait(std::type_identity<AllWaits>(), [&]<class W>(std::type_identity<W>) {
    INFO(typeid(W).name());  // of this thread: not in a task, which may move
    runtime.run([&] {
      std::optional<W> wait;  // outlives who holds it up
      weft::with_nursery([&](weft::Nursery& n) {
        body(wait.emplace(n), n);
        n.cancel();
      });
    });
  });
}

void times_out(auto& wait) {
  const auto began = weft::now();
  CHECK(wait.during(200us) == WaitResult::timed_out);
  CHECK(wait.until(weft::now() + 200us) == WaitResult::timed_out);
  CHECK(wait.quiet(weft::now() + 200us) == WaitResult::timed_out);
  CHECK(weft::now() - began >= 600us);
}

TEST_CASE("waits: the list of all: each ends at its time, in every form, in tasks and threads [N-033] [N-013]") {
  weft::Runtime runtime(workers(2));
  with_each_wait(runtime, [](auto& wait, weft::Nursery&) {
    times_out(wait);
    std::thread([&] { times_out(wait); }).join();
  });
}

TEST_CASE(
    "waits: the list of all: asked to stop each throws Cancelled, or says so and throws nothing [N-033] [N-028]") {
  for (const unsigned count : worker_counts()) {
    weft::Runtime runtime(workers(count));
    with_each_wait(runtime, [](auto& wait, weft::Nursery& n) {
      auto quiet = n.spawn([&]() noexcept { return wait.quiet(); });
      until_parked(quiet);
      quiet.cancel();
      CHECK(quiet.join() == WaitResult::cancelled);
      // Asked before, it does not wait at all.
      weft::timeout(1h, [&]() noexcept {
        weft::cancel_scope();
        CHECK(wait.quiet() == WaitResult::cancelled);
      });
      auto loud = n.spawn([&] { wait.plain(); });
      until_parked(loud);
      loud.cancel();
      loud.wait();
      CHECK(loud.status() == weft::TaskStatus::cancelled);
    });
  }
}

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
      waits([&] { once.call([&] { weft::sleep(100s); }); });  // its turn, if the first is cancelled before
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
