// SPDX-License-Identifier: MIT
#include "weft/coroutine.hpp"

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/sync_event.hpp"

using namespace weft;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

// A coroutine of somebody else's: begins at once, belongs to nobody, tells when it is over.
struct Stray {
  struct promise_type {
    Stray get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

// Resumes on a thread of its own.
struct OnThread {
  std::thread& thread;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    std::thread& into = thread;  // this may be gone once it runs
    into = std::thread([coroutine] { coroutine.resume(); });
  }
  long await_resume() const { return thread_here(); }
};

// Never resumed, but by a request to stop.
struct UntilStopped {
  std::stop_token token;
  std::coroutine_handle<> waiting;
  struct Resume {
    UntilStopped* self;
    void operator()() const { self->waiting.resume(); }
  };
  std::optional<std::stop_callback<Resume>> callback;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    waiting = coroutine;
    callback.emplace(token, Resume{this});
  }
  std::string await_resume() const { return "stopped"; }
};

Co<int> add(Future<int>& a, Future<int> b) {
  const int first = co_await a;
  co_return first + co_await std::move(b);
}

Co<std::string> nested(int depth) {
  if (depth == 0) co_return std::string("|");
  std::string inner = co_await nested(depth - 1);
  co_return "(" + inner + ")";
}

Stray on_other_thread(Future<int>& three, std::atomic<bool>& in_task, std::atomic<bool>& over) {
  const int got = co_await three;
  in_task = got == 3 && detail::this_worker() != nullptr;
  over = true;
}

Future<int> later(int value) {
  return async([value] {
    sleep(100us);
    return value;
  });
}

}  // namespace

TEST_CASE("coroutine: a fiber awaits a coroutine that awaits futures, on that fiber [N-082]") {
  in_each_universe([](const Universe&) {
    Future<int> a = later(1);
    CHECK(await(add(a, later(2))) == 3);
    CHECK(a.await() == 1);  // it stays
    CHECK(await(nested(50)) == std::string(50, '(') + "|" + std::string(50, ')'));
    // On the caller's fiber: its dynamic scope, its waits.
    Channel<int> channel{1};
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] { channel.send(7); });
      const detail::TaskCore* here = detail::this_task();
      await([](Channel<int>& from, const detail::TaskCore* driver) -> Co<> {
        CHECK(from.recv() == 7);
        Future<int> one = later(1);
        CHECK(co_await one == 1);
        CHECK(detail::this_task() == driver);
      }(channel, here));
    });
    // Move-only results, and nothing.
    CHECK(*await([]() -> Co<std::unique_ptr<int>> {
      co_return co_await async([] { return std::make_unique<int>(5); });
    }()) == 5);
    await([]() -> co<> { co_await async([] {}); }());
  });
}

TEST_CASE("coroutine: exceptions cross both ways as the original object [N-082]") {
  in_each_universe([](const Universe&) {
    std::exception_ptr original = std::make_exception_ptr(std::runtime_error("disk full"));
    std::exception_ptr seen;
    try {
      await([](std::exception_ptr what) -> Co<int> {
        Future<int> failing = async([what]() -> int { std::rethrow_exception(what); });
        co_return co_await failing;
      }(original));
    } catch (...) {
      seen = std::current_exception();
    }
    CHECK(seen == original);
    // Caught inside, the coroutine goes on.
    CHECK(await([]() -> Co<std::string> {
            std::string text;
            try {
              co_await async([] { throw std::runtime_error("inside"); });
            } catch (const std::runtime_error& error) {
              text = error.what();
            }
            co_return text + std::to_string(co_await later(1));
          }()) == "inside1");
  });
}

TEST_CASE("coroutine: a fiber that is asked to stop throws Cancelled at the co_await; the coroutine unwinds [N-082]") {
  in_each_universe([](const Universe&) {
    std::string log;
    std::atomic<bool> part_began{false};
    std::atomic<bool> part_stopped{false};
    const auto work = [&](bool stubborn) -> Co<> {
      const struct Last {
        std::string& out;
        ~Last() { out += "unwound "; }
      } last{log};
      try {
        co_await async([&] {  // the coroutine owns this future
          part_began = true;
          try {
            sleep(1h);
          } catch (const Cancelled&) {
            part_stopped = true;
            throw;
          }
        });
      } catch (const Cancelled&) {
        log += "cancelled ";
        if (!stubborn) throw;
      }
      Future<void> another = async([] { sleep(1h); });
      co_await another;  // level-triggered
    };
    for (const bool stubborn : {false, true}) {
      log.clear();
      part_began = false;
      part_stopped = false;
      with_nursery([&](Nursery& nursery) {
        auto task = nursery.spawn([&] { await(work(stubborn)); });
        until([&] { return part_began.load(); });
        until_parked(task);
        task.cancel();
        task.wait();
        CHECK(task.status() == TaskStatus::cancelled);
      });
      CHECK(log == "cancelled unwound ");
      CHECK(part_stopped);
    }
    // A deadline around it.
    CHECK_FALSE(timeout(1ms, [&] { await(work(false)); }));
  });
}

TEST_CASE("coroutine: the cancel of a future's task arrives where a coroutine awaits it [N-082]") {
  in_each_universe([](const Universe&) {
    Future<int> part = async([]() -> int {
      sleep(1h);
      return 1;
    });
    bool told = false;
    with_nursery([&](Nursery& nursery) {
      auto task = nursery.spawn([&] {
        await([](Future<int>& of, bool& out) -> Co<> {
          try {
            (void)co_await of;
          } catch (const Cancelled& cancelled) {
            out = cancelled.reason() == CancelReason::user;
          }
        }(part, told));
      });
      until_parked(task);
      part.cancel();
    });
    CHECK(told);
  });
}

TEST_CASE(
    "coroutine: something foreign resumes it on its own thread; the next co_await of weft brings it back [N-082]") {
  in_each_universe([](const Universe&) {
    std::thread thread;
    const detail::TaskCore* here = detail::this_task();
    CHECK(await([](std::thread& on) -> Co<int> {
            const long there = co_await OnThread{on};
            CHECK(there == thread_here());
            Future<int> part = async([] { return 4; });  // on a plain thread: its own Io, done at once
            const int four = co_await part;
            co_return four;
          }(thread)) == 4);
    thread.join();
    Future<int> slow = async([] {
      sleep(1ms);
      return 5;
    });
    CHECK(await([](std::thread& on, Future<int>& part, const detail::TaskCore* driver) -> Co<int> {
            co_await OnThread{on};
            const int five = co_await part;
            if (detail::this_task() == driver) co_return five;
            co_return part.done() ? five : 0;  // it was there before the co_await: no need to go back
          }(thread, slow, here)) == 5);
    thread.join();
    // Any awaitable, without a coroutine around it; also from a plain thread.
    CHECK(await(OnThread{thread}) != 0);
    thread.join();
  });
  std::thread thread;
  CHECK(await(OnThread{thread}) != 0);
  thread.join();
}

TEST_CASE("coroutine: a cancel while it awaits something foreign asks its stop token, and waits for its end [N-082]") {
  in_each_universe([](const Universe&) {
    std::string end;
    with_nursery([&](Nursery& nursery) {
      auto task = nursery.spawn([&] {
        end = await([]() -> Co<std::string> {
          std::stop_token token = co_await co_stop_token;
          UntilStopped waits{std::move(token), {}, {}};
          co_return co_await waits;
        }());
      });
      until_parked(task);
      task.cancel();
      task.wait();
    });
    CHECK(end == "stopped");
  });
}

TEST_CASE("coroutine: one that is not ours goes on as a task of the future's runtime [N-082]") {
  in_each_universe([](const Universe&) {
    SyncEvent over;
    std::string log;
    const auto stray = [&](Future<int> part) -> Stray {
      try {
        log += std::to_string(co_await part);
        log += std::to_string(co_await later(2));
        log += std::to_string(co_await add(part, later(3)));  // ours inside, driven by nobody
        co_await async([] { throw std::runtime_error(" failed"); });
      } catch (const std::runtime_error& error) {
        log += error.what();
      }
      CHECK(detail::this_task() != nullptr);
      over.set();
    };
    stray(later(1));
    over.wait();
    CHECK(log == "124 failed");
  });
}

TEST_CASE("coroutine: a stray coroutine that is destroyed while it awaits stops the future it owns [N-082]") {
  run(workers(2), [] {
    std::atomic<bool> began{false};
    std::atomic<bool> stopped{false};
    const auto stray = [&]() -> Stray {
      co_await async([&] {
        began = true;
        try {
          sleep(1h);
        } catch (const Cancelled&) {
          stopped = true;
          throw;
        }
      });
      CHECK(false);
    };
    const Stray left = stray();
    until([&] { return began.load(); });
    left.handle.destroy();
    CHECK(stopped);
  });
}

TEST_CASE("coroutine: what awaits from a plain thread goes on in the runtime") {
  Runtime runtime(workers(2));
  std::atomic<bool> over{false};
  std::atomic<bool> in_task{false};
  Future<int> part = runtime.run([] {
    Future<int> three = later(3);
    three.wait();
    return three;
  });
  Future<int> slow;
  runtime.run([&] {
    SyncEvent awaited;
    slow = async([&] {
      awaited.wait();
      return 3;
    });
    std::thread([&] { on_other_thread(slow, in_task, over); }).join();
    CHECK_FALSE(over);
    awaited.set();
    until([&] { return over.load(); });
  });
  CHECK(in_task);
  over = false;
  on_other_thread(part, in_task, over);  // it was over: no suspension
  CHECK(over);
}

TEST_CASE("coroutine: one that nobody drives, and whose runtime takes no tasks any more, goes on where it awaits") {
  Runtime runtime(workers(1));
  SyncEvent began;
  SyncEvent gate;
  Future<int> late = runtime.run([&] {
    Future<int> made = async([&] {
      began.set();
      shield([&] { gate.wait(); });
      return 1;
    });
    began.wait();
    return made;
  });
  std::thread closing([&] { runtime.shutdown(); });
  until([&] {
    try {
      (void)runtime.go([] {});
      return false;
    } catch (const RuntimeError&) {
      return true;
    }
  });
  // Each turn a frame deeper it would need more than any stack.
  int refused = 0;
  [](Future<int>& future, int& count) -> Stray {
    while (count < 200'000) {
      try {
        (void)co_await future;
      } catch (const Cancelled& cancelled) {
        ++count;
        if (cancelled.reason() != CancelReason::shutdown) break;
      }
    }
  }(late, refused);
  CHECK(refused == 200'000);
  CHECK_FALSE(late.done());
  gate.set();
  closing.join();
  CHECK(late.await() == 1);
}
