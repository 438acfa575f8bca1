// SPDX-License-Identifier: MIT
// Who may run a fiber [CLM-1..3].
#include "weft/detail/claim.hpp"

#include <memory>

#include "explorer/registry.hpp"
#include "mutants.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using Claim = detail::Claim;
  using ClaimKind = detail::ClaimKind;
};

// `inside` is the fiber: two runners at once are a race on it, a missing order too.
template <class Kit>
struct Stage {
  explicit Stage(World& world)
      : claim(world.make<typename Kit::Claim>("claim")), inside(world.make<Plain<int>>("fiber")) {
    claim.favour(1);
  }
  void resume(std::uint32_t thread) {
    if (claim.take_biased(thread)) {
      run();
      claim.give_up_biased();
      return;
    }
    const auto kind = claim.take(thread);
    if (kind == Kit::ClaimKind::refused) return;
    run();
    claim.give_up(kind);
  }
  void run() {
    inside.write(inside.read() + 1);
    ++runs;
  }
  typename Kit::Claim& claim;
  Plain<int>& inside;
  int runs = 0;
};

template <class Kit>
void contest(World& world, int foreigners, int times) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  world.thread("favoured", [stage, times] {
    for (int i = 0; i < times; ++i) stage->resume(1);
  });
  for (int i = 0; i < foreigners; ++i) {
    const auto number = static_cast<std::uint32_t>(i + 2);
    world.thread("foreign " + std::to_string(number), [stage, number] { stage->resume(number); });
  }
  world.finally([stage] {
    check(!stage->claim.held(), "nobody runs it, but it is claimed");
    check(stage->inside.read() == stage->runs, "a run was lost");
    stage->resume(1);
    stage->resume(9);
    check(stage->inside.read() == stage->runs && stage->runs >= 2, "an idle fiber was refused");
  });
}

template <class Kit>
void two(World& world) {
  contest<Kit>(world, 1, 2);
}
template <class Kit>
void three(World& world) {
  contest<Kit>(world, 2, 1);
}

const Register plain{{.name = "claim: the favoured thread against another", .run = two<Real>, .preemptions = 3}};
const Register buffered{
    {.name = "claim: the favoured thread against another, asymmetric fences and store buffers [B46]",
     .run = two<Real>,
     .delays = 2,
     .asymmetric = true}};
const Register crowd{{.name = "claim: the favoured thread against two others, asymmetric fences and store buffers",
                      .run = three<Real>,
                      .delays = 1,
                      .asymmetric = true}};

const Register m1{{.name = "mutant: claim taken without a look at the bias",
                   .run = two<mutants::claim_without_second_look::Kit>,
                   .fails = Verdict::race}};
const Register m2{{.name = "mutant: claim revoked without a fence",
                   .run = two<mutants::claim_revoked_without_fence::Kit>,
                   .fails = Verdict::race,
                   .delays = 2,
                   .asymmetric = true}};
const Register m3{{.name = "mutant: claim by exchange without a look at busy",
                   .run = two<mutants::claim_ignores_busy::Kit>,
                   .fails = Verdict::race}};
const Register m4{{.name = "mutant: claim of a second revoker without a fence of its own [CLM-2]",
                   .run = three<mutants::claim_second_revoker_trusts::Kit>,
                   .fails = Verdict::race,
                   .delays = 1,
                   .asymmetric = true}};
const Register m5{{.name = "mutant: claim given up relaxed [CLM-3]",
                   .run = two<mutants::claim_given_up_relaxed::Kit>,
                   .fails = Verdict::race}};

}  // namespace
}  // namespace weft::inline v0::verify
