// SPDX-License-Identifier: MIT
// Fibers that change threads: nothing of the runtime remembers the thread that a fiber has left. N-007, B24, B25.
// tests/programs/migration.cpp is the same at other optimisation levels.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/lane.hpp"
#include "fiber/refusal.hpp"
#include "fiber/traveller.hpp"
#include "weft/dyn.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"
#include "weft/sugar.hpp"

using namespace weft;
using weft_test::at_home;
using weft_test::Lane;

namespace {

[[gnu::noinline]] long thread_id() {
  return syscall(SYS_gettid);
}

}  // namespace

TEST_CASE("migration: fibers resumed on alternating threads ask the thread that they are on [N-007] [B24]") {
  CHECK(weft_test::travel(10, 50) == 0);
}

TEST_CASE("migration: a frozen chain moves as a whole [N-007] [B24]") {
  Lane lanes[2];
  int wrong = 0;
  Fiber outer(
      [&] {
        Fiber middle([&] {
          Fiber inner([&] {
            for (int i = 0; i < 50; ++i) {
              emit(sig::user(5));
              wrong += !at_home();
            }
          });
          inner.resume();
          wrong += !at_home();
          yield();
        });
        middle.resume();
        wrong += !at_home();
      },
      "5");
  for (std::size_t i = 0; outer.can_resume(); ++i) lanes[i % 2].run([&] { outer.resume(); });
  CHECK(outer.state() == State::dead);
  CHECK(wrong == 0);
}

TEST_CASE("migration: an inner resume returns on a thread other than the one that called it [N-007] [B24]") {
  Lane lanes[2];
  long before = 0;
  long after = 0;
  bool home = false;
  Fiber outer(
      [&] {
        Fiber inner([] { emit(sig::user(5)); });
        before = thread_id();
        inner.resume();
        after = thread_id();
        home = at_home();
        Fiber fresh([] { return at_home(); });
        home = home && fresh.resume().value.as<bool>();
      },
      "5");
  lanes[0].run([&] { outer.resume(); });
  lanes[1].run([&] { outer.resume(); });
  CHECK(before != after);
  CHECK(home);
}

TEST_CASE("migration: killed on another thread than the one that it ran on [N-007]") {
  Lane lanes[2];
  bool home = false;
  struct Look {
    bool* home;
    ~Look() { *home = at_home(); }
  };
  {
    Fiber f([&] {
      const Look look{&home};
      yield();
    });
    lanes[0].run([&] { f.resume(); });
    lanes[1].run([&] { f = Fiber(); });
  }
  CHECK(home);
}

TEST_CASE("migration: errno belongs to the thread, so user code reads it before it suspends [B25]") {
  Lane lanes[2];
  // Not inlined: inside the fiber's own function a compiler may use the errno of the thread that it started on.
  struct Errno {
    [[gnu::noinline]] static int read() { return errno; }
    [[gnu::noinline]] static void write(int value) { errno = value; }
  };
  int kept = 0;
  int after = 0;
  Fiber f([&] {
    Errno::write(EPERM);
    kept = Errno::read();  // right: taken at once
    yield();
    after = Errno::read();  // the other thread's
  });
  lanes[1].run([] { Errno::write(ERANGE); });
  lanes[0].run([&] { f.resume(); });
  lanes[1].run([&] { f.resume(); });
  CHECK(kept == EPERM);
  CHECK(after == ERANGE);
}

TEST_CASE("migration: a fiber that shares bindings stays with its thread, one with a layer may go [N-007]") {
  Lane lane;
  Fiber shares([] { yield(1); }, "yi");
  Fiber layered([] { yield(1); }, "yp");
  shares.resume();
  layered.resume();
  std::string text;
  bool went = false;
  lane.run([&] {
    text = weft_test::refusal([&] { shares.resume(); });
    went = layered.resume().ok();
  });
  CHECK(weft_test::has(text, "foreign: "));
  CHECK(weft_test::has(text, "make it with p"));
  CHECK(went);
  CHECK(shares.resume().ok());
}
