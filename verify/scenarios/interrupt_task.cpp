// SPDX-License-Identifier: MIT
// Interrupts by handles against a joiner and its child, which begins and runs in its place by the real code: none is
// lost, whoever takes the alert of their common root down [INT-4].
#include <memory>

#include "explorer/registry.hpp"
#include "fiber/own_interrupts.hpp"
#include "mutants.hpp"
#include "scenarios/place_stage.hpp"
#include "weft/task.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using OwnInterrupts = detail::OwnInterrupts;
  static constexpr auto in_place = detail::is_interrupted_in_place;
};
template <class Broken>
struct Lowers : Real {
  using OwnInterrupts = Broken;
};
template <class Broken>
struct Walks : Real {
  static constexpr auto in_place = Broken::is_interrupted;
};

// The child has a handle, which others hold.
template <class Kit>
struct Stage final : PlaceStage<> {
  using Task = PlaceStage<>::Task;
  Stage(World& world, int of_child, int of_joiner)
      : PlaceStage<>(world), held(world, *this, 0), wanted_by_child(of_child), wanted_by_joiner(of_joiner) {
    detail::thread_root()->carrier->interrupted_in_place = Kit::in_place;
    held.task.word.make_fresh();
    held.task.nursery = &nursery;
    held.task.scope = &nursery.scope;
    ++nursery.plain;
    check(root.worker->deque.push(detail::Entry(&held.task, detail::entry_task)), "there is room");
  }
  // Comes to points until it has got as many. A lost one is waited for in vain.
  void take(int wanted) {
    while (wanted > 0) {
      const bool alerted = (root.alert.load(std::memory_order_relaxed) & detail::alert_interrupt) != 0;
      if (alerted && Kit::OwnInterrupts::pending(&root) && Kit::OwnInterrupts::take(&root)) {
        --wanted;
      } else {
        seam::pause();
      }
    }
  }
  void body(Child& child) override {
    check(root.task == &child.task && child.task.root == &root, "not in place");
    take(wanted_by_child);
  }
  void run() {
    join(nursery);
    take(wanted_by_joiner);
    end();
  }
  Child held;
  int wanted_by_child;
  int wanted_by_joiner;
};

void interrupt(detail::TaskCore& task, int times) {
  for (int i = 0; i < times; ++i) detail::interrupt_task(&task);
}

template <class Stage>
void check_over(Stage& stage) {
  check(stage.held.task.interrupts.load() == 0 && stage.joiner.interrupts.load() == 0, "taken too few");
  check(stage.held.task.word.look().state() == detail::TaskState::done, "given back under its handle");
  check(stage.runtime.live.none_alive(), "begun and ended are not the same");
}

// By one who holds both handles.
template <class Kit, int of_child, int of_joiner, bool joiner_first>
void by_one(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world, of_child, of_joiner);
  world.thread("joiner", [stage] { stage->run(); });
  world.thread("interrupter", [stage] {
    if (joiner_first) interrupt(stage->joiner, of_joiner);
    interrupt(stage->held.task, of_child);
    if (!joiner_first) interrupt(stage->joiner, of_joiner);
  });
  world.finally([stage] { check_over(*stage); });
}
template <class Kit>
void by_two(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world, 1, 1);
  world.thread("joiner", [stage] { stage->run(); });
  world.thread("interrupts the child", [stage] { interrupt(stage->held.task, 1); });
  world.thread("interrupts the joiner", [stage] { interrupt(stage->joiner, 1); });
  world.finally([stage] { check_over(*stage); });
}

const Register a{{.name = "interrupt: a child that begins in place, twice [INT-4]",
                  .run = by_one<Real, 2, 0, false>,
                  .preemptions = 3}};
const Register b{{.name = "interrupt: a child that begins in place, store buffers [INT-4]",
                  .run = by_one<Real, 1, 0, false>,
                  .delays = 1,
                  .asymmetric = true}};
const Register e{{.name = "interrupt: a child that begins in place, store buffers and real fences [INT-4]",
                  .run = by_one<Real, 1, 0, false>,
                  .delays = 1}};
const Register c{{.name = "interrupt: a joiner, then its child in place [INT-4]", .run = by_one<Real, 1, 1, true>}};
const Register d{{.name = "interrupt: a joiner and its child in place, by two [INT-4]", .run = by_two<Real>}};

const Register m1{{.name = "mutant: interrupt of the joiner is lowered by its child",
                   .run = by_one<Lowers<mutants::interrupt_lowered_for_joiner::Kit::OwnInterrupts>, 1, 1, true>,
                   .fails = Verdict::livelock}};
const Register m2{{.name = "mutant: interrupt is lowered after the look",
                   .run = by_one<Lowers<mutants::interrupt_lowered_late::Kit::OwnInterrupts>, 2, 0, false>,
                   .fails = Verdict::livelock}};
const Register m3{{.name = "mutant: interrupt is looked for at the youngest only",
                   .run = by_one<Walks<mutants::interrupt_asks_youngest::Kit::Standing>, 1, 1, true>,
                   .fails = Verdict::livelock}};

}  // namespace
}  // namespace weft::inline v0::verify
