// SPDX-License-Identifier: MIT
// Masks on running fibers: who catches what, and what a catch costs.
#include <algorithm>
#include <chrono>
#include <string>

#include "doctest/doctest.h"
#include "fiber/watch.hpp"
#include "weft/fiber.hpp"

using namespace weft;
using namespace weft_test;

namespace {

// The signals of Janet's user: error, debug, yield, user0 to user9.
constexpr SignalSet janet = sig::error | sig::debug | sig::yield | sig::user0_9;

SignalSet caught_by(const Mask& mask) {
  SignalSet caught;
  for (unsigned n = 0; n < 64; ++n) {
    const SignalSet bit = SignalSet::bit(n);
    if (!janet.contains(bit)) continue;
    const Seen seen = watch(mask, bit);
    CHECK(seen.bits == bit);
    CHECK(seen.value == 7);
    if (seen.caught) caught |= bit;
  }
  return caught;
}

}  // namespace

TEST_CASE(
    "masks: each letter makes the resumer catch its signals and lets all others pass "
    "[J-045] [J-046] [J-047] [J-048] [J-049] [J-050] [J-051] [J-052] [J-053] [J-056]") {
  struct Row {
    const char* letters;
    SignalSet caught;
  };
  const Row rows[] = {
      {"a", janet},
      {"e", sig::error},
      {"d", sig::debug},
      {"y", sig::yield},
      {"t", sig::error | sig::user0 | sig::user1 | sig::user2 | sig::user3 | sig::user4},
      {"u", sig::user0 | sig::user1 | sig::user2 | sig::user3 | sig::user4 | sig::user5 | sig::user6 | sig::user7 |
                sig::interrupt | sig::await},
      {"r", sig::interrupt},
      {"w", sig::await},
      {"0", sig::user0},
      {"1", sig::user1},
      {"2", sig::user2},
      {"3", sig::user3},
      {"4", sig::user4},
      {"5", sig::user5},
      {"6", sig::user6},
      {"7", sig::user7},
      {"8", sig::interrupt},
      {"9", sig::await},
      {"", sig::ok},
      {"ie", sig::error},
      {"ti", sig::error | sig::user0_4},
      {"yi", sig::yield},
      {"e123", sig::error | sig::user1 | sig::user2 | sig::user3},
  };
  for (const Row& row : rows) {
    CAPTURE(row.letters);
    CHECK(caught_by(row.letters) == row.caught);
  }
  CHECK_THROWS_WITH_AS(Fiber([] {}, std::string("yq")), doctest::Contains("q"), MaskError);
}

TEST_CASE("masks: a fiber without one catches yield, and no other of the signals that can be emitted [J-048]") {
  for (unsigned n = 0; n < 64; ++n) {
    const SignalSet bit = SignalSet::bit(n);
    if (sig::not_emittable.contains(bit)) continue;
    bool caught = false;
    Fiber outer(
        [&] {
          Fiber inner([bit] { emit(bit); });
          inner.resume();
          caught = true;
        },
        sig::all);
    outer.resume();
    CHECK(caught == (bit == sig::yield));
  }
}

TEST_CASE("masks: letter a catches everything but ok and what is terminal [J-045]") {
  for (unsigned n = 0; n < 64; ++n)
    if (const SignalSet bit = SignalSet::bit(n); !sig::not_emittable.contains(bit)) CHECK(watch("a", bit).caught);
  Fiber f([] { return 3; }, "a");
  CHECK(f.resume().ok());
}

TEST_CASE("masks: the mask is the child's, given at creation and the same for ever [J-044]") {
  Fiber f([] { yield(); }, "ye2");
  const SignalSet given = sig::yield | sig::error | sig::user2;
  CHECK(f.mask() == given);
  CHECK(f.ends() == (sig::error | sig::user0_4));
  CHECK(f.pass() == (sig::terminal | sig::io | sig::wait | sig::await));
  f.resume();
  CHECK(f.mask() == given);
  f.kill();
  CHECK(f.mask() == given);
  // There is no way to change it: the accessor gives a copy.
  static_assert(!std::is_reference_v<decltype(f.mask())>);
}

TEST_CASE("masks: the resumer asks the child's mask: one function, two masks, two catchers [J-057]") {
  const auto body = [] { emit(sig::user6, 1); };
  const auto caught_inside = [&](const Mask& mask) {
    bool inside = false;
    Fiber outer(
        [&] {
          Fiber inner(body, mask);
          inner.resume();
          inside = true;
        },
        "6");
    const Event& event = outer.resume();
    CHECK(event.ok() == inside);
    return inside;
  };
  CHECK(caught_inside("6"));
  CHECK(!caught_inside("5"));
}

TEST_CASE("masks: pass lets a signal through that the mask names, whatever else comes with it") {
  const Mask letters("ye");
  CHECK(watch(letters, sig::yield).caught);
  CHECK(!watch(letters, sig::yield | sig::io).caught);
  CHECK(watch(sig::yield, sig::yield | sig::io).caught);
  CHECK(!watch(Mask(sig::yield).passing(sig::user5), sig::yield | sig::user5).caught);
  CHECK(watch(Mask(sig::yield), sig::yield).ended == false);
  CHECK(watch(Mask(sig::yield).ending(sig::yield), sig::yield).ended);
}

namespace {

using Clock = std::chrono::steady_clock;

// Runs f inside `depth` fibers that catch nothing.
void nest(int depth, const auto& f) {
  if (depth == 0) return f();
  Fiber level([&] { nest(depth - 1, f); }, SignalSet{});
  level.resume();
}

// Nanoseconds for one resume and one caught emit, the fastest of many runs and of `best`.
double catch_cost(int depth_above, SignalSet bits, double best) {
  nest(depth_above, [&] {
    constexpr int runs = 25, rounds = 1000;
    Fiber emitter(
        [bits] {
          for (;;) emit(bits);
        },
        bits);
    for (int run = 0; run < runs; ++run) {
      const auto began = Clock::now();
      for (int i = 0; i < rounds; ++i) emitter.resume();
      best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - began).count() / rounds);
    }
  });
  return best;
}

}  // namespace

TEST_CASE("masks: a catch costs the same with one fiber above the catcher and with two thousand [J-058] [E-043]") {
  // A dispatch that looked at the fibers above the catcher would read two thousand of them each time: a hundred times
  // slower. A busy machine makes runs slower, never faster: of enough of them the fastest are what they cost.
  for (const SignalSet bits : {sig::yield, sig::error, sig::user0 | sig::io}) {
    double shallow = 1e9;
    double deep = 1e9;
    int tries = 100;
    do {
      shallow = catch_cost(1, bits, shallow);
      deep = catch_cost(2000, bits, deep);
    } while (deep >= 4 * shallow && --tries > 0);
    CAPTURE(shallow);
    CAPTURE(deep);
    CHECK(deep < 4 * shallow);
  }
}
