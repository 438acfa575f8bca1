// SPDX-License-Identifier: MIT
// "Does any task live?" against tasks that spawn, move and end [LIVE-1..3].
#include "sched/live_count.hpp"

#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using LiveCount = detail::LiveCount;
};

// A chain of tasks, each spawned by the one before it. `result` is what the last one leaves behind: whoever is told
// that nothing lives may read it.
template <class Kit>
struct Stage {
  explicit Stage(World& world, unsigned shards)
      : count(world.make<typename Kit::LiveCount>("count", shards)),
        pushed(world.make<seam::Atomic<std::uint32_t>>("pushed", 0U)),
        result(world.make<Plain<int>>("result")) {}

  void push(unsigned shard) {
    count.started(shard);
    pushed.store(1, std::memory_order_release);
    seam::futex_wake(pushed, 1);
  }
  void pop() {
    while (pushed.load(std::memory_order_acquire) == 0) seam::futex_wait(pushed, 0, seam::no_deadline);
  }
  // Looks `times` times; must not be told "nothing lives" before the end.
  void look(int times) {
    for (int i = 0; i < times; ++i)
      if (count.none_alive()) check(result.read() == 1, "a task lives that was not counted");
  }

  typename Kit::LiveCount& count;
  seam::Atomic<std::uint32_t>& pushed;
  Plain<int>& result;
};

// HB12's own example: P on worker 1 moves to worker 0, spawns Q there, goes back and ends.
template <class Kit>
void moving(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world, 2U);
  auto& passed = world.make<seam::Atomic<std::uint32_t>>("passed", 0U);
  stage->count.started(1);
  world.thread("worker 0", [stage, &passed] {
    stage->count.started(0);  // P is here and spawns Q
    passed.store(1, std::memory_order_release);
    seam::futex_wake(passed, 1);
    stage->result.write(1);  // Q
    stage->count.finished(0);
  });
  world.thread("worker 1", [stage, &passed] {
    while (passed.load(std::memory_order_acquire) == 0) seam::futex_wait(passed, 0, seam::no_deadline);
    stage->count.finished(1);  // P is back and ends
  });
  world.thread("reader", [stage] { stage->look(1); });
  world.finally([stage] {
    check(stage->count.none_alive(), "counted wrongly");
    check(stage->count.started_total() == 2, "a start is lost");
  });
}

// The child runs on another worker than the parent.
template <class Kit>
void stolen(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world, 2U);
  stage->count.started(0);
  world.thread("worker 0", [stage] {
    stage->push(0);
    stage->count.finished(0);
  });
  world.thread("worker 1", [stage] {
    stage->pop();
    stage->result.write(1);
    stage->count.finished(1);
  });
  world.thread("reader", [stage] { stage->look(2); });
  world.finally([stage] { check(stage->count.none_alive(), "counted wrongly"); });
}

// Two threads from outside start a task each, and end it themselves, in the shard they share.
template <class Kit>
void from_outside(World& world) {
  auto& count = world.make<typename Kit::LiveCount>("count", 1U);
  for (int i = 0; i < 2; ++i)
    world.thread("outside " + std::to_string(i), [&count] {
      count.started(count.outside());
      count.finished(count.outside());
    });
  world.finally([&count] {
    check(count.started_total() == 2, "a start from outside is lost");
    check(count.finished_total() == 2, "an end from outside is lost");
  });
}

const Register a{{.name = "live count: a task moves between two reads [HB12]", .run = moving<Real>, .preemptions = 3}};
const Register b{{.name = "live count: a stolen child outlives its parent", .run = stolen<Real>}};
const Register c{{.name = "live count: a stolen child, store buffers", .run = stolen<Real>, .delays = 1}};
const Register d{{.name = "live count: two threads from outside", .run = from_outside<Real>, .preemptions = -1}};

const Register m1{{.name = "mutant: live count reads started first",
                   .run = moving<mutants::live_count_started_first::Kit>,
                   .fails = Verdict::race}};
const Register m2{{.name = "mutant: live count goes up and down per shard",
                   .run = moving<mutants::live_count_up_and_down::Kit>,
                   .fails = Verdict::race}};
const Register m3{{.name = "mutant: live count ends relaxed",
                   .run = stolen<mutants::live_count_ends_relaxed::Kit>,
                   .fails = Verdict::race}};
const Register m4{{.name = "mutant: live count from outside without an RMW",
                   .run = from_outside<mutants::live_count_outside_plain::Kit>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify
