// SPDX-License-Identifier: MIT
// Futures: what async starts, how its end is awaited, stopped, dropped and told.
#include "weft/future.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/universe.hpp"
#include "weft/blocking_io.hpp"
#include "weft/channel.hpp"
#include "weft/deadlock.hpp"
#include "weft/dyn.hpp"
#include "weft/future_op.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/select.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

// Of the task that stored itself there.
void until_parked(const std::atomic<const weft::detail::TaskCore*>& task) {
  until([&] {
    const weft::detail::TaskCore* core = task.load();
    return core != nullptr && core->word.look().state() == weft::detail::TaskState::parking && core->word.look().left();
  });
}

}  // namespace

TEST_CASE("future: async gives the result when it is awaited, and the caller runs on before [X-015] [X-016]") {
  in_each_universe([](const Universe& universe) {
    std::string log;
    weft::Future<int> future = weft::async([&] {
      if (universe.workers == 1) log += "worker ";
      return 42;
    });
    if (universe.workers == 1) log += "caller ";
    CHECK(future.await() == 42);
    CHECK(future.await() == 42);  // it stays
    CHECK(future.done());
    CHECK(future.status() == weft::FutureStatus::done);
    if (universe.workers == 1) CHECK(log == "caller worker ");
  });
}

TEST_CASE(
    "future: under a BlockingIo it is born ready, the worker has run inside async [X-015] [X-023] [X-039] [HB14]") {
  const auto body = [](bool inline_door) {
    std::string log;
    weft::Future<int> future = weft::async([&] {
      log += "worker ";
      return 1;
    });
    log += "caller ";
    if (inline_door) CHECK(future.done());
    CHECK(future.await() == 1);
    future.cancel();
    CHECK(future.await() == 1);  // too late: the value stays
    return log;
  };
  weft::BlockingIo io;
  CHECK(weft::with_io(io, [&] { return body(true); }) == "worker caller ");
  CHECK(body(true) == "worker caller ");  // a plain thread's default
  weft::run(workers(1), [&] {
    CHECK(body(false) == "caller worker ");
    CHECK(weft::with_io(io, [&] { return body(true); }) == "worker caller ");
  });
}

TEST_CASE("future: the same source gives the same answers under BlockingIo and the runtime [X-003] [X-001]") {
  const auto program = [] {
    std::string answer;
    weft::Future<int> a = weft::async([] {
      weft::sleep(1ms);
      return 1;
    });
    weft::Future<std::string> b = weft::async([] { return std::string("two"); });
    weft::Future<void> c = weft::async([] { throw std::runtime_error("three"); });
    weft::Future<std::unique_ptr<int>> d = weft::async([] { return std::make_unique<int>(4); });
    weft::Future<int> nested = weft::async([] { return weft::async([] { return 5; }).await(); });
    answer += std::to_string(a.await()) + b.await();
    try {
      c.await();
    } catch (const std::runtime_error& error) {
      answer += error.what();
    }
    answer += std::to_string(*std::move(d).await()) + std::to_string(weft::await(nested));
    return answer;
  };
  const std::string expected = "1twothree45";
  CHECK(program() == expected);
  weft::BlockingIo io;
  CHECK(weft::with_io(io, program) == expected);
  in_each_universe([&](const Universe&) {
    CHECK(program() == expected);
    CHECK(weft::with_io(io, program) == expected);
  });
}

TEST_CASE("future: a cancel before the end under BlockingIo is reported by await [X-023]") {
  weft::run(workers(1), [] {
    weft::BlockingIo io;
    weft::with_io(io, [] {
      bool seen = false;
      CHECK_FALSE(weft::timeout(1ms, [&] {
        weft::Future<int> future = weft::async([]() -> int {
          weft::sleep(1h);
          return 1;
        });
        CHECK(future.status() == weft::FutureStatus::cancelled);
        seen = true;
        (void)future.await();
      }));
      CHECK(seen);
    });
  });
}

TEST_CASE("future: what the worker captured lives with it, after the caller's frame is gone [X-018] [X-020]") {
  in_each_universe([](const Universe&) {
    const auto make = [] {
      std::vector<int> numbers(1000, 7);
      auto owned = std::make_unique<int>(3);
      return weft::async([numbers, owned = std::move(owned)] {
        weft::sleep(100us);
        int sum = 0;
        for (const int n : numbers) sum += n;
        return sum + *owned;
      });
    };
    weft::Future<int> future = make();
    std::vector<char> over(4096, 'x');
    CHECK(future.await() == 7003);
  });
}

TEST_CASE("future: void, references and things that cannot be copied [X-034]") {
  in_each_universe([](const Universe&) {
    int ran = 0;
    weft::Future<void> nothing = weft::async([&] { ++ran; });
    nothing.await();
    static_assert(std::is_void_v<decltype(nothing.await())>);
    CHECK(ran == 1);
    CHECK(*weft::async([] { return std::make_unique<int>(5); }).await() == 5);
    CHECK(weft::async([&]() -> int& { return ran; }).await() == 1);
    CHECK(nothing.await_for(1s));
  });
}

TEST_CASE("future: any number of awaiters get the value, and the failure, which is one object [X-019] [HC10]") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent go;
    weft::Future<std::string> good = weft::async([&] {
      go.wait();
      return std::string("one value");
    });
    weft::Future<void> bad = weft::async([&] {
      go.wait();
      throw std::runtime_error("one failure");
    });
    std::atomic<int> values{0};
    std::atomic<int> failures{0};
    std::atomic<const std::runtime_error*> seen{nullptr};
    std::atomic<bool> several{false};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 10; ++i) {
        n.start([&] { values += good.await() == "one value"; });
        n.start([&] {
          try {
            bad.await();
          } catch (const std::runtime_error& error) {
            const std::runtime_error* before = seen.exchange(&error);
            if (before != nullptr && before != &error) several = true;
            ++failures;
          }
        });
      }
      weft::sleep(200us);
      go.set();
    });
    CHECK(values == 10);
    CHECK(failures == 10);
    CHECK_FALSE(several);
  });
}

TEST_CASE("future: with one_awaiter a second one is told [X-019]") {
  weft::run(workers(1), [] {
    weft::one_awaiter(true);
    weft::SyncEvent go;
    weft::Future<int> future = weft::async([&] {
      go.wait();
      return 1;
    });
    weft::Task<int> first = weft::go([&] { return future.await(); });
    until_parked(first);
    CHECK_THROWS_AS((void)future.await(), std::logic_error);
    go.set();
    CHECK(first.join() == 1);
    CHECK(future.await() == 1);
    weft::one_awaiter(false);
  });
}

TEST_CASE("future: cancel wakes the worker, whose suspension point raises; nothing after it runs [X-025] [X-035]") {
  in_each_universe([](const Universe&) {
    std::atomic<const weft::detail::TaskCore*> who{nullptr};
    std::atomic<bool> after{false};
    std::atomic<bool> unwound{false};
    weft::Future<void> future = weft::async([&] {
      struct Mark {
        std::atomic<bool>& flag;
        ~Mark() { flag = true; }
      } mark{unwound};
      who = weft::detail::this_task();
      weft::sleep(1h);
      after = true;
    });
    until_parked(who);
    future.cancel();
    try {
      future.await();
      FAIL("nothing was raised");
    } catch (const weft::Cancelled& cancelled) {
      CHECK(cancelled.reason() == weft::CancelReason::user);
    }
    CHECK(future.status() == weft::FutureStatus::cancelled);
    CHECK(unwound);
    CHECK_FALSE(after);
  });
}

TEST_CASE("future: one that is cancelled before it began never runs [X-025]") {
  weft::run(workers(1), [] {
    bool ran = false;
    auto mark = std::make_shared<int>(1);
    weft::Future<void> future = weft::async([&ran, mark] { ran = true; });
    future.cancel();
    CHECK_THROWS_AS(future.await(), weft::Cancelled);
    CHECK_FALSE(ran);
    CHECK(mark.use_count() == 1);
    CHECK(future.status() == weft::FutureStatus::cancelled);
  });
}

TEST_CASE("future: a cancelled awaiter leaves by Cancelled, through frames that await and sleep [X-026]") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent never;
    std::atomic<int> at{0};
    std::string log;
    auto outer = weft::go([&] {
      try {
        weft::Future<int> inner = weft::async([&]() -> int {
          at = 1;
          never.wait();
          return 1;
        });
        return inner.await();
      } catch (const weft::Cancelled& cancelled) {
        CHECK(cancelled.reason() == weft::CancelReason::user);
        log += "outer ";
        throw;
      }
    });
    until([&] { return at == 1; });
    until_parked(outer);
    outer.cancel();
    CHECK_THROWS_AS((void)outer.join(), weft::Cancelled);
    CHECK(log == "outer ");
    // Not cancelled: nothing of the kind.
    CHECK(weft::async([] {
            weft::sleep(100us);
            return 3;
          }).await() == 3);
  });
}

TEST_CASE("future: destroyed before its end it is cancelled and joined: nothing outlives it [N-029]") {
  in_each_universe([](const Universe&) {
    std::atomic<int> alive{0};
    for (int round = 0; round < 20; ++round) {
      {
        weft::Future<void> future = weft::async([&] {
          ++alive;
          struct Leave {
            std::atomic<int>& count;
            ~Leave() {
              weft::sleep(100us);  // its unwinding takes its time
              --count;
            }
          } leave{alive};
          weft::sleep(1h);
        });
        if (round % 2 == 0)
          while (alive == 0) weft::sleep(20us);
      }
      CHECK(alive == 0);
    }
  });
}

TEST_CASE("future: assigned over, the old one is cancelled and joined first [N-029]") {
  weft::run(workers(2), [] {
    std::atomic<int> alive{0};
    const auto sleeper = [&] {
      ++alive;
      struct Leave {
        std::atomic<int>& count;
        ~Leave() { --count; }
      } leave{alive};
      weft::sleep(1h);
    };
    weft::Future<void> future = weft::async(sleeper);
    while (alive == 0) weft::sleep(20us);
    future = weft::async([] {});
    CHECK(alive == 0);
    future.await();
  });
}

TEST_CASE("future: a parent that fails takes its futures with it, and waits for them under the cancel [N-029]") {
  in_each_universe([](const Universe&) {
    std::atomic<int> alive{0};
    CHECK_THROWS_WITH(weft::with_nursery([&](weft::Nursery& n) {
                        n.start([&] {
                          weft::Future<void> mine = weft::async([&] {
                            ++alive;
                            try {
                              weft::sleep(1h);
                            } catch (...) {
                              --alive;
                              throw;
                            }
                          });
                          mine.await();
                        });
                        while (alive == 0) weft::sleep(20us);
                        throw std::runtime_error("the body");
                      }),
                      "the body");
    CHECK(alive == 0);
  });
}

TEST_CASE("future: await_for and await_until give up in time, and the task runs on") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent go;
    weft::Future<int> future = weft::async([&] {
      go.wait();
      return 9;
    });
    CHECK(future.await_for(1ms) == nullptr);
    CHECK(future.await_until(weft::current_io().now() + 1ms) == nullptr);
    CHECK_FALSE(future.done());
    go.set();
    const int* value = future.await_for(10s);
    REQUIRE(value != nullptr);
    CHECK(*value == 9);
    CHECK_THROWS_AS((void)future.await_for(-1ms), std::invalid_argument);
  });
}

TEST_CASE("future: await_result never throws and tells the three ways apart [N-028]") {
  in_each_universe([](const Universe&) {
    weft::Future<int> good = weft::async([] { return 1; });
    CHECK(**good.await_result() == 1);
    weft::Future<int> bad = weft::async([]() -> int { throw std::runtime_error("bad"); });
    const auto failed = bad.await_result();
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().why == weft::AwaitError::Why::failed);
    CHECK_THROWS_WITH(std::rethrow_exception(failed.error().failure), "bad");
    weft::Future<void> slow = weft::async([] { weft::sleep(1h); });
    CHECK(slow.await_result(weft::current_io().now() + 1ms).error().why == weft::AwaitError::Why::timed_out);
    std::atomic<bool> asked{false};
    auto task = weft::go([&] {
      try {
        weft::sleep(1h);
      } catch (const weft::Cancelled&) {
        asked = slow.await_result().error().why == weft::AwaitError::Why::cancelled;
      }
    });
    until_parked(task);
    task.cancel();
    task.wait();
    CHECK(asked);
  });
}

TEST_CASE("future: an empty one says so") {
  weft::Future<int> empty;
  CHECK_FALSE(empty);
  CHECK_THROWS_AS((void)empty.done(), std::logic_error);
  CHECK_THROWS_AS((void)empty.await(), std::logic_error);
}

TEST_CASE("future: the task inherits the bindings of its birth and none that come later [X-012]") {
  static const weft::Dyn<int> level{"level"};
  in_each_universe([](const Universe&) {
    level.set(1);
    weft::Future<int> future = weft::async([] {
      const int seen = level.get_or(0);
      level.set(9);
      return seen;
    });
    level.set(2);
    CHECK(future.await() == 1);
    CHECK(level.get() == 2);
    level.unset();
    weft::BlockingIo io;
    weft::with_io(io, [] {
      level.set(3);
      CHECK(weft::async([] {
              const int seen = level.get();
              level.set(4);
              return seen;
            }).await() == 3);
      CHECK(level.get() == 3);
    });
  });
}

TEST_CASE("future: from a plain thread into a runtime by its door, awaited by the thread [X-002] [N-013]") {
  weft::Runtime runtime(workers(2));
  weft::with_io(runtime, [] {
    weft::Future<std::uint64_t> future = weft::async([] {
      weft::sleep(1ms);
      return weft::current_task_id();
    });
    CHECK(future.await() != 0);
    CHECK_FALSE(weft::current_io().runs_inline());
  });
}

TEST_CASE("future: many at once, each with its own value") {
  in_each_universe([](const Universe&) {
    std::vector<weft::Future<int>> futures;
    for (int i = 0; i < 500; ++i)
      futures.push_back(weft::async([i] {
        if (i % 3 == 0) weft::yield_now();
        return i;
      }));
    int sum = 0;
    for (auto& future : futures) sum += future.await();
    CHECK(sum == 500 * 499 / 2);
  });
}

TEST_CASE("future: detach is explicit, and the task runs on [N-029]") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent go;
    weft::SyncEvent done;
    weft::Future<void> future = weft::async([&] {
      go.wait();
      done.set();
    });
    future.detach();
    CHECK_FALSE(future);
    go.set();
    done.wait();
  });
}

TEST_CASE("future: a failure that nobody awaits is printed and the run exits non-zero; one that was awaited is not") {
  const Outcome detached = run_program("futures", {"detached"});
  CHECK(detached.exit_code == 1);
  CHECK(detached.says("nobody saw this"));
  CHECK(detached.says("spawned at"));
  const Outcome late = run_program("futures", {"detached_late"});
  CHECK(late.exit_code == 1);
  CHECK(late.says("nobody saw this"));
  const Outcome dropped = run_program("futures", {"dropped"});
  CHECK(dropped.exit_code == 1);
  CHECK(dropped.says("nobody saw this"));
  const Outcome awaited = run_program("futures", {"awaited"});
  CHECK(awaited.exit_code == 0);
  CHECK(awaited.output.empty());
  const Outcome cancelled = run_program("futures", {"cancelled"});
  CHECK(cancelled.exit_code == 0);
  CHECK(cancelled.output.empty());
}

TEST_CASE("future: under a BlockingIo a wait that only a sibling could end is a deadlock at once [HB14]") {
  if (emulated()) return;  // it has threads of its own, so that nobody is alone
  const Outcome outcome = run_program("futures", {"lonely"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.says("deadlock: under a BlockingIo a task waits (recv)"));
}

TEST_CASE("future: a case of select, won once it has ended, beside a channel and a time [N-030]") {
  using namespace weft;
  in_each_universe([](const Universe&) {
    Channel<int> never{1};
    SyncEvent go;
    Future<int> answer = async([&] {
      go.wait();
      return 42;
    });
    // Not yet.
    CHECK(select(op::await(answer), op::otherwise()).index() == 1);
    CHECK(select(op::await(answer), op::timeout(100us)).index() == 1);
    with_nursery([&](Nursery& nursery) {
      auto selecting = nursery.spawn([&] {
        const auto got = select(op::recv(never), op::await(answer), op::timeout(1h));
        return got.index() == 1 ? *std::get<1>(got) : 0;
      });
      auto second = nursery.spawn([&] { return *std::get<0>(select(op::await(answer), op::recv(never))); });
      until_parked(selecting);
      until_parked(second);
      go.set();
      CHECK(selecting.join() == 42);
      CHECK(second.join() == 42);
    });
    CHECK(answer.await() == 42);
    CHECK(select(op::await(answer), op::otherwise()).index() == 0);  // over: at once
    // An op that is moved after a select, and used again.
    SyncEvent done;
    Future<void> nothing = async([&] { done.wait(); });
    auto one = op::await(nothing);
    CHECK(select(one, op::otherwise()).index() == 1);
    Op<std::monostate> held(std::move(one));
    done.set();
    CHECK(select(held, op::recv(never)).index() == 0);
    // What ended it comes out; a cancelled select leaves the future alone.
    Future<int> bad = async([]() -> int { throw std::runtime_error("inside"); });
    CHECK_THROWS_WITH((void)select(op::await(bad), op::recv(never)), "inside");
    Future<int> slow = async([] {
      sleep(1h);
      return 1;
    });
    CHECK_FALSE(timeout(1ms, [&] { (void)select(op::await(slow), op::recv(never)); }));
    CHECK_FALSE(slow.done());
    Future<int> empty;
    CHECK_THROWS_AS((void)op::await(empty), std::logic_error);
  });
}

TEST_CASE("future: many ends meet many selects, and each is won by the one that ended") {
  using namespace weft;
  for (const unsigned count : worker_counts()) {
    run(workers(count), [] {
      for (int round = 0; round < 300; ++round) {
        Future<int> a = async([&] {
          if (round % 3 == 0) yield_now();
          return 1;
        });
        Future<int> b = async([&] {
          if (round % 2 == 0) yield_now();
          return 2;
        });
        const auto first = select(op::await(a), op::await(b));
        CHECK((first.index() == 0 ? a.done() : b.done()));
        CHECK(std::get<0>(select(op::wrap(op::await(a), [](const int* value) { return *value; }))) == 1);
      }
    });
  }
}
