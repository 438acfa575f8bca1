// SPDX-License-Identifier: MIT
// One does it, the others wait; if it fails the next tries [ONC-1..3].
#include <array>
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "waiter.hpp"
#include "weft/detail/once_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::OnceRules;

template <class Rules>
struct Stage {
  using Task = Waiter<Rules>;
  using Core = typename Rules::template Core<Task>;
  using Wait = typename Rules::template Wait<Task>;

  explicit Stage(World& world)
      : once(world.make<Core>("once")),
        value(world.make<Plain<int>>("value", 0)),
        tries(world.make<seam::Atomic<int>>("tries", 0)) {
    for (auto& task : tasks) task = &world.make<Task>("task");
  }
  // As Once::call; the first `failures` tries fail. True: it is done.
  bool call(std::size_t number, int failures) {
    bool mine = false;
    {
      Wait wait(once, tasks[number]);
      if (!tasks[number]->wait(wait)) return false;
      mine = wait.has_turn();
    }
    if (!mine) return true;
    const bool good = tries.fetch_add(1, std::memory_order_relaxed) >= failures;
    if (good) value.write(value.read() + 1);  // a race unless one has the turn
    once.finish(good);
    return good;
  }

  Core& once;
  Plain<int>& value;
  seam::Atomic<int>& tries;
  std::array<Task*, 3> tasks{};
};

template <class Rules, std::size_t tasks, int failures, bool stops>
void meet(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world);
  for (std::size_t i = 0; i < tasks; ++i)
    world.thread("task " + std::to_string(i), [stage, i] {
      if (stage->call(i, failures)) check(stage->value.read() == 1, "it is not done");
    });
  if (stops) world.thread("canceller", [stage] { stage->tasks[1]->cancel(); });
  world.finally([stage] {
    const int tried = stage->tries.load(std::memory_order_relaxed);
    if (!stops) check(tried == failures + 1, "tried too often, or not often enough");
    check(stage->once.is_over() == (stage->value.read() == 1), "over is not done");
  });
}

const Register a{{.name = "once: three come, one does it [W-110]", .run = meet<Real, 3, 0, false>}};
const Register b{{.name = "once: it fails, the next tries", .run = meet<Real, 3, 1, false>}};
const Register c{
    {.name = "once: it fails, and the next in line is asked to stop [B13]", .run = meet<Real, 3, 1, true>}};

const Register m1{{.name = "mutant: once gives the turn and is idle, too",
                   .run = meet<mutants::once_idle_and_given::Kit::OnceRules, 3, 1, false>,
                   .fails = Verdict::race}};
const Register m2{{.name = "mutant: once fails and tells nobody",
                   .run = meet<mutants::once_fails_silently::Kit::OnceRules, 2, 1, false>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: once says over relaxed",
                   .run = meet<mutants::once_over_relaxed::Kit::OnceRules, 2, 0, false>,
                   .fails = Verdict::race}};

}  // namespace
}  // namespace weft::inline v0::verify
