// SPDX-License-Identifier: MIT
#include "weft/mask.hpp"

#include <string>
#include <type_traits>

#include "doctest/doctest.h"
#include "signal/constant.hpp"

using namespace weft;

namespace {

constexpr SignalSet letter_pass = sig::terminal | sig::io | sig::wait | sig::await;
constexpr SignalSet letter_ends = sig::error | sig::user0_4;

static_assert(std::is_trivially_copyable_v<Mask>);

template <Mask M>
constexpr bool catches_yield = M.catches(sig::yield);
static_assert(catches_yield<"y"> && !catches_yield<"e">);

// The signals of Janet's user: error, debug, yield, user0 to user9.
constexpr SignalSet janet = sig::error | sig::debug | sig::yield | sig::user0_9;

// Which single signals of Janet's the mask catches.
SignalSet caught_by(const Mask& mask) {
  SignalSet caught;
  for (unsigned n = 0; n < 64; ++n) {
    SignalSet bit = SignalSet::bit(n);
    if (janet.contains(bit) && mask.catches(bit)) caught |= bit;
  }
  return caught;
}

}  // namespace

TEST_CASE(
    "mask: each letter catches its signals and nothing else "
    "[J-045] [J-046] [J-047] [J-048] [J-049] [J-050] [J-051] [J-052] [J-053]") {
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
      {"u", sig::user0_9},
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
      {"i", sig::ok},
      {"p", sig::ok},
      {"", sig::ok},
  };
  for (const Row& row : rows) {
    CAPTURE(row.letters);
    CHECK(caught_by(Mask(row.letters)) == row.caught);
    CHECK(!Mask(row.letters).catches(sig::ok));
    CHECK(Mask(row.letters).ends == letter_ends);
  }
}

TEST_CASE("mask: without letters it catches yield and nothing else [J-048]") {
  static_assert(Mask() == Mask("y"));
  static_assert(Mask{} == Mask("y"));
  CHECK(Mask().mask == sig::yield);
  CHECK(Mask().pass == letter_pass);
  CHECK(Mask().ends == letter_ends);
  CHECK(Mask().env == Env::none);
}

TEST_CASE("mask: letter a is all but terminal and internal bits [HC2]") {
  constexpr Mask all("a");
  static_assert(all.mask == sig::all.without(sig::internal));
  for (unsigned n = 0; n < 64; ++n) {
    CHECK(all.catches(SignalSet::bit(n)) == !sig::internal.contains(SignalSet::bit(n)));
  }
  CHECK(all.mask.contains(sig::io | sig::wait | SignalSet::bit(32) | SignalSet::bit(63)));
  CHECK(all.pass == sig::terminal);
  CHECK(!all.catches(sig::abort));
}

TEST_CASE("mask: exec, fuel and wait can be named, internal bits are in no letter [HC1]") {
  CHECK(Mask(sig::exec | sig::fuel | sig::wait).catches(sig::fuel));
  CHECK(Mask("w").catches(sig::wait));
  CHECK(!Mask("aedyturw0123456789ip").mask.overlaps(sig::internal));
}

TEST_CASE("mask: letters let io, wait and await pass unless they name them") {
  constexpr SignalSet io_request = sig::yield | sig::io;
  constexpr SignalSet wait_request = sig::wait | sig::await;
  struct Row {
    const char* letters;
    SignalSet pass;
    bool io;
    bool wait;
    bool await;
  };
  const Row rows[] = {
      {"y", letter_pass, false, false, false},
      {"ye", letter_pass, false, false, false},
      {"yu", letter_pass.without(sig::await), false, false, true},
      {"y9", letter_pass.without(sig::await), false, false, true},
      {"y8", letter_pass, false, false, false},
      {"yw", sig::terminal, true, true, true},
      {"ya", sig::terminal, true, true, true},
      {"w", sig::terminal, false, true, true},
      {"9w", sig::terminal, false, true, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.letters);
    Mask mask(row.letters);
    CHECK(mask.pass == row.pass);
    CHECK(mask.catches(io_request) == row.io);
    CHECK(mask.catches(wait_request) == row.wait);
    CHECK(mask.catches(sig::await) == row.await);
  }
}

TEST_CASE("mask: letters combine as a union, in any order, and the last of i and p wins [J-056]") {
  CHECK(Mask("ie") == Mask("e").with_env(Env::share));
  CHECK(Mask("ti") == Mask("t").with_env(Env::share));
  CHECK(Mask("yi").mask == sig::yield);
  CHECK(Mask("e123").mask == (sig::error | sig::user1 | sig::user2 | sig::user3));
  CHECK(Mask("321e") == Mask("e123"));
  CHECK(Mask("yyy") == Mask("y"));
  CHECK(Mask("ip").env == Env::layer);
  CHECK(Mask("pi").env == Env::share);
  CHECK(Mask("ipip").env == Env::layer);
  CHECK(Mask("ye").env == Env::none);
}

TEST_CASE("mask: an unknown letter is an error that names it, its position and the valid ones [J-056]") {
  CHECK_THROWS_WITH_AS(Mask("yez"),
                       "mask \"yez\": unknown letter 'z' at position 2; the letters are a e d y t u r w 0-9 i p",
                       MaskError);
  CHECK_THROWS_WITH_AS(
      Mask("Y"), "mask \"Y\": unknown letter 'Y' at position 0; the letters are a e d y t u r w 0-9 i p", MaskError);
  CHECK_THROWS_WITH_AS(Mask("e y"),
                       "mask \"e y\": unknown letter ' ' at position 1; the letters are a e d y t u r w 0-9 i p",
                       MaskError);
  CHECK_THROWS_WITH_AS(
      Mask(std::string_view("e\0\xff", 3)),
      "mask \"e\\x00\\xff\": unknown letter '\\x00' at position 1; the letters are a e d y t u r w 0-9 i p", MaskError);
  CHECK_THROWS_WITH_AS(Mask(static_cast<const char*>(nullptr)),
                       "mask: null instead of letters; the letters are a e d y t u r w 0-9 i p", MaskError);
}

TEST_CASE("mask: in a constant expression a bad letter does not compile [J-056]") {
  static_assert(constant<[] { return Mask("aedyturw0123456789ip"); }>);
  static_assert(!constant<[] { return Mask("yez"); }>);
  static_assert(!constant<[] { return Mask(std::string_view("Y")); }>);
  static_assert(!constant<[] { return Mask(static_cast<const char*>(nullptr)); }>);
}

TEST_CASE("mask: a SignalSet mask passes terminal only, and nothing emitted ends its fiber") {
  constexpr Mask mask = sig::yield | sig::error;
  static_assert(mask.pass == sig::terminal && mask.ends.empty() && mask.env == Env::none);
  CHECK(mask.catches(sig::yield | sig::io));
  CHECK(Mask{sig::yield, sig::error} == mask);
  CHECK(Mask(SignalSet{}).catches(sig::all) == false);
}

TEST_CASE("mask: |yield io| catches either bit and both [E-034]") {
  constexpr Mask mask{sig::yield, sig::io};
  CHECK(mask.catches(sig::yield));
  CHECK(mask.catches(sig::io));
  CHECK(mask.catches(sig::yield | sig::io));
  CHECK(mask.catches(sig::io | sig::error));
  CHECK(!mask.catches(sig::error));
}

TEST_CASE("mask: a registered bit composed with a built-in one is caught by either [E-035]") {
  constexpr SignalSet mine = SignalSet::bit(40);
  CHECK(Mask(mine).catches(sig::yield | mine));
  CHECK(Mask(sig::yield).catches(sig::yield | mine));
  CHECK(Mask("y").catches(sig::yield | mine));
  CHECK(!Mask(mine).catches(sig::yield));
}

TEST_CASE("mask: passing, ending and with_env add to a copy") {
  constexpr Mask plain = "y";
  constexpr Mask more = plain.passing(sig::debug).ending(sig::yield).with_env(Env::layer);
  CHECK(more.pass == (plain.pass | sig::debug));
  CHECK(more.ends == (plain.ends | sig::yield));
  CHECK(more.env == Env::layer);
  CHECK(plain == Mask());
  CHECK(!Mask("d").passing(sig::debug).catches(sig::debug));
}

TEST_CASE("mask: text, literals and strings convert where a mask is expected") {
  auto given = [](Mask mask) { return mask.mask; };
  std::string text = "e";
  CHECK(given("e") == sig::error);
  CHECK(given(text) == sig::error);
  CHECK(given(std::string_view(text)) == sig::error);
  CHECK(given(sig::error) == sig::error);
  CHECK(given({sig::error, sig::yield}) == (sig::error | sig::yield));
  CHECK(given({}) == sig::yield);
}

TEST_CASE("mask: shown in words") {
  CHECK(to_string(Mask("yi")) ==
        "catches |yield|, passes |io terminal wait await|, ended by |error user0 user1 user2 user3 user4|, shares "
        "bindings");
  CHECK(to_string(Mask(sig::error).with_env(Env::layer)) ==
        "catches |error|, passes |terminal|, ended by nothing, layers bindings");
}
