// SPDX-License-Identifier: MIT
// One who sends to all, and those who may be too slow [CAST-1..3].
#include <array>
#include <memory>
#include <optional>

#include "mutants.hpp"
#include "scenarios/wait_task.hpp"
#include "weft/detail/broadcast_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::BroadcastRules;

template <class Rules>
struct Stage {
  using Task = WaitTask<Rules>;
  using Core = typename Rules::template Core<int, Task>;
  using Spot = typename Rules::template Spot<Task>;
  using Claimed = typename Rules::template Claims<Task>;
  using Hear = typename Rules::Hear;
  using Reason = typename Rules::Reason;

  Stage(World& world, std::size_t capacity) : core(world.make<Core>("broadcast", capacity)) {
    for (auto& task : tasks) task = &world.make<Task>("task");
  }
  void send(int value) {
    Claimed woken;
    (void)core.send(value, woken);
    woken.deliver([](Task* task) { task->deliver(); });
  }
  void close() {
    Claimed woken;
    (void)core.close(woken);
    woken.deliver([](Task* task) { task->deliver(); });
  }
  // Until it is closed or asked to stop. Values are 1, 2, ...: each is heard once, or counted as missed.
  void listen(std::size_t me) {
    Task& self = *tasks[me];
    std::uint64_t at = 0;
    for (;;) {
      std::optional<int> value;
      std::uint64_t missed = 0;
      Spot spot;
      const Hear heard = core.hear_or_park(at, missed, value, self, spot);
      passed[me] += missed;
      if (heard == Hear::value) {
        ++passed[me];
        check(*value == static_cast<int>(passed[me]), "another number than the next");
      } else if (heard == Hear::closed) {
        return;
      } else {
        const Reason reason = self.park();
        if (!spot.claimed()) core.leave(spot);
        if (reason == Reason::cancel) return;
      }
    }
  }

  Core& core;
  std::array<Task*, 2> tasks{};
  std::array<std::uint64_t, 2> passed{};
};

template <class Rules, std::size_t capacity, int listeners>
void heard(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world, capacity);
  for (std::size_t i = 0; i < listeners; ++i)
    world.thread("listener " + std::to_string(i), [stage, i] { stage->listen(i); });
  world.thread("sender", [stage] {
    stage->send(1);
    stage->send(2);
    stage->close();
  });
  world.finally([stage] {
    for (std::size_t i = 0; i < listeners; ++i) check(stage->passed[i] == 2, "heard and missed do not add up");
    check(stage->core.waiting() == 0, "a node is left in the list");
  });
}

template <class Rules>
void stopped(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world, 1);
  world.thread("listener 0", [stage] { stage->listen(0); });
  world.thread("listener 1", [stage] { stage->listen(1); });
  world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.thread("sender", [stage] {
    stage->send(1);
    stage->close();
  });
  world.finally([stage] {
    check(stage->passed[1] == 1, "not heard");
    check(stage->core.waiting() == 0, "a node is left in the list");
  });
}

const Register a{
    {.name = "broadcast: two values, one kept, one listener [N-032]", .run = heard<Real, 1, 1>, .preemptions = 3}};
const Register b{{.name = "broadcast: two values, two kept, two listeners [N-032] [B12]", .run = heard<Real, 2, 2>}};
const Register c{{.name = "broadcast: one listener is asked to stop [B13] [B14]", .run = stopped<Real>}};

const Register m1{{.name = "mutant: broadcast wakes one",
                   .run = heard<mutants::cast_wakes_one::Kit::BroadcastRules, 2, 2>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: broadcast forgets what was missed",
                   .run = heard<mutants::cast_forgets_missed::Kit::BroadcastRules, 1, 1>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: broadcast lets a listener park after close",
                   .run = heard<mutants::cast_parks_closed::Kit::BroadcastRules, 1, 1>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: broadcast looks and links in two steps",
                   .run = heard<mutants::cast_links_apart::Kit::BroadcastRules, 1, 1>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify
