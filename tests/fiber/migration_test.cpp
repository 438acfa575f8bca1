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
#include "weft/dyn.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"
#include "weft/sugar.hpp"

using namespace weft;
using weft_test::Lane;

namespace {

[[gnu::noinline]] long thread_id() {
  return syscall(SYS_gettid);
}

// Is the fiber's idea of its thread the thread that it is on?
bool at_home() {
  return detail::current_core()->root == detail::thread_root();
}

Dyn<int> level("level");

// One step of everything that asks for the current thread's things. Written so that an optimiser may keep whatever it
// can over the yield at its end.
int exercise(int round) {
  int wrong = 0;
  wrong += !at_home();
  Fiber child([&] { return yield(round).as<int>() + (at_home() ? 0 : 1000); });
  wrong += child.resume().value.as<int>() != round;
  wrong += child.resume(round).value.as<int>() != round;
  try {
    throw std::runtime_error(std::to_string(round));
  } catch (const std::runtime_error& error) {
    yield(0);
    wrong += error.what() != std::to_string(round);
    wrong += !at_home();
  }
  wrong += protect([&] { throw std::logic_error("x"); }).ok;
  level.set(round);
  yield(0);
  wrong += level.get() != round;
  wrong += !at_home();
  wrong += std::uncaught_exceptions() != 0;
  return wrong;
}

Fiber traveller(int rounds) {
  return Fiber([rounds] {
    const std::uint64_t id = current_fiber().id();
    int wrong = 0;
    for (int i = 0; i < rounds; ++i) {
      wrong += exercise(i);
      wrong += current_fiber().id() != id;
    }
    return wrong;
  });
}

}  // namespace

TEST_CASE("migration: fibers resumed on alternating threads ask the thread that they are on [N-007] [B24]") {
  Lane lanes[2];
  std::vector<Fiber> fibers;
  for (int i = 0; i < 10; ++i) fibers.push_back(traveller(50));
  int wrong = 0;
  for (std::size_t round = 0; round <= 100; ++round)
    for (std::size_t i = 0; i < fibers.size(); ++i)
      lanes[(round + i) % 2].run([&] {
        fibers[i].resume();
        wrong += !at_home();
      });
  for (const Fiber& fiber : fibers) {
    CHECK(fiber.state() == State::dead);
    wrong += fiber.last().value.as<int>();
  }
  CHECK(wrong == 0);
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
