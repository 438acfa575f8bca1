// SPDX-License-Identifier: MIT
// Interrupts: from other threads and from signal handlers into whatever runs.
#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "weft/fiber.hpp"

using namespace weft;

namespace {

void post(int count) {
  const Interrupter handle = interrupter();
  std::thread([handle, count] {
    for (int i = 0; i < count; ++i) handle.interrupt();
  }).join();
}

}  // namespace

TEST_CASE("interrupt: another thread stops a running fiber, which goes on from there when resumed [J-024] [J-039]") {
  std::atomic<bool> running{false};
  std::atomic<bool> enough{false};
  long spins = 0;
  Fiber f(
      [&] {
        while (!enough) {
          ++spins;
          running = true;
          checkpoint();
        }
        return spins;
      },
      "r");
  const Interrupter handle = interrupter();
  std::thread other([&] {
    while (!running) std::this_thread::yield();
    handle.interrupt();
  });
  const Event& event = f.resume();
  other.join();
  CHECK(event.bits == sig::interrupt);
  CHECK(f.status() == Status::interrupted);
  CHECK(f.can_resume());
  const long before = spins;
  CHECK(before > 0);
  enough = true;
  CHECK(f.resume().value.as<long>() == before);
}

TEST_CASE("interrupt: N calls give N interrupts, from several threads at once too [J-103]") {
  constexpr int threads = 4, each = 50;
  std::atomic<int> posting{threads};
  Fiber f(
      [&] {
        while (posting != 0) checkpoint();
        for (int i = 0; i < 2 * threads * each; ++i) checkpoint();
      },
      "r");
  const Interrupter handle = interrupter();
  std::vector<std::thread> others;
  for (int i = 0; i < threads; ++i)
    others.emplace_back([&posting, handle] {
      for (int k = 0; k < each; ++k) handle.interrupt();
      --posting;
    });
  int taken = 0;
  while (f.resume().bits == sig::interrupt) ++taken;
  for (std::thread& other : others) other.join();
  CHECK(taken == threads * each);
  CHECK(f.last().ok());
}

TEST_CASE("interrupt: one is taken at a checkpoint, a resume, a cancel and an emit, once each [J-103]") {
  Fiber child([] {
    for (;;) {
      try {
        for (;;) yield();
      } catch (const SignalError&) {
      }
    }
  });
  child.resume();
  struct Row {
    const char* name;
    void (*act)(Fiber&);
  };
  const Row rows[] = {
      {"checkpoint", [](Fiber&) { checkpoint(); }},
      {"resume", [](Fiber& f) { f.resume(); }},
      {"cancel", [](Fiber& f) { f.cancel(1); }},
      {"emit", [](Fiber&) { yield(); }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    bool done = false;
    Fiber f(
        [&] {
          row.act(child);
          done = true;
        },
        "ry");
    post(1);
    CHECK(f.resume().bits == sig::interrupt);
    CHECK(!done);
    // Resumed, it does what it was about to do.
    if (f.resume().bits == sig::yield) f.resume();
    CHECK(done);
    CHECK(f.finished());
  }
}

TEST_CASE("interrupt: only masks that name it catch it; uncaught at a checkpoint it is an error there [J-103]") {
  Fiber inner(
      [] {
        post(1);
        checkpoint();
      },
      "y");
  Fiber outer([&] { inner.resume(); }, "r");
  CHECK(outer.resume().bits == sig::interrupt);
  CHECK(inner.status() == Status::interrupted);
  CHECK(outer.resume().ok());

  post(1);
  CHECK_THROWS_AS(checkpoint(), UncaughtSignal);
  checkpoint();
}

TEST_CASE("interrupt: without anybody who catches it, one waits for the next checkpoint") {
  post(1);
  Fiber f([] { yield(1); });
  CHECK(f.resume().bits == sig::yield);
  CHECK(f.resume().ok());
  CHECK_THROWS_AS(checkpoint(), UncaughtSignal);
}

namespace {

struct Deadline {};

std::optional<Interrupter> on_sigint;

}  // namespace

TEST_CASE("interrupt: a deadline ends a loop that only computes [J-104] [J-103]") {
  using namespace std::chrono_literals;
  bool unwound = false;
  Fiber f(
      [&] {
        struct Bye {
          bool& flag;
          ~Bye() { flag = true; }
        } bye{unwound};
        for (unsigned n = 1;; n = n * 1103515245u + 12345u) checkpoint();
      },
      "r");
  const Interrupter handle = interrupter();
  const auto began = std::chrono::steady_clock::now();
  std::thread timer([handle, until = began + 30ms] {
    std::this_thread::sleep_until(until);
    handle.interrupt();
  });
  CHECK(f.resume().bits == sig::interrupt);
  timer.join();
  CHECK(std::chrono::steady_clock::now() - began >= 30ms);
  CHECK_THROWS_AS(f.cancel(std::make_exception_ptr(Deadline())), Deadline);
  CHECK(unwound);
}

TEST_CASE("interrupt: a handler of SIGINT interrupts the loop it arrived in [J-104]") {
  on_sigint = interrupter();
  auto* before = std::signal(SIGINT, [](int) { on_sigint->interrupt(); });
  int rounds = 0;
  Fiber f(
      [&] {
        for (;;) {
          if (++rounds == 1000) std::raise(SIGINT);
          checkpoint();
        }
      },
      "r");
  CHECK(f.resume().bits == sig::interrupt);
  CHECK(rounds == 1000);
  std::signal(SIGINT, before);
}

TEST_CASE("interrupt: one thread cancels what another computes [J-104]") {
  std::atomic<bool> running{false};
  std::optional<Interrupter> handle;
  std::atomic<bool> ready{false};
  std::string result;
  std::thread worker([&] {
    handle = interrupter();
    ready = true;
    Fiber f(
        [&] {
          for (;;) {
            running = true;
            checkpoint();
          }
        },
        "re");
    if (f.resume().bits == sig::interrupt) result = f.cancel("cancelled from outside").value.as<std::string>();
  });
  while (!ready || !running) std::this_thread::yield();
  handle->interrupt();
  worker.join();
  CHECK(result == "cancelled from outside");
}
