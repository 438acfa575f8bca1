// SPDX-License-Identifier: MIT
#include "weft/signature.hpp"

#include <type_traits>
#include <vector>

#include "doctest/doctest.h"
#include "signal/constant.hpp"
#include "weft/registry.hpp"

using namespace weft;

namespace {

template <Signature S>
constexpr bool promised_silent = S.is_silent();
static_assert(promised_silent<Signature{}>);

}  // namespace

TEST_CASE("signature: a plain copyable pair of a signal set and a parameter mask [E-046] [E-060]") {
  static_assert(std::is_trivially_copyable_v<Signature>);
  static_assert(std::is_aggregate_v<Signature>);
  static_assert(std::is_same_v<decltype(Signature::bits), SignalSet>);
  static_assert(std::is_same_v<decltype(Signature::propagates), std::uint32_t>);
  static_assert(sizeof(Signature) == 16);
  Signature copy = Signature::yields();
  CHECK(copy == Signature::yields());
}

TEST_CASE("signature: combining is the union of both parts [E-047]") {
  constexpr Signature both = Signature::errors() | Signature::yields() | Signature::parameter(3);
  static_assert(both.bits == (sig::error | sig::yield));
  static_assert(both.propagates == 8);
  CHECK(Signature::combine(both, Signature::silent()) == both);
}

TEST_CASE("signature: a check is a subset test [E-048]") {
  CHECK(Signature::errors().within(sig::error | sig::yield));
  CHECK(!Signature::io().within(sig::error));
  CHECK(Signature::silent().within(SignalSet{}));
  CHECK(!Signature::parameter(0).within(sig::all));
  CHECK(Signature::parameter(0).within(Signature{sig::ok, 1}));
  CHECK(!Signature::parameter(1).within(Signature{sig::ok, 1}));
}

TEST_CASE("signature: silent means no bits and nothing propagated [E-049]") {
  static_assert(Signature::silent().is_silent());
  static_assert(!Signature::errors().is_silent());
  static_assert(!Signature::parameter(0).is_silent());
  CHECK(!Signature{SignalSet::bit(63), 0}.is_silent());
}

TEST_CASE("signature: has is membership, of each built-in and of the last bit [E-050]") {
  for (unsigned n = 0; n < 64; ++n) {
    Signature one{SignalSet::bit(n), 0};
    for (unsigned m = 0; m < 64; ++m) CHECK(one.has(SignalSet::bit(m)) == (n == m));
  }
  CHECK(Signature::anything().has(SignalSet::bit(63)));
  CHECK(!Signature::anything().has(sig::terminal));
  CHECK(!Signature::silent().has(sig::all));
}

TEST_CASE("signature: a function that calls foreign code may ffi [E-008]") {
  static_assert(Signature::ffi().may_ffi());
  static_assert(Signature::ffi().bits.bits() == 16);
  CHECK((Signature::ffi() | Signature::errors()).may_ffi());
  CHECK(!Signature::io_errors().may_ffi());
}

TEST_CASE("signature: io() is a request, io_errors() is the same and error [E-077]") {
  static_assert(Signature::io().bits == (sig::yield | sig::io));
  static_assert(Signature::io_errors() == (Signature::io() | Signature::errors()));
  CHECK(Signature::io_errors().may_error());
  CHECK(!Signature::io().may_error());
}

TEST_CASE("signature: may_io holds for io and its unions, not for yields [E-013] [E-078]") {
  CHECK(Signature::io().may_io());
  CHECK(Signature::io_errors().may_io());
  CHECK((Signature::io() | Signature::yields()).may_io());
  CHECK(!Signature::yields().may_io());
  CHECK(!Signature::yields_errors().may_io());
  CHECK(Signature::yields_errors().may_yield());
}

TEST_CASE("signature: a call adds the signals of the arguments that are propagated, and of no others") {
  constexpr Signature map = Signature::errors() | Signature::parameter(0) | Signature::parameter(2);
  const Signature arguments[] = {Signature::yields(), Signature::io(), Signature::ffi()};
  CHECK(map.resolve(arguments) == Signature{sig::error | sig::yield | sig::ffi, 0});
  const Signature pure[] = {Signature::silent(), Signature::io(), Signature::silent()};
  CHECK(map.resolve(pure) == Signature::errors());
  CHECK(Signature::errors().resolve(arguments) == Signature::errors());
}

TEST_CASE("signature: an argument that is the caller's own parameter makes the caller propagate it") {
  constexpr Signature apply = Signature::parameter(0);
  constexpr Signature arguments[] = {Signature::parameter(5) | Signature::yields()};
  static_assert(apply.resolve(arguments) == Signature{sig::yield, 1u << 5});
  CHECK(apply.resolve(arguments).is_polymorphic());
}

TEST_CASE("signature: a propagated parameter without an argument adds nothing, arguments beyond the 32nd neither") {
  constexpr Signature optional = Signature::yields() | Signature::parameter(0) | Signature::parameter(31);
  const Signature one[] = {Signature::errors()};
  CHECK(optional.resolve(one) == Signature::yields_errors());
  CHECK(optional.resolve({}) == Signature::yields());
  std::vector<Signature> many(40, Signature::silent());
  many[31] = Signature::ffi();
  many[32] = Signature::io();
  many[39] = Signature::errors();
  CHECK(optional.resolve(many) == (Signature::yields() | Signature::ffi()));
}

TEST_CASE("signature: a parameter that cannot be told apart is refused") {
  static_assert(Signature::parameter(31).propagates == 0x8000'0000);
  static_assert(!constant<[] { return Signature::parameter(32); }>);
  CHECK_THROWS_WITH(Signature::parameter(32),
                    "Signature::parameter(32): a signature tells the parameters 0 to 31 apart");
}

TEST_CASE("signature: squelching gives a new signature and leaves the original alone [E-067]") {
  const Signature original = Signature::io();
  Signature quiet = original.squelched(sig::yield);
  CHECK(quiet != original);
  CHECK(original == Signature::io());
  CHECK(quiet == Signature{sig::io | sig::error, 0});
}

TEST_CASE("signature: a squelched signal turns into an error, others pass [E-068]") {
  struct Row {
    SignalSet bits, squelched, result;
  };
  const Row rows[] = {
      {sig::yield, sig::yield, sig::error},
      {sig::io, sig::yield, sig::io},
      {sig::yield | sig::io, sig::yield, sig::io | sig::error},
      {sig::yield | sig::io, sig::yield | sig::io, sig::error},
      {sig::ok, sig::yield, sig::ok},
      {sig::yield, sig::ok, sig::yield},
  };
  for (const Row& row : rows) CHECK(Signature{row.bits, 0}.squelched(row.squelched) == Signature{row.result, 0});
  CHECK(squelch_bits(sig::yield, sig::yield) == sig::error);
  CHECK(squelch_bits(sig::yield | sig::io, sig::yield) == sig::error);
  CHECK(squelch_bits(sig::io, sig::yield) == sig::io);
  CHECK(squelch_bits(sig::ok, sig::all) == sig::ok);
}

TEST_CASE("signature: squelch never affects error [E-069]") {
  CHECK(Signature::errors().squelched(sig::error) == Signature::errors());
  CHECK(Signature::errors().squelched(sig::all) == Signature::errors());
  CHECK(Signature::yields().squelched(sig::error) == Signature::yields());
  CHECK(Signature::yields_errors().squelched(sig::error) == Signature::yields_errors());
  CHECK(squelch_bits(sig::error, sig::all) == sig::error);
  CHECK(squelch_bits(sig::error | sig::io, sig::error) == (sig::error | sig::io));
  CHECK(squelch_bits(sig::error | sig::io, sig::io) == sig::error);
  CHECK(squelch_bits(sig::abort, sig::all) == sig::abort);
}

TEST_CASE("signature: squelching what is not known yet must expect the violation") {
  constexpr Signature apply = Signature::parameter(0);
  CHECK(apply.squelched(sig::yield) == Signature{sig::error, 1});
  CHECK(apply.squelched(sig::error) == apply);
}

TEST_CASE("signature: squelching an unknown signal is an error that names it [E-075]") {
  Result<Signature> result = Signature::yields().squelched("nope");
  REQUIRE(!result);
  CHECK(result.error().code == Errc::unknown_name);
  CHECK(result.error().what == "no signal is named \"nope\"; register_signal() makes one");
  CHECK(!Signature::yields().squelched("|yield nope|"));
  CHECK(Signature::io().squelched("|yield io|").value() == Signature::errors());
  CHECK(Signature::io().squelched("yield").value() == Signature::io().squelched(sig::yield));
}

TEST_CASE("signature: muffling subtracts, error too") {
  CHECK(Signature::errors().muffled(sig::error) == Signature::silent());
  CHECK(Signature::io_errors().muffled(sig::error) == Signature::io());
  CHECK((Signature::yields() | Signature::parameter(1)).muffled(sig::yield) == Signature::parameter(1));
}

TEST_CASE("signature: a handler removes what it catches, unless it comes along with what the mask passes") {
  CHECK(Signature::errors().catching(sig::error) == Signature::silent());
  CHECK(Signature::yields_errors().catching(sig::error) == Signature::yields());
  CHECK(Signature::io().catching(sig::yield) == Signature{sig::io, 0});
  CHECK(Signature::yields_errors().catching(Mask("ye")).is_silent());
  CHECK(Signature::io().catching(Mask("y")) == Signature::io());
  CHECK(Signature::io().catching(Mask("a")).is_silent());
}

TEST_CASE("signature: shown in words") {
  CHECK(to_string(Signature::silent()) == "silent");
  CHECK(to_string(Signature::io()) == "|yield io|");
  CHECK(to_string(Signature::errors() | Signature::parameter(0) | Signature::parameter(2)) ==
        "|error| + parameters 0 2");
  CHECK(to_string(Signature::parameter(31)) == "parameters 31");
}
