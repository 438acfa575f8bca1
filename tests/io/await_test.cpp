// SPDX-License-Identifier: MIT
// One worker: while the task that waits is suspended, the other one runs and brings what it waits for.
#include <sys/timerfd.h>

#include <array>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "io/engines.hpp"
#include "weft/channel.hpp"
#include "weft/deadlock.hpp"
#include "weft/nursery.hpp"
#include "weft/pipe.hpp"
#include "weft/wait.hpp"

using namespace weft;
using namespace weft_test;

namespace {

template <class F>
void on_one_worker(F&& body) {
  for (const IoEngine engine : engines()) {
    INFO("engine: ", weft::to_string(engine));
    Runtime runtime(with_engine(engine, 1));
    runtime.run([&] { body(); });
  }
}

}  // namespace

TEST_CASE("await: a read suspends its task until the bytes come [J-094]") {
  on_one_worker([] {
    Pipe pipe = make_pipe();
    std::string order;
    with_nursery([&](Nursery& nursery) {
      auto reader = nursery.spawn([&] {
        std::array<std::byte, 4> bytes{};
        order += "reads, ";
        CHECK(pipe.reader.read(bytes) == 1);
        order += "has read";
      });
      until_parked(reader);
      order += "other runs, ";
      const std::byte one{1};
      pipe.writer.write_all(std::span(&one, 1));
    });
    CHECK(order == "reads, other runs, has read");
  });
}

TEST_CASE("await: a timer suspends its task until its time has come [J-094]") {
  on_one_worker([] {
    std::string order;
    const auto start = std::chrono::steady_clock::now();
    with_nursery([&](Nursery& nursery) {
      auto sleeper = nursery.spawn([&] {
        order += "sleeps, ";
        sleep_until(start + std::chrono::milliseconds(20));
        CHECK(std::chrono::steady_clock::now() >= start + std::chrono::milliseconds(20));
        order += "awake";
      });
      while (order.empty()) yield_now();
      order += "other runs, ";
    });
    CHECK(order == "sleeps, other runs, awake");
  });
}

TEST_CASE("await: a channel suspends its task until a value comes [J-094]") {
  on_one_worker([] {
    Channel<int> channel;
    std::string order;
    with_nursery([&](Nursery& nursery) {
      auto receiver = nursery.spawn([&] {
        order += "receives, ";
        CHECK(channel.recv() == 7);
        order += "has received";
      });
      until_parked(receiver);
      order += "other runs, ";
      channel.send(7);
    });
    CHECK(order == "receives, other runs, has received");
  });
}

// No thread brings it: one that nobody knows would make every verdict a "maybe".
TEST_CASE("await: who waits for a descriptor for 200 ms is in no deadlock, who waits for nothing is [N-040]") {
  for (const IoEngine engine : engines()) {
    for (const unsigned count : {1U, 2U}) {
      INFO("engine: ", weft::to_string(engine), ", workers: ", count);
      Runtime runtime(with_engine(engine, count));
      runtime.run([&] {
        const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        REQUIRE(fd >= 0);
        Stream timer(fd, false);
        const itimerspec once{{0, 0}, {0, 200'000'000}};
        REQUIRE(timerfd_settime(fd, 0, &once, nullptr) == 0);
        Channel<int> after(0);
        with_nursery([&](Nursery& nursery) {
          nursery.start([&] {
            std::array<std::byte, 8> expired{};
            CHECK(timer.read(expired) == 8);
            after.send(1);
          });
          CHECK(after.recv() == 1);  // both wait, without a deadline
        });
      });
      if (emulated()) continue;  // it has threads of its own, which nobody knows
      Channel<int> never_sent(0);
      CHECK_THROWS_AS(runtime.run([&] { (void)never_sent.recv(); }), Deadlock);
    }
  }
}
