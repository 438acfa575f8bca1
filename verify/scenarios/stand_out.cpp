// SPDX-License-Identifier: MIT
// Children that a nursery's end runs in place, by the real loop, and that park there, against a thief, a waker and a
// look at who lives [PLACE-1] [PLACE-2] [TASK-6] [LIVE-1].
#include <memory>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "scenarios/place_stage.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

template <class Broken>
struct StandsOut : RealPlace {
  using Standing = Broken;
};
template <auto broken>
struct Fills : RealPlace {
  static void fill(detail::TaskCore& child) { broken(child); }
};

// Two children; the younger parks if it runs in place.
template <class Kit, bool parks>
struct TwoChildren final : PlaceStage<Kit> {
  using Base = PlaceStage<Kit>;
  explicit TwoChildren(World& world) : Base(world), older(world, *this, 0), younger(world, *this, 1) {}
  void body(typename Base::Child& child) override {
    if (parks && &child == &younger && child.task.root == &this->root) this->park(child.task);
  }
  typename Base::Child older;
  typename Base::Child younger;
};

template <class Stage>
void wake_parked(Stage& stage) {
  typename Stage::Task* task;
  while ((task = stage.parked.load(std::memory_order_acquire)) == nullptr) seam::pause();
  if (task != &stage.joiner) stage.wake(*task);
}
// Whoever is told that nothing lives sees that all have ended.
template <class Stage>
void look_for_life(Stage& stage) {
  if (!stage.runtime.live.none_alive()) return;
  check(stage.older.result.read() == 1 && stage.younger.result.read() == 1, "a task lives that was not counted");
}
template <class Stage>
void check_over(Stage& stage) {
  check(stage.older.result.read() == 1 && stage.younger.result.read() == 1, "a child did not run");
  stage.check_clean(stage.older.task);
  stage.check_clean(stage.younger.task);
  check(stage.nursery.count.none_left(stage.nursery.plain), "a child was not counted down");
  check(stage.runtime.live.none_alive(), "begun and ended are not the same");
}

enum class Also { nothing, reader };

template <class Kit, bool parks, Also also>
void two_children(World& world) {
  auto stage = std::make_shared<TwoChildren<Kit, parks>>(world);
  world.thread("joiner", [stage] {
    stage->start(stage->nursery, stage->older);
    stage->start(stage->nursery, stage->younger);
    stage->join(stage->nursery);
    stage->end();
  });
  world.thread("thief", [stage] { (void)stage->steal(); });
  if constexpr (parks) world.thread("waker", [stage] { wake_parked(*stage); });
  if constexpr (also == Also::reader) world.thread("reader", [stage] { look_for_life(*stage); });
  world.finally([stage] { check_over(*stage); });
}

// A child in place that opens a nursery, whose child parks in its place, if nobody steals it.
template <class Kit>
struct Nested final : PlaceStage<Kit> {
  using Base = PlaceStage<Kit>;
  explicit Nested(World& world)
      : Base(world),
        older(world, *this, 0),
        younger(world, *this, 1),
        inner(world.make<detail::NurseryCore>("inner nursery")) {}
  void body(typename Base::Child& child) override {
    if (child.task.root != &this->root) return;
    if (&child == &younger) return this->park(child.task);
    this->open(inner, child.task);
    this->start(inner, younger);
    this->join(inner);
  }
  typename Base::Child older;
  typename Base::Child younger;  // and the older's own
  detail::NurseryCore& inner;
};

template <class Kit>
void nested(World& world) {
  auto stage = std::make_shared<Nested<Kit>>(world);
  world.thread("joiner", [stage] {
    stage->start(stage->nursery, stage->older);
    stage->join(stage->nursery);
    stage->end();
  });
  world.thread("waker", [stage] { wake_parked(*stage); });
  world.thread("reader", [stage] { look_for_life(*stage); });
  world.finally([stage] {
    check_over(*stage);
    check(stage->inner.count.none_left(stage->inner.plain), "a child's child was not counted down");
  });
}

// The youngest in the deque is a child of the nursery around the one that is joined: the loop puts it back.
void put_back(World& world) {
  auto stage = std::make_shared<TwoChildren<RealPlace, false>>(world);
  auto& inner = world.make<detail::NurseryCore>("inner nursery");
  world.thread("joiner", [stage, &inner] {
    stage->open(inner, stage->joiner);
    stage->start(inner, stage->older);
    stage->start(stage->nursery, stage->younger);
    stage->join(inner);
    stage->join(stage->nursery);
    stage->end();
  });
  world.thread("thief", [stage] {
    while (!stage->steal()) seam::pause();
  });
  world.finally([stage, &inner] {
    check_over(*stage);
    check(inner.count.none_left(inner.plain), "a child of the inner nursery was not counted down");
  });
}

const Register a{{.name = "stand out: two children, calls but for whom a thief takes [PLACE-1] [TASK-6]",
                  .run = two_children<RealPlace, false, Also::nothing>}};
const Register b{{.name = "stand out: a child parks in place, a thief, a waker [PLACE-2]",
                  .run = two_children<RealPlace, true, Also::nothing>}};
const Register c{{.name = "stand out: who lives while children are calls, and stolen [LIVE-1]",
                  .run = two_children<RealPlace, false, Also::reader>}};
const Register d{{.name = "stand out: a child's child parks in place [PLACE-2] [LIVE-1]", .run = nested<RealPlace>}};
const Register e{{.name = "stand out: a child of the nursery around it is put back [HA4.8]", .run = put_back}};

template <class Broken>
constexpr auto broken_stand = nested<StandsOut<typename Broken::Standing>>;
template <auto broken>
constexpr auto broken_fill = two_children<Fills<broken>, false, Also::nothing>;

const Register m1{{.name = "mutant: stands out, and its joiner seems to run",
                   .run = broken_stand<mutants::stand_out_joiner_runs::Kit>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: stands out uncounted",
                   .run = broken_stand<mutants::stand_out_uncounted::Kit>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: stands out alone, not those in whose place it runs",
                   .run = broken_stand<mutants::stand_out_youngest_only::Kit>,
                   .fails = Verdict::assertion}};
const Register m4{{.name = "mutant: stands out without a number",
                   .run = broken_stand<mutants::stand_out_unnumbered::Kit>,
                   .fails = Verdict::assertion}};
const Register m5{{.name = "mutant: stands out without the flag",
                   .run = broken_stand<mutants::stand_out_unmarked::Kit>,
                   .fails = Verdict::assertion}};
const Register m6{{.name = "mutant: a started child begins as if somebody had a handle",
                   .run = broken_fill<mutants::child_filled_without_life::fill_child>,
                   .fails = Verdict::assertion}};
const Register m7{{.name = "mutant: a started child begins in no scope",
                   .run = broken_fill<mutants::child_filled_without_scope::fill_child>,
                   .fails = Verdict::assertion}};
const Register m8{{.name = "mutant: a started child begins with the root of who had its record",
                   .run = broken_fill<mutants::child_keeps_old_root::fill_child>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify
