// SPDX-License-Identifier: MIT
#include "weft/blocking.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/blocking_pool.hpp"
#include "sched/runtime_core.hpp"
#include "sched/runtime_help.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/scope.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

TEST_CASE("blocking: the call runs on another thread, its result comes back, and the worker runs others meanwhile") {
  for (const unsigned workers : worker_counts()) {
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
  for (const unsigned workers : worker_counts()) {
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
  for (const unsigned workers : worker_counts()) {
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

namespace {

// What a call has to do that wants to be cancelled.
long patient_read(int fd) {
  char byte = 0;
  for (;;) {
    const long n = sys::read(fd, &byte, 1);
    if (n != -EINTR || cancel_requested()) return n;
  }
}

}  // namespace

TEST_CASE("blocking: a cancel gets a call out of its system call, a deadline does, too [N-023]") {
  for (const unsigned count : worker_counts()) {
    Runtime runtime(with_workers(count));
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    runtime.run([&] {
      std::vector<std::chrono::nanoseconds> spans;
      for (int round = 0; round < 20; ++round) {
        long result = 0;
        std::atomic<bool> begun{false};
        long slept = 0;
        std::atomic<std::chrono::steady_clock::time_point> asked{};
        std::chrono::nanoseconds after{};
        with_nursery([&](Nursery& nursery) {
          auto task = nursery.spawn([&] {
            result = blocking([&] {
              CHECK_FALSE(cancel_requested());
              begun = true;
              if (round % 2 == 0) return patient_read(ends[0]);
              // Its first signal is spent here, before the read; there is a second one.
              const timespec long_time{60, 0};
              slept = sys::nanosleep(&long_time);
              char byte = 0;
              return sys::read(ends[0], &byte, 1);
            });
            after = std::chrono::steady_clock::now() - asked.load();
            yield_now();  // raises
            FAIL("not cancelled");
          });
          while (!begun) yield_now();
          asked = std::chrono::steady_clock::now();
          task.cancel();
          task.wait();
          CHECK(task.status() == TaskStatus::cancelled);
        });
        CHECK(result == -EINTR);
        CHECK(slept == (round % 2 == 0 ? 0 : -EINTR));
        CHECK(after < 2s);
        spans.push_back(after);
      }
      std::ranges::sort(spans);
      if (full_run()) CHECK(spans[spans.size() / 2] < 50ms);
      long result = 0;
      CHECK_FALSE(timeout(5ms, [&] {
        result = blocking([&] { return patient_read(ends[0]); });
        yield_now();
      }));
      CHECK(result == -EINTR);
    });
    close(ends[0]);
    close(ends[1]);
  }
}

TEST_CASE("blocking: a call that is cancelled while it waits for a thread does not begin") {
  RuntimeOptions options = with_workers(1);
  options.blocking_threads = 1;
  Runtime runtime(options);
  Pipe pipe;
  runtime.run([&] {
    with_nursery([&](Nursery& nursery) {
      std::atomic<bool> first{false};
      nursery.start([&] {
        blocking([&] {
          first = true;
          pipe.wait();
        });
      });
      while (!first) yield_now();
      bool ran = false;
      auto second = nursery.spawn([&] { blocking([&] { ran = true; }); });
      while (second.status() != TaskStatus::waiting) yield_now();
      second.cancel();
      second.wait();
      CHECK(second.status() == TaskStatus::cancelled);
      pipe.release(1);
      CHECK_FALSE(ran);
    });
  });
}
