// SPDX-License-Identifier: MIT
#include "weft/signal.hpp"

#include <string>
#include <type_traits>

#include "doctest/doctest.h"
#include "signal/constant.hpp"
#include "weft/event.hpp"

using namespace weft;

namespace {

static_assert(sizeof(SignalSet) == 8);
static_assert(std::is_trivially_copyable_v<SignalSet>);
static_assert(std::is_nothrow_default_constructible_v<SignalSet>);
static_assert(!std::is_convertible_v<SignalSet, bool>);
static_assert(!std::is_convertible_v<std::uint64_t, SignalSet>);

template <SignalSet S>
struct AsTemplateArgument {
  static constexpr SignalSet value = S;
};
static_assert(AsTemplateArgument < sig::yield | sig::io > ::value.contains(sig::io));

}  // namespace

TEST_CASE("signal set: 64 bits, the last one usable [E-001]") {
  static_assert(SignalSet::bit(63).bits() == 0x8000'0000'0000'0000);
  static_assert(sig::all.count() == 64);
  CHECK(SignalSet::bit(63).contains(SignalSet::bit(63)));
  CHECK(!SignalSet::bit(63).overlaps(SignalSet::bit(62)));
}

TEST_CASE("signal set: a bit beyond the set does not compile as a constant and throws at run time") {
  static_assert(constant<[] { return SignalSet::bit(63); }>);
  static_assert(!constant<[] { return SignalSet::bit(64); }>);
  static_assert(!constant<[] { return sig::user(10); }>);
  CHECK_THROWS_WITH(SignalSet::bit(64), "SignalSet::bit(64): a set has the bits 0 to 63");
  CHECK_THROWS_WITH(sig::user(10), "sig::user(10): there are user0 to user9");
}

TEST_CASE("signal set: ok is the set without bits [E-003]") {
  static_assert(sig::ok.bits() == 0 && sig::ok.empty() && !sig::ok);
  static_assert(SignalSet{} == sig::ok);
  CHECK(Event{}.ok());
  CHECK(!Event{sig::yield, 1}.ok());
}

TEST_CASE(
    "signal set: the named bits have the values of the table "
    "[E-004] [E-005] [E-006] [E-008] [E-010] [E-012] [E-013] [E-014] [E-015]") {
  struct Row {
    SignalSet set;
    std::uint64_t value;
  };
  const Row rows[] = {
      {sig::error, 1},          {sig::yield, 2},           {sig::debug, 4},       {sig::resume, 8},
      {sig::ffi, 16},           {sig::propagate, 32},      {sig::query, 128},     {sig::halt, 256},
      {sig::io, 512},           {sig::terminal, 1024},     {sig::exec, 1u << 11}, {sig::fuel, 1u << 12},
      {sig::switch_, 1u << 13}, {sig::wait, 1u << 14},     {sig::abort, 0x401},   {sig::user0, 1u << 16},
      {sig::user7, 1u << 23},   {sig::interrupt, 1 << 24}, {sig::await, 1 << 25}, {sig::user8, 1u << 24},
      {sig::user9, 1u << 25},
  };
  for (const Row& row : rows) CHECK(row.set.bits() == row.value);
  for (unsigned n = 0; n <= 9; ++n) CHECK(sig::user(n) == SignalSet::bit(16 + n));
}

TEST_CASE("signal set: internal, runtime-only, reserved and free bits cover the word once each [HC1] [E-016]") {
  static_assert(sig::internal.bits() == (1u << 3 | 1u << 5 | 1u << 7 | 1u << 10 | 1u << 13));
  static_assert(sig::runtime_only == (sig::exec | sig::fuel | sig::wait));
  static_assert(sig::reserved.bits() == (1u << 6 | 1u << 15 | 0xfc00'0000u));
  SignalSet open =
      sig::error | sig::yield | sig::debug | sig::ffi | sig::halt | sig::io | sig::user0_9 | sig::user_range;
  CHECK((open | sig::not_emittable) == sig::all);
  CHECK(!open.overlaps(sig::not_emittable));
  CHECK(sig::internal.count() + sig::runtime_only.count() + sig::reserved.count() == sig::not_emittable.count());
  CHECK(open.count() + sig::not_emittable.count() == 64);
}

TEST_CASE("signal set: bits are orthogonal and tested by contains [E-027]") {
  constexpr SignalSet io_error{sig::io, sig::error};
  static_assert(io_error.contains(sig::error) && io_error.contains(sig::io));
  static_assert(io_error != sig::error);
  CHECK(io_error.contains(SignalSet{sig::io, sig::error}));
  CHECK(!io_error.contains(sig::error | sig::halt));
  CHECK(io_error.overlaps(sig::error | sig::halt));
  CHECK(io_error.contains(sig::ok));
  CHECK(!io_error.overlaps(sig::ok));
}

TEST_CASE("signal set: no named bit contains another, so a combination holds exactly what was put in [E-033]") {
  for (unsigned a = 0; a < 64; ++a) {
    for (unsigned b = 0; b < 64; ++b) {
      SignalSet both = SignalSet::bit(a) | SignalSet::bit(b);
      CHECK(both.count() == (a == b ? 1 : 2));
      CHECK(SignalSet::bit(a).overlaps(SignalSet::bit(b)) == (a == b));
    }
  }
}

TEST_CASE("signal set: compound assignment and difference") {
  SignalSet set = sig::yield;
  set |= sig::io;
  CHECK(set.bits() == 0x202);
  set ^= sig::yield;
  CHECK(set == sig::io);
  set &= sig::yield;
  CHECK(set.empty());
  CHECK((sig::yield | sig::io).without(sig::io | sig::error) == sig::yield);
  CHECK((~sig::yield).count() == 63);
}

TEST_CASE("signal set: text shows names in bit order, and unnamed bits by number") {
  CHECK(to_string(sig::ok) == "ok");
  CHECK(to_string(sig::yield) == "|yield|");
  CHECK(to_string(SignalSet{sig::io, sig::yield}) == "|yield io|");
  CHECK(to_string(sig::abort) == "|error terminal|");
  CHECK(to_string(sig::switch_) == "|switch|");
  CHECK(to_string(sig::user9 | sig::user3) == "|user3 await|");
  CHECK(to_string(SignalSet::bit(6) | SignalSet::bit(63)) == "|bit6 bit63|");
}

TEST_CASE("event: shows its bits and value, and moves with its value") {
  Event event{SignalSet{sig::error, sig::io}, "disk full"};
  CHECK(to_string(event) == "|error io| disk full");
  CHECK(to_string(Event{}) == "ok");
  Event moved = std::move(event);
  CHECK(moved.value.as<std::string>() == "disk full");
  CHECK(moved.bits == (sig::io | sig::error));
  CHECK(event.value.empty());
}
