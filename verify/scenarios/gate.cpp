// SPDX-License-Identifier: MIT
// Events, latches, wait groups and barriers: all who wait go on at once [GATE-1..3] [BAR-1..3].
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "waiter.hpp"
#include "weft/detail/barrier_core.hpp"
#include "weft/detail/gate_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::GateRules;

template <class Rules>
struct Stage {
  using Task = Waiter<Rules>;
  using Core = typename Rules::template Core<Task>;
  using Wait = typename Rules::template Wait<Task>;

  Stage(World& world, std::int64_t number)
      : gate(world.make<Core>("gate", number)), gone(world.make<seam::Atomic<int>>("gone", 0)) {
    for (auto& task : tasks) task = &world.make<Task>("task");
  }
  bool wait(std::size_t number) {
    Wait wait(gate);
    return tasks[number]->wait(wait);
  }

  Core& gate;
  seam::Atomic<int>& gone;
  std::array<Task*, 2> tasks{};
};

// Two count down what they have written before; two wait for both.
template <class Rules, bool stops>
void latch(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world, 2);
  auto& first = world.make<Plain<int>>("first", 0);
  auto& second = world.make<Plain<int>>("second", 0);
  world.thread("counts", [stage, &first] {
    first.write(1);
    check(stage->gate.count_down(1), "two were left");
  });
  world.thread("counts too", [stage, &second] {
    second.write(1);
    check(stage->gate.count_down(1), "one was left");
  });
  for (std::size_t i = 0; i < (stops ? 1 : 2); ++i)
    world.thread("waiter " + std::to_string(i), [stage, &first, &second, i] {
      if (!stage->wait(i)) {
        check(stops && i == 0, "nobody asked it to stop");
        return;
      }
      check(first.read() == 1 && second.read() == 1, "let through too early");
    });
  if (stops) world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
}

// A pulse lets through whom it finds, once: one that waits again waits for the next.
template <class Rules>
void pulse(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world, 1);
  auto& opened = world.make<seam::Atomic<int>>("opened", 0);
  world.thread("waiter", [stage, &opened] {
    for (int round = 1; round <= 2; ++round) {
      check(stage->wait(0), "nobody asked it to stop");
      check(opened.load(std::memory_order_relaxed) >= round, "one pulse let it through twice");
    }
  });
  world.thread("pulse", [stage, &opened] {
    using State = decltype(stage->tasks[0]->word.look().state());
    for (int round = 1; round <= 2; ++round) {
      while (stage->tasks[0]->word.look().state() != State::parking) seam::pause();
      opened.store(round, std::memory_order_relaxed);
      stage->gate.pulse();
      while (stage->tasks[0]->word.look().ticket().number == static_cast<std::uint64_t>(round) &&
             stage->tasks[0]->word.look().state() == State::parking)
        seam::pause();
    }
  });
}

// Whoever is let through destroys it: nobody touches it after.
template <class Rules, bool waits>
void destroyed(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world, 1);
  world.thread("opener", [stage] { check(stage->gate.count_down(1), "one was left"); });
  world.thread("destroyer", [stage] {
    if (waits) {
      check(stage->wait(0), "nobody asked it to stop");
    } else {
      while (!stage->gate.is_open()) seam::pause();
    }
    std::destroy_at(&stage->gate);
    std::memset(static_cast<void*>(&stage->gate), 0xff, sizeof stage->gate);
  });
  world.finally([stage] {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&stage->gate);
    for (std::size_t i = 0; i < sizeof stage->gate; ++i)
      check(bytes[i] == 0xff, "somebody wrote to what was destroyed");
  });
}

using RealBarrier = detail::BarrierRules;

template <class Rules>
struct BarrierStage {
  using Task = Waiter<Rules>;
  using Core = typename Rules::template Core<Task>;
  using Wait = typename Rules::template Wait<Task>;

  BarrierStage(World& world, std::int64_t parties)
      : barrier(world.make<Core>("barrier", parties)), arrivals(world.make<seam::Atomic<int>>("arrivals", 0)) {
    for (auto& task : tasks) task = &world.make<Task>("task");
  }
  // As Barrier::arrive_and_wait; false: asked to stop.
  bool arrive(std::size_t number, int& lasts) {
    const auto arrival = barrier.arrive(0);
    if (arrival.last) {
      ++lasts;
      return true;
    }
    Wait wait(barrier, arrival.phase);
    return tasks[number]->wait(wait);
  }

  Core& barrier;
  seam::Atomic<int>& arrivals;
  std::array<Task*, 2> tasks{};
};

template <class Rules, int phases, bool stops>
void barrier(World& world) {
  auto stage = std::make_shared<BarrierStage<Rules>>(world, 2);
  auto lasts = std::make_shared<std::array<int, 2>>();
  for (std::size_t i = 0; i < 2; ++i)
    world.thread("party " + std::to_string(i), [stage, lasts, i] {
      for (int phase = 1; phase <= phases; ++phase) {
        stage->arrivals.fetch_add(1, std::memory_order_relaxed);
        if (!stage->arrive(i, (*lasts)[i])) {
          check(stops && i == 0, "nobody asked it to stop");
          continue;  // it has arrived all the same
        }
        check(stage->arrivals.load(std::memory_order_relaxed) >= 2 * phase, "a phase ahead");
      }
    });
  if (stops) world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([lasts] { check((*lasts)[0] + (*lasts)[1] == phases, "not one was last in each phase"); });
}

const Register a{{.name = "gate: two count down, two wait [W-110]", .run = latch<Real, false>}};
const Register b{{.name = "gate: a waiter is asked to stop while it opens [B13] [B14]", .run = latch<Real, true>}};
const Register c{{.name = "gate: a pulse ends one wait, not the next one of the same task [B12]", .run = pulse<Real>}};
const Register d{{.name = "gate: a woken waiter destroys it [B5]", .run = destroyed<Real, true>, .preemptions = 3}};
const Register e{
    {.name = "gate: one that did not wait destroys it [B5]", .run = destroyed<Real, false>, .preemptions = 3}};
const Register f{{.name = "barrier: two parties, two phases [B12]", .run = barrier<RealBarrier, 2, false>}};
const Register g{
    {.name = "barrier: a party is asked to stop, its arrival stands [B13]", .run = barrier<RealBarrier, 1, true>}};

const Register m1{{.name = "mutant: gate opens before it locks",
                   .run = destroyed<mutants::gate_opens_unlocked::Kit::GateRules, false>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: gate says open without a look at the lock",
                   .run = destroyed<mutants::gate_trusts_number::Kit::GateRules, false>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: gate pulses in two halves",
                   .run = pulse<mutants::gate_claims_one::Kit::GateRules>,
                   .fails = Verdict::assertion}};
const Register m4{{.name = "mutant: gate counts down relaxed",
                   .run = latch<mutants::gate_counts_relaxed::Kit::GateRules, false>,
                   .fails = Verdict::race}};
const Register m5{{.name = "mutant: gate parks without a look",
                   .run = latch<mutants::gate_parks_unlooked::Kit::GateRules, false>,
                   .fails = Verdict::deadlock}};
const Register m6{{.name = "mutant: barrier begins the phase after the claims",
                   .run = barrier<mutants::barrier_phase_late::Kit::BarrierRules, 2, false>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify
