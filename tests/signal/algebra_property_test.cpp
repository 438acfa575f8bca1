// SPDX-License-Identifier: MIT
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "weft/mask.hpp"
#include "weft/registry.hpp"
#include "weft/signature.hpp"

using namespace weft;

namespace {

constexpr std::string_view valid_letters = "aedyturw0123456789ip";

}  // namespace

namespace rc {

// Few, some or many bits, so that sets meet, miss and contain each other about equally often.
template <>
struct Arbitrary<SignalSet> {
  static Gen<SignalSet> arbitrary() {
    return gen::exec([] {
      auto dense = *gen::arbitrary<std::uint64_t>();
      auto thin = *gen::arbitrary<std::uint64_t>();
      auto thinner = *gen::arbitrary<std::uint64_t>();
      return SignalSet::from_bits(*gen::element(dense, dense & thin, dense & thin & thinner, std::uint64_t{0}));
    });
  }
};

template <>
struct Arbitrary<Signature> {
  static Gen<Signature> arbitrary() {
    return gen::exec([] {
      auto propagates = *gen::arbitrary<std::uint32_t>() & *gen::arbitrary<std::uint32_t>();
      return Signature{*gen::arbitrary<SignalSet>(), propagates};
    });
  }
};

}  // namespace rc

namespace weft::inline v0 {

void showValue(SignalSet set, std::ostream& out) {
  out << to_string(set);
}
void showValue(Signature signature, std::ostream& out) {
  out << to_string(signature);
}

}  // namespace weft::inline v0

TEST_CASE("signal set: union laws, for any three sets [E-047]") {
  CHECK(rc::check([](SignalSet a, SignalSet b, SignalSet c) {
    RC_ASSERT((a | b) == (b | a));
    RC_ASSERT(((a | b) | c) == (a | (b | c)));
    RC_ASSERT((a | sig::ok) == a);
    RC_ASSERT((a | a) == a);
    RC_ASSERT((a & (b | c)) == ((a & b) | (a & c)));
    RC_ASSERT(~(a | b) == (~a & ~b));
    RC_ASSERT((a ^ b) == (a.without(b) | b.without(a)));
    RC_ASSERT((SignalSet{a, b, c}) == (a | b | c));
    RC_ASSERT((a | b).count() + (a & b).count() == a.count() + b.count());
  }));
}

TEST_CASE("signal set: subset laws, for any three sets [E-048]") {
  CHECK(rc::check([](SignalSet a, SignalSet b, SignalSet c) {
    RC_ASSERT(a.subset_of(b) == ((a.bits() & ~b.bits()) == 0));
    RC_ASSERT(a.subset_of(b) == b.contains(a));
    RC_ASSERT(a.subset_of(a | b));
    RC_ASSERT((a & b).subset_of(a));
    RC_ASSERT((a.subset_of(b) && b.subset_of(a)) == (a == b));
    RC_ASSERT(!a.subset_of(b) || a.subset_of(b | c));
    RC_ASSERT(a.overlaps(b) == !(a & b).empty());
    RC_ASSERT(a.overlaps(b) == !a.subset_of(~b));
    RC_ASSERT(!a.without(b).overlaps(b));
    RC_ASSERT((a.without(b) | (a & b)) == a);
    RC_ASSERT((a & b & c).subset_of(a | b));
  }));
}

TEST_CASE("signal set: text reads back as the same set") {
  CHECK(rc::check([](SignalSet a) { RC_ASSERT(signals_named(to_string(a)).value() == a); }));
}

TEST_CASE("mask: catches iff the mask has one of the bits and pass has none") {
  CHECK(rc::check([](SignalSet caught, SignalSet pass, SignalSet bits) {
    Mask mask = Mask(caught).passing(pass);
    bool any = false, passed = false;
    for (unsigned n = 0; n < 64; ++n) {
      SignalSet bit = SignalSet::bit(n);
      if (!bits.contains(bit)) continue;
      any |= caught.contains(bit);
      passed |= pass.contains(bit) || n == 10;
    }
    RC_ASSERT(mask.catches(bits) == (any && !passed));
  }));
}

TEST_CASE("mask: no mask made of letters or sets catches terminal") {
  CHECK(rc::check([](SignalSet caught, SignalSet bits) {
    auto letters = *rc::gen::container<std::string>(rc::gen::elementOf(std::string(valid_letters)));
    RC_ASSERT(!Mask(caught).catches(bits | sig::terminal));
    RC_ASSERT(!Mask(letters).catches(bits | sig::terminal));
  }));
}

TEST_CASE("mask: a letter string means the union of its letters, in any order [J-056]") {
  CHECK(rc::check([] {
    auto letters = *rc::gen::container<std::string>(rc::gen::elementOf(std::string(valid_letters)));
    SignalSet expected;
    Env env = Env::none;
    bool waits = false;
    for (char letter : letters) {
      expected |= Mask(std::string_view(&letter, 1)).mask;
      if (letter == 'i') env = Env::share;
      if (letter == 'p') env = Env::layer;
      waits |= letter == 'w' || letter == 'a';
    }
    Mask mask(letters);
    RC_ASSERT(mask.mask == expected);
    RC_ASSERT(mask.env == env);
    RC_ASSERT(mask.pass.contains(sig::io) == !waits);
    RC_ASSERT(mask.pass.contains(sig::wait) == !waits);
    RC_ASSERT(mask.pass.contains(sig::await) == !expected.contains(sig::await));
    std::string sorted = letters;
    std::ranges::sort(sorted);
    RC_ASSERT(Mask(sorted).with_env(env) == mask);
  }));
}

TEST_CASE("mask: any text is read, or refused at the first letter that is not valid [J-056]") {
  CHECK(rc::check([] {
    auto text = *rc::gen::weightedOneOf<std::string>(
        {{1, rc::gen::arbitrary<std::string>()},
         {2, rc::gen::container<std::string>(rc::gen::elementOf(std::string("aedyturw0123456789ipzZ| ")))}});
    std::size_t bad = text.find_first_not_of(valid_letters);
    try {
      Mask mask{std::string_view(text)};
      RC_ASSERT(bad == std::string::npos);
    } catch (const MaskError& error) {
      RC_ASSERT(bad != std::string::npos);
      RC_ASSERT(std::string(error.what()).find("at position " + std::to_string(bad) + ";") != std::string::npos);
    }
  }));
}

TEST_CASE("signature: combine is a union with silent as its unit [E-047] [E-049]") {
  CHECK(rc::check([](Signature a, Signature b, Signature c) {
    RC_ASSERT((a | b) == (b | a));
    RC_ASSERT(((a | b) | c) == (a | (b | c)));
    RC_ASSERT((a | Signature::silent()) == a);
    RC_ASSERT((a | a) == a);
    RC_ASSERT(a.within(a | b));
    RC_ASSERT((a | b).within(a | b | c));
    RC_ASSERT((a | b).is_silent() == (a.is_silent() && b.is_silent()));
    RC_ASSERT((a | b).may_io() == (a.may_io() || b.may_io()));
  }));
}

TEST_CASE("signature: resolve is monotone, and distributes over combine") {
  CHECK(rc::check([](Signature f, Signature g, const std::vector<Signature>& arguments, Signature extra) {
    Signature call = f.resolve(arguments);
    RC_ASSERT((f | g).resolve(arguments) == (call | g.resolve(arguments)));
    RC_ASSERT(Signature{f.bits}.within(call));
    std::vector<Signature> more = arguments;
    for (Signature& argument : more) argument |= extra;
    RC_ASSERT(call.within(f.resolve(more)));
    SignalSet expected = f.bits;
    for (std::size_t i = 0; i < arguments.size() && i < 32; ++i) {
      if (f.propagates & (1u << i)) expected |= arguments[i].bits;
    }
    RC_ASSERT(call.bits == expected);
    std::vector<Signature> silent(32);
    RC_ASSERT(f.resolve(silent) == Signature{f.bits});
    std::vector<Signature> own(32);
    for (unsigned i = 0; i < 32; ++i) own[i] = Signature::parameter(i);
    RC_ASSERT(f.resolve(own) == f);
  }));
}

TEST_CASE("signature: squelch laws [E-067] [E-068] [E-069]") {
  CHECK(rc::check([](Signature a, Signature b, SignalSet s, SignalSet t) {
    Signature quiet = a.squelched(s);
    RC_ASSERT(!quiet.has(s.without(sig::error | sig::internal)));
    RC_ASSERT(quiet.squelched(s) == quiet);
    RC_ASSERT((a | b).squelched(s) == (quiet | b.squelched(s)));
    RC_ASSERT(quiet.squelched(t) == a.squelched(s | t));
    RC_ASSERT(a.squelched(s | sig::error) == quiet);
    RC_ASSERT(quiet.within(a | Signature::errors()));
    RC_ASSERT(!a.may_error() || quiet.may_error());
    RC_ASSERT(a.squelched(sig::ok) == a);
  }));
}

TEST_CASE("signature: what leaves a squelching boundary is within the squelched signature, and nothing tighter holds") {
  CHECK(rc::check([](SignalSet may, SignalSet squelched) {
    may = may.without(sig::internal);
    Signature bound = Signature{may, 0}.squelched(squelched);
    SignalSet seen;
    for (int round = 0; round < 20; ++round) {
      SignalSet event = *rc::gen::arbitrary<SignalSet>() & may;
      SignalSet left = squelch_bits(event, squelched);
      RC_ASSERT(left.subset_of(bound.bits));
      RC_ASSERT(left.empty() == event.empty());
      RC_ASSERT(!event.contains(sig::error) || left.contains(sig::error));
    }
    for (unsigned n = 0; n < 64; ++n) seen |= squelch_bits(SignalSet::bit(n) & may, squelched);
    RC_ASSERT(seen == bound.bits);
  }));
}

TEST_CASE("signature: what a mask does not catch is within the caught signature, and nothing tighter holds") {
  CHECK(rc::check([](SignalSet may, SignalSet caught, SignalSet pass) {
    may = may.without(sig::internal);
    Mask mask = Mask(caught).passing(pass);
    Signature bound = Signature{may, 0}.catching(mask);
    for (int round = 0; round < 20; ++round) {
      SignalSet event = *rc::gen::arbitrary<SignalSet>() & may;
      if (!mask.catches(event)) RC_ASSERT(event.subset_of(bound.bits));
    }
    SignalSet seen;  // all pairs of bits: enough, a passed bit takes any other one along
    for (unsigned a = 0; a < 64; ++a) {
      for (unsigned b = a; b < 64; ++b) {
        SignalSet event = (SignalSet::bit(a) | SignalSet::bit(b)) & may;
        if (!mask.catches(event)) seen |= event;
      }
    }
    RC_ASSERT(seen == bound.bits);
  }));
}

TEST_CASE("signature: muffle subtracts and is silent about the rest") {
  CHECK(rc::check([](Signature a, SignalSet s) {
    RC_ASSERT(!a.muffled(s).has(s));
    RC_ASSERT((a.muffled(s) | Signature{a.bits & s, 0}) == a);
    RC_ASSERT(a.muffled(a.bits).bits.empty());
  }));
}
