// SPDX-License-Identifier: MIT
// Signals of several bits, and chains of random masks against a model of who catches.
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/watch.hpp"
#include "weft/fiber.hpp"
#include "weft/registry.hpp"
#include "weft/sugar.hpp"

using namespace weft;
using namespace weft_test;

namespace {

SignalSet named(const char* name) {
  if (const auto found = signal_named(name)) return *found;
  return weft::signal(name);
}

}  // namespace

TEST_CASE(
    "compose: a handler receives exactly the bits that were emitted, and the payload "
    "[E-028] [E-029] [E-030] [E-031] [E-032] [E-033]") {
  const SignalSet audit = named("compose-audit");
  const SignalSet compositions[] = {
      sig::yield,
      sig::yield | sig::io,
      sig::io | sig::error,
      sig::io | sig::error | sig::halt,
      sig::yield | audit,
      sig::debug | sig::user3 | SignalSet::bit(63),
      sig::ffi | sig::interrupt | sig::await | sig::user0,
  };
  for (const SignalSet bits : compositions) {
    CAPTURE(to_string(bits));
    // Under a set, each bit alone is enough to catch, and all bits arrive; the emitter goes on.
    for (unsigned n = 0; n < 64; ++n) {
      if (!bits.contains(SignalSet::bit(n))) continue;
      Fiber f([bits] { return emit(bits, 7).as<int>(); }, SignalSet::bit(n));
      const Event& event = f.resume();
      CHECK(event.bits == bits);
      CHECK(event.value.as<int>() == 7);
      CHECK(f.resume(8).value.as<int>() == 8);
    }
    // Under letters that name everything, too; error and user0-4 end the fiber, no other bit does.
    const Seen seen = watch("a", bits);
    CHECK(seen.caught);
    CHECK(seen.bits == bits);
    CHECK(seen.value == 7);
    CHECK(seen.ended == bits.overlaps(sig::error | sig::user0_4));
  }
}

TEST_CASE("compose: a mask |yield io| catches either and both [E-034]") {
  const SignalSet mask{sig::yield, sig::io};
  CHECK(watch(mask, sig::yield).caught);
  CHECK(watch(mask, sig::io).caught);
  CHECK(watch(mask, sig::yield | sig::io).caught);
  CHECK(!watch(mask, sig::debug).caught);
}

TEST_CASE("compose: a registered bit goes with any built-in one, and is caught by its own name [E-035]") {
  const SignalSet mine = named("compose-mine");
  for (const SignalSet with : {sig::yield, sig::error, sig::debug, sig::io, sig::user2, sig::halt}) {
    const Seen seen = watch(mine, mine | with);
    CHECK(seen.caught);
    CHECK(seen.bits == (mine | with));
  }
  CHECK(!watch(mine, sig::yield).caught);
}

namespace {

struct Level {
  SignalSet mask, pass, ends;
};

// What the rule says of a signal from the innermost of these levels (outermost first).
struct Verdict {
  int caught = -1;      // index of the fiber whose mask caught it; its resumer sees the event
  bool ends = false;    // fibers from there inwards are over
  bool thrown = false;  // nobody caught it, and it ends everything
};

Verdict model(const std::vector<Level>& levels, SignalSet bits) {
  Verdict verdict;
  for (int i = static_cast<int>(levels.size()) - 1; i >= 0; --i) {
    const Level& level = levels[static_cast<std::size_t>(i)];
    verdict.ends |= (level.ends & bits) != SignalSet{};
    if ((level.mask & bits) != SignalSet{} && (level.pass & bits) == SignalSet{}) {
      verdict.caught = i;
      return verdict;
    }
  }
  verdict.ends = false;
  verdict.thrown = bits.overlaps(sig::error | sig::user0_4);
  return verdict;
}

// The same with real fibers.
struct Run {
  std::vector<Level> levels;
  SignalSet bits;
  std::vector<Fiber> fibers;
  int caught = -1;
  SignalSet caught_bits;
  bool ended = false;
  bool thrown = false;
  bool uncaught = false;
  int resumed_with = 0;

  void enter(std::size_t i) {
    if (i == levels.size()) {
      try {
        if (Payload got = emit(bits, 7); !got.empty()) resumed_with = got.as<int>();
      } catch (const UncaughtSignal&) {
        uncaught = true;
      }
      return;
    }
    Mask mask(levels[i].mask);
    mask.pass = levels[i].pass;
    mask.ends = levels[i].ends;
    fibers.push_back(Fiber([this, i] { enter(i + 1); }, mask));
    Fiber f = fibers.back();
    const Event& event = f.resume();
    if (event.ok()) return;
    caught = static_cast<int>(i);
    caught_bits = event.bits;
    ended = f.finished();
    if (event.value.as<int>() != 7) caught = -2;
    // All of the fibers from here inwards share the fate of the emitter.
    for (std::size_t k = i; k < fibers.size(); ++k)
      if (fibers[k].state() != (ended ? f.state() : State::suspended)) caught = -3;
    if (!ended && !f.resume(8).ok()) caught = -4;
  }
};

// Mostly few bits of few kinds, so that they meet.
rc::Gen<SignalSet> some_bits() {
  return rc::gen::map(rc::gen::container<std::vector<unsigned>>(
                          rc::gen::element(0u, 1u, 2u, 9u, 16u, 17u, 21u, 24u, 25u, 32u, 47u, 63u)),
                      [](const std::vector<unsigned>& numbers) {
                        SignalSet set;
                        for (const unsigned n : numbers) set |= SignalSet::bit(n);
                        return set;
                      });
}
SignalSet any_bits() {
  return *rc::gen::oneOf(some_bits(), rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), SignalSet::from_bits));
}
// At full size from the first case on: even small runs want bits.
template <class T>
T from(rc::Gen<T> gen) {
  return *rc::gen::resize(rc::kNominalSize, std::move(gen));
}
SignalSet few_of(unsigned most) {
  SignalSet set;
  const unsigned count = from(rc::gen::inRange(0u, most + 1));
  for (unsigned i = 0; i < count; ++i)
    set |= SignalSet::bit(from(rc::gen::element(0u, 1u, 9u, 16u, 17u, 21u, 32u, 63u)));
  return set;
}

}  // namespace

TEST_CASE(
    "compose: caught iff the child's mask has one of the bits and pass has none, for random masks and bits [E-038]") {
  int caught_count = 0, missed_count = 0;
  const bool held = rc::check([&] {
    const SignalSet mask = any_bits() | few_of(3);
    const SignalSet bits =
        (any_bits() | few_of(3)).without(sig::not_emittable) | *rc::gen::element(sig::debug, sig::user6);
    const Seen seen = watch(Mask(mask), bits);
    RC_ASSERT(seen.caught == ((mask.bits() & bits.bits()) != 0));
    RC_ASSERT(seen.bits == bits);
    ++(seen.caught ? caught_count : missed_count);
  });
  CHECK(held);
  CHECK(caught_count > 0);
  CHECK(missed_count > 0);
}

TEST_CASE("compose: chains of random depth, masks, pass and ends do what a model of the rule says [E-038]") {
  int caught_count = 0, ended_count = 0, thrown_count = 0, uncaught_count = 0;
  const auto try_one = [&] {
    Run run;
    const auto depth = from(rc::gen::inRange<std::size_t>(1, 7));
    for (std::size_t i = 0; i < depth; ++i) run.levels.push_back({few_of(2), few_of(1) | sig::terminal, few_of(1)});
    run.bits = few_of(1) | from(rc::gen::element(sig::yield, sig::user5, sig::io, sig::error, sig::user1));
    const Verdict wanted = model(run.levels, run.bits);
    try {
      run.enter(0);
    } catch (const SignalError& error) {
      run.thrown = true;
      RC_ASSERT(error.event.bits == run.bits);
    }
    RC_ASSERT(run.caught == wanted.caught);
    RC_ASSERT(run.thrown == wanted.thrown);
    RC_ASSERT(run.uncaught == (wanted.caught < 0 && !wanted.thrown));
    if (wanted.caught >= 0) {
      RC_ASSERT(run.caught_bits == run.bits);
      RC_ASSERT(run.ended == wanted.ends);
      RC_ASSERT(run.resumed_with == (wanted.ends ? 0 : 8));
      ++(wanted.ends ? ended_count : caught_count);
    } else {
      ++(wanted.thrown ? thrown_count : uncaught_count);
    }
    for (const Fiber& f : run.fibers) RC_ASSERT(f.finished());
  };
  CHECK(rc::check([&] {
    for (int i = 0; i < 20; ++i) try_one();
  }));
  // Of 2000 chains every kind of end must have been a good part.
  CHECK(std::min({caught_count, ended_count, thrown_count, uncaught_count}) > 50);
}

TEST_CASE("compose: a signal through protect, defer and a generator is the one that was emitted, and comes back") {
  const SignalSet question = named("compose-question");
  Fiber asker(
      [&] {
        Generator<int> answers([&] {
          defer([] {},
                [&] {
                  const auto kept = protect([&] { return emit(question | sig::io, "how many?").as<int>(); });
                  for (int i = 0; i < *kept.value; ++i) yield(i);
                });
        });
        int sum = 0;
        for (const int n : answers) sum += n;
        return sum;
      },
      question);
  const Event& event = asker.resume();
  CHECK(event.bits == (question | sig::io));
  CHECK(event.value.as<std::string>() == "how many?");
  CHECK(asker.resume(5).value.as<int>() == 10);
}
