// SPDX-License-Identifier: MIT
// Interrupts and the cleanup of defer, or a stack that unwinds, without a runtime.
#include <stdexcept>
#include <string>

#include "doctest/doctest.h"
#include "weft/fiber.hpp"
#include "weft/sugar.hpp"

using namespace weft;

namespace {

int uncaught_interrupts() {
  int count = 0;
  for (int i = 0; i < 10; ++i) {
    try {
      checkpoint();
    } catch (const UncaughtSignal&) {
      ++count;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("cleanup: interrupts wait until it is over, on a thread and in a fiber [HB1] [J-103]") {
  bool cleaned = false;
  const auto clean = [&] {
    interrupter().interrupt();
    interrupter().interrupt();
    checkpoint();
    defer([] { checkpoint(); }, [] { checkpoint(); });
    checkpoint();
    Fiber inner([] { checkpoint(); }, "e");
    CHECK(inner.resume().ok());
    cleaned = true;
  };
  defer(clean, [] {});
  CHECK(cleaned);
  CHECK(uncaught_interrupts() == 2);
  CHECK_THROWS_AS(defer(clean, [] { throw std::runtime_error("x"); }), std::runtime_error);
  CHECK(uncaught_interrupts() == 2);
  CHECK_THROWS_AS(defer(
                      [&] {
                        clean();
                        throw std::logic_error("y");
                      },
                      [] { throw std::runtime_error("x"); }),
                  std::logic_error);
  CHECK(uncaught_interrupts() == 2);

  cleaned = false;
  Fiber f(
      [&] {
        defer(clean, [] {});
        checkpoint();
        checkpoint();
        checkpoint();
      },
      "r");
  CHECK(f.resume().bits == sig::interrupt);
  CHECK(cleaned);
  CHECK(f.resume().bits == sig::interrupt);
  CHECK(f.resume().ok());
}

TEST_CASE("cleanup: a fiber that is suspended in it does not shield its resumer, and is shielded again after [HB1]") {
  std::string log;
  Fiber f(
      [&] {
        Fiber inner(
            [&] {
              defer(
                  [&] {
                    yield(1);
                    checkpoint();
                    log += "a";
                    yield(2);
                    checkpoint();
                    log += "b";
                  },
                  [] {});
            },
            "e");
        defer([&] { inner.resume(); }, [] {});
      },
      "y");
  CHECK(f.resume().value.as<int>() == 1);
  interrupter().interrupt();
  CHECK(uncaught_interrupts() == 1);
  interrupter().interrupt();
  CHECK(f.resume().value.as<int>() == 2);
  CHECK(log == "a");
  CHECK(uncaught_interrupts() == 1);
  interrupter().interrupt();
  CHECK(f.resume().ok());
  CHECK(log == "ab");
  CHECK(uncaught_interrupts() == 1);
}

TEST_CASE(
    "cleanup: a destructor that looks while its stack unwinds gets no interrupt, nor does what it resumes [HB1]") {
  struct Guard {
    bool& done;
    ~Guard() {
      interrupter().interrupt();
      checkpoint();
      Fiber inner([] { checkpoint(); }, "e");
      CHECK(inner.resume().ok());
      done = true;
    }
  };
  bool done = false;
  try {
    const Guard guard{done};
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
  }
  CHECK(done);
  CHECK(uncaught_interrupts() == 1);

  // Of a fiber that is killed, too.
  done = false;
  {
    Fiber f(
        [&] {
          const Guard guard{done};
          yield();
        },
        "y");
    f.resume();
  }
  CHECK(done);
  CHECK(uncaught_interrupts() == 1);

  // And of one that swallows that.
  Fiber stubborn(
      [] {
        try {
          yield();
        } catch (...) {
        }
        interrupter().interrupt();
        try {
          checkpoint();
        } catch (...) {
        }
      },
      "yr");
  stubborn.resume();
  stubborn.kill();
  CHECK(uncaught_interrupts() == 1);
}
