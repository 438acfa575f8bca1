// SPDX-License-Identifier: MIT
// Interrupts of a runtime against roots that listen, take them and go away [INT-1..3].
#include "explorer/registry.hpp"
#include "fiber/shared_interrupts.hpp"
#include "mutants.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Root {
  seam::Atomic<std::uint32_t> alert{0};
  Root* listens_next = nullptr;
  Root** listens_prev = nullptr;
};

using Real = detail::InterruptRules;

template <class Rules>
using Interrupts = typename Rules::template Shared<Root, 1>;

// A point of a fiber that catches them, as take_interrupt_here has it.
template <class Shared>
int points(Shared& shared, Root& root, int times) {
  int taken = 0;
  for (int i = 0; i < times; ++i)
    if ((root.alert.load(std::memory_order_relaxed) & 1) && shared.pending(root) && shared.take()) ++taken;
  return taken;
}

// Each is taken once: by one of two roots, or by who looks at the end.
template <class Rules, int raised>
void taken_once(World& world) {
  auto& shared = world.make<Interrupts<Rules>>("interrupts");
  auto& one = world.make<Root>("one");
  auto& two = world.make<Root>("two");
  auto& seen = world.make<seam::Atomic<int>>("seen", 0);
  shared.listen(one);
  world.thread("raises", [&] {
    for (int i = 0; i < raised; ++i) shared.raise();
  });
  world.thread("one", [&] { seen.fetch_add(points(shared, one, 2), std::memory_order_relaxed); });
  world.thread("two", [&] {
    shared.listen(two);
    seen.fetch_add(points(shared, two, 1), std::memory_order_relaxed);
  });
  world.finally([&] {
    int all = seen.load(std::memory_order_relaxed);
    check(all == raised || ((one.alert.load() & 1) != 0 && (two.alert.load() & 1) != 0), "pending, and not alerted");
    all += points(shared, one, raised + 1);
    check(all == raised, "lost, or taken twice");
  });
}

// A root that goes away is not written to any more: its memory is somebody else's.
template <class Rules>
void forgotten(World& world) {
  auto& shared = world.make<Interrupts<Rules>>("interrupts");
  auto& root = world.make<Root>("root");
  world.thread("raises", [&] { shared.raise(); });
  world.thread("comes and goes", [&] {
    shared.listen(root);
    shared.forget(root);
    root.alert.store(0, std::memory_order_relaxed);
  });
  world.finally([&] { check(root.alert.load(std::memory_order_relaxed) == 0, "written to after it went away"); });
}

const Register a{{.name = "interrupt: of a runtime, two roots take two [J-103]", .run = taken_once<Real, 2>}};
const Register b{{.name = "interrupt: of a runtime, one for two roots", .run = taken_once<Real, 1>, .delays = 1}};
const Register c{{.name = "interrupt: of a runtime, a root that goes away", .run = forgotten<Real>}};

const Register m1{{.name = "mutant: interrupts alert before they count",
                   .run = taken_once<mutants::interrupt_alerts_first::Kit::InterruptRules, 1>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: interrupt lowers the alert without a second look",
                   .run = taken_once<mutants::interrupt_lowers_blindly::Kit::InterruptRules, 2>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: interrupt is missed by who listens later",
                   .run = taken_once<mutants::interrupt_listens_blindly::Kit::InterruptRules, 1>,
                   .fails = Verdict::assertion}};
const Register m4{{.name = "mutant: interrupt is taken without an exchange",
                   .run = taken_once<mutants::interrupt_taken_twice::Kit::InterruptRules, 2>,
                   .fails = Verdict::assertion}};
const Register m5{{.name = "mutant: interrupt's root goes away unlocked",
                   .run = forgotten<mutants::interrupt_forgets_unlocked::Kit::InterruptRules>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify
