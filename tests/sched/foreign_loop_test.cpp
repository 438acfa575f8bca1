// SPDX-License-Identifier: MIT
// A runtime without a thread of its own: driven by poll, inside a loop of the test.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/future.hpp"
#include "weft/io_request.hpp"
#include "weft/runtime.hpp"
#include "weft/time.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using Time = std::chrono::steady_clock::time_point;

namespace {

bool readable(int fd, std::chrono::milliseconds span) {
  pollfd one{fd, POLLIN, 0};
  return poll(&one, 1, static_cast<int>(span.count())) == 1;
}

}  // namespace

TEST_CASE("poll: runs what is ready, tells when it wants to be called again, and nothing else [X-009]") {
  weft::Runtime runtime(workers(1));
  CHECK(runtime.poll() == Time::max());  // idle
  std::string log;
  auto task = runtime.go([&] {
    log += "a";
    weft::yield_now();
    log += "b";
    weft::sleep(1h);
    log += "c";
  });
  CHECK(log.empty());
  const Time begun = std::chrono::steady_clock::now();
  const Time next = runtime.poll();
  CHECK(log == "ab");
  CHECK(next > begun);
  CHECK(next < std::chrono::steady_clock::now() + 2h);
  task.cancel();
  (void)runtime.poll();
  CHECK(task.done());
  CHECK(log == "ab");
}

TEST_CASE("poll: waits for the time that it is given, and runs what is due then [X-009]") {
  weft::Runtime runtime(workers(1));
  bool ran = false;
  auto task = runtime.go([&] {
    weft::sleep(50ms);
    ran = true;
  });
  const Time begun = std::chrono::steady_clock::now();
  int polls = 1;
  for (Time next = runtime.poll(); next != Time::max(); ++polls) next = runtime.poll(next);
  CHECK(ran);
  CHECK(task.done());
  CHECK(std::chrono::steady_clock::now() >= begun + 50ms);
  CHECK(polls < 20);  // the wheel may ask for one call per level; who does not wait calls thousands of times
}

TEST_CASE("poll: a task that sysmon has just taken from the wheel is still to come [X-009]") {
  weft::Runtime runtime(workers(1));
  for (int round = 0; round < 300; ++round) {
    bool ran = false;
    (void)runtime.go([&] {
      weft::sleep(1ms);
      ran = true;
    });
    // Sysmon wakes at the same time as this thread, for the place that has no thread meanwhile.
    for (Time next = runtime.poll(); next != Time::max(); next = runtime.poll()) std::this_thread::sleep_until(next);
    REQUIRE(ran);
  }
}

TEST_CASE("poll: a step-driven program with a virtual clock sees the same times every time [X-009] [X-010]") {
  for (int round = 0; round < 3; ++round) {
    weft::RuntimeOptions options = workers(1);
    options.clock = weft::RuntimeOptions::Clock::virtual_;
    weft::Runtime runtime(options);
    std::string log;
    const auto say = [&](const char* who) { log += who + std::to_string(weft::now().time_since_epoch() / 1s) + " "; };
    weft::with_io(runtime, [&] {
      weft::async([&] {
        weft::sleep(2s);
        say("a");
        weft::sleep(3s);
        say("a");
      }).detach();
      weft::async([&] {
        weft::sleep(4s);
        say("b");
      }).detach();
    });
    Time next = runtime.poll();
    CHECK(log.empty());
    CHECK(next == Time(2s));
    next = runtime.poll(Time(3s));
    CHECK(log == "a2 ");
    CHECK(next == Time(4s));
    next = runtime.poll(next);
    CHECK(log == "a2 b4 ");
    CHECK(runtime.poll(next) == Time::max());
    CHECK(log == "a2 b4 a5 ");
  }
}

TEST_CASE("poll: run_until_idle is the driver to quiescence of what was spawned by the door [X-011]") {
  weft::RuntimeOptions options = workers(1);
  options.clock = weft::RuntimeOptions::Clock::virtual_;
  weft::Runtime runtime(options);
  int ran = 0;
  weft::with_io(runtime, [&] {
    for (int i = 0; i < 5; ++i)
      weft::async([&, i] {
        weft::sleep(std::chrono::hours(i));
        ++ran;
      }).detach();
  });
  CHECK(ran == 0);  // nobody drives it
  runtime.run_until_idle();
  CHECK(ran == 5);
  CHECK(runtime.io().now() == Time(4h));
  runtime.run_until_idle();  // nothing to do
}

TEST_CASE("poll: refused inside a task, and while another thread drives [X-014]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] { CHECK_THROWS_AS((void)runtime.poll(), weft::RuntimeError); });
  std::atomic<bool> drives{false};
  std::atomic<bool> over{false};
  std::thread driver([&] {
    runtime.run([&] {
      drives = true;
      while (!over) weft::sleep(100us);
    });
  });
  while (!drives) std::this_thread::yield();
  for (const auto& refused : {+[](weft::Runtime& r) { (void)r.poll(); }, +[](weft::Runtime& r) { r.run_until_idle(); },
                              +[](weft::Runtime& r) { r.run([] {}); }}) {
    try {
      refused(runtime);
      FAIL("it drives beside another thread");
    } catch (const weft::RuntimeError& error) {
      CHECK(error.code() == weft::RuntimeErrc::busy);
    }
  }
  over = true;
  driver.join();
  CHECK(runtime.poll() == Time::max());  // and now it may
}

TEST_CASE("poll: one descriptor for wakes from other threads, timers and I/O, in an epoll loop of the test [N-047]") {
  for (const auto engine : {weft::RuntimeOptions::IoEngine::epoll, weft::RuntimeOptions::IoEngine::any}) {
    weft::RuntimeOptions options = workers(1);
    options.io = engine;
    weft::Runtime runtime(options);
    const int fd = runtime.descriptor();
    REQUIRE(fd >= 0);
    CHECK(runtime.descriptor() == fd);
    CHECK(runtime.poll() == Time::max());
    CHECK_FALSE(readable(fd, 0ms));

    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::string log;
    bool over = false;
    auto reader = runtime.go([&] {
      char byte = 0;
      weft::IoRequest request;
      request.op = weft::IoOp::read;
      request.fd = ends[0];
      request.data = &byte;
      request.size = 1;
      const weft::IoResult got = weft::perform_io(request);
      log += got.value() == 1 ? byte : '?';
      weft::sleep(3ms);
      log += "t";
      over = true;
    });
    CHECK(readable(fd, 1000ms));  // rung by go
    std::thread writer([&] {
      std::this_thread::sleep_for(5ms);
      CHECK(write(ends[1], "x", 1) == 1);
    });
    std::atomic<bool> outside{false};
    std::thread spawner([&] {
      std::this_thread::sleep_for(2ms);
      (void)runtime.go([&] { outside = true; });
    });
    const int loop = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    REQUIRE(epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == 0);
    Time next = runtime.poll();
    const Time give_up = std::chrono::steady_clock::now() + 20s;
    while (!(over && outside) && std::chrono::steady_clock::now() < give_up) {
      int span = 10000;
      if (next != Time::max())
        span = static_cast<int>(std::max<std::int64_t>(0, (next - std::chrono::steady_clock::now()) / 1ms + 1));
      epoll_event heard{};
      (void)epoll_wait(loop, &heard, 1, span);
      next = runtime.poll();
    }
    CHECK(log == "xt");
    CHECK(outside);
    writer.join();
    spawner.join();
    (void)runtime.poll();
    CHECK(reader.done());
    close(loop);
    close(ends[0]);
    close(ends[1]);
  }
}
