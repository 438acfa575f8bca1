// SPDX-License-Identifier: MIT
#include "weft/blocking.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "doctest/doctest.h"
#include "sched/blocking_pool.hpp"
#include "sched/runtime_core.hpp"
#include "sched/runtime_help.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

TEST_CASE("blocking: the call runs on another thread, its result comes back, and the worker runs others meanwhile") {
  for (const unsigned workers : {1U, 2U, 4U}) {
    CAPTURE(workers);
    RuntimeOptions options = with_workers(workers);
    options.sysmon = false;  // nobody else helps
    Runtime runtime(options);
    Pipe pipe;
    std::string text;
    std::atomic<bool> other_ran{false};
    std::thread::id pool_thread;
    runtime.run([&] {
      with_nursery([&](Nursery& nursery) {
        for (unsigned i = 0; i < workers; ++i) {
          nursery.start([&, i] {
            std::string here = blocking([&] {
              if (i == 0) pool_thread = std::this_thread::get_id();
              pipe.wait();
              CHECK(this_worker() == nullptr);
              return std::string("read");
            });
            if (i == 0) text = std::move(here);
          });
        }
        nursery.start([&] {
          other_ran = true;
          pipe.release(workers);
        });
      });
    });
    CHECK(other_ran.load());
    CHECK(text == "read");
    CHECK(pool_thread != std::thread::id());
    CHECK(pool_thread != std::this_thread::get_id());
  }
}

TEST_CASE("blocking: void, references and move-only results come back, and so does the original exception") {
  Runtime runtime(with_workers(2));
  runtime.run([&] {
    int number = 1;
    blocking([&] { number = 2; });
    CHECK(number == 2);
    int& same = blocking([&]() -> int& { return number; });
    CHECK(&same == &number);
    CHECK(*blocking([] { return std::make_unique<int>(7); }) == 7);
    struct Odd : std::runtime_error {
      using std::runtime_error::runtime_error;
    };
    try {
      blocking([]() -> int { throw Odd("no such file"); });
      FAIL("it did not throw");
    } catch (const Odd& error) {
      CHECK(std::string(error.what()) == "no such file");
    }
  });
}

TEST_CASE("blocking: on a plain thread it is just a call") {
  const auto here = std::this_thread::get_id();
  CHECK(blocking([&] { return std::this_thread::get_id() == here; }));
}

TEST_CASE("blocking: a cancelled task does not begin; one that waits gets its result first") {
  for (const unsigned workers : {1U, 2U, 4U}) {
    CAPTURE(workers);
    Runtime runtime(with_workers(workers));
    Pipe pipe;
    std::atomic<bool> begun{false};
    std::atomic<bool> ended{false};
    std::atomic<bool> late{false};
    std::atomic<bool> never{true};
    runtime.run([&] {
      auto task = go([&] {
        blocking([&] {
          begun = true;
          pipe.wait();
          ended = true;
        });
        late = ended.load();  // not before
        blocking([&] { never = false; });
      });
      while (!begun.load()) yield_now();
      task.cancel();
      for (int i = 0; i < 100; ++i) yield_now();
      CHECK_FALSE(task.done());
      pipe.release(1);
      CHECK_THROWS_AS(task.join(), Cancelled);
    });
    CHECK(ended.load());
    CHECK(late.load());
    CHECK(never.load());
  }
}

TEST_CASE("blocking: many calls, more than threads, each with its own result") {
  for (const unsigned workers : {1U, 2U, 4U}) {
    CAPTURE(workers);
    RuntimeOptions options = with_workers(workers);
    options.blocking_threads = 3;
    Runtime runtime(options);
    std::atomic<std::uint64_t> sum{0};
    runtime.run([&] {
      with_nursery([&](Nursery& nursery) {
        for (std::uint64_t i = 0; i < 100; ++i) {
          nursery.start([&sum, i] {
            for (std::uint64_t k = 0; k < 20; ++k) sum += blocking([&] { return i * k; });
          });
        }
      });
    });
    CHECK(sum.load() == 99 * 100 / 2 * 190);
    CHECK(runtime.core().blocking->threads() <= 3);
    CHECK(runtime.shutdown());
    CHECK(runtime.core().blocking->threads() == 0);  // none is left
  }
}

TEST_CASE("blocking: a runtime that never blocks has no pool") {
  Runtime runtime(with_workers(2));
  runtime.run([] { sleep(1ms); });
  CHECK(runtime.core().blocking == nullptr);
}
