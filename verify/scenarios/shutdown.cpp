// SPDX-License-Identifier: MIT
// The end of a runtime: the last task against who drains, spawns from outside against the closing, and threads outside
// that still look at a runtime whose last task they have queued [VIS-1] [VIS-2].
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "sched/idle_set.hpp"
#include "sched/live_count.hpp"
#include "sched/visitors.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using detail::IdleNode;
using detail::IdleSet;
using detail::LiveCount;

struct Real {
  using Visitors = detail::Visitors;
  using Visit = detail::Visit;
};

// What callers can do wrong.
enum class Slip { none, ends_without_fence, looks_before_it_counts, visits_late, gives_up_early };

template <Slip slip>
struct Stage {
  explicit Stage(World& world)
      : live(world.make<LiveCount>("live", 2U)),
        idle(world.make<IdleSet>("idle")),
        node(world.make<IdleNode>("node")),
        draining(world.make<seam::Atomic<bool>>("draining", false)),
        closed(world.make<seam::Atomic<bool>>("closed", false)),
        queue(world.make<seam::Atomic<std::uint32_t>>("queue", 0U)),
        result(world.make<Plain<int>>("result", 0)) {
    idle.add_worker();
  }

  // end_task
  void end(unsigned shard) {
    result.write(1);
    live.finished(shard);
    if (slip != Slip::ends_without_fence) seam::light_fence();
    if (draining.load(std::memory_order_relaxed)) IdleSet::notify(node);
  }

  // shutdown, and worker_loop until nothing lives. True: everything has ended.
  bool drain() {
    closed.store(true, std::memory_order_seq_cst);
    draining.store(true, std::memory_order_seq_cst);
    if (slip == Slip::gives_up_early) {
      if (!live.none_alive()) loop();
      return live.none_alive();
    }
    while (!live.none_alive()) loop();
    return true;
  }
  void loop() {
    while (!live.none_alive()) {
      if (run_one()) continue;
      idle.begin_search();
      (void)idle.announce(node);
      seam::heavy_fence();
      if (queue.load(std::memory_order_acquire) == 0 && !live.none_alive())
        (void)IdleSet::sleep(node, seam::no_deadline);
      if (!idle.retract(node)) node.wake.store(0, std::memory_order_relaxed);
      if (IdleNode* other = idle.found_work()) IdleSet::notify(*other);
    }
  }
  bool run_one() {
    if (queue.load(std::memory_order_relaxed) != 1 || queue.exchange(2, std::memory_order_acquire) != 1) return false;
    end(0);
    return true;
  }

  // Runtime::go from a thread outside. False: refused.
  bool go() {
    const bool early = slip == Slip::looks_before_it_counts && closed.load(std::memory_order_seq_cst);
    live.started(live.outside());
    seam::fence(std::memory_order_seq_cst);
    if (slip == Slip::looks_before_it_counts ? early : closed.load(std::memory_order_relaxed)) {
      live.finished(live.outside());
      IdleSet::notify(node);
      return false;
    }
    push();
    return true;
  }
  void push() {
    queue.store(1, std::memory_order_release);
    seam::fence(std::memory_order_seq_cst);
    if (idle.wants_wake()) {
      if (IdleNode* sleeper = idle.wake_one(false)) IdleSet::notify(*sleeper);
    }
  }

  LiveCount& live;
  IdleSet& idle;
  IdleNode& node;
  seam::Atomic<bool>& draining;
  seam::Atomic<bool>& closed;
  seam::Atomic<std::uint32_t>& queue;  // one entry: 1 in it, 2 taken
  Plain<int>& result;
};

template <Slip slip>
void last_end(World& world) {
  auto stage = std::make_shared<Stage<slip>>(world);
  stage->live.started(1);
  world.thread("who drains", [stage] {
    check(stage->drain(), "gave up");
    check(stage->result.read() == 1, "done before the last task");
  });
  world.thread("last task", [stage] { stage->end(1); });
}

template <Slip slip>
void spawn_from_outside(World& world) {
  auto stage = std::make_shared<Stage<slip>>(world);
  auto& admitted = world.make<Plain<int>>("admitted", 0);
  world.thread("who drains", [stage] { check(stage->drain(), "gave up although nothing lives"); });
  world.thread("outside", [stage, &admitted] { admitted.write(stage->go() ? 1 : 0); });
  world.finally([stage, &admitted] {
    check(admitted.read() == stage->result.read(), "admitted and never run, or refused and run");
  });
}

// A thread outside queues the last task; the runtime ends while it still looks whether somebody sleeps.
template <class Kit, Slip slip>
void queued_from_outside(World& world) {
  auto stage = std::make_shared<Stage<slip>>(world);
  auto& visitors = world.make<typename Kit::Visitors>("visitors");
  auto& runtime = world.make<Plain<int>>("runtime", 1);
  stage->live.started(1);
  world.thread("outside", [stage, &visitors, &runtime] {
    const auto queue_it = [&] {
      stage->queue.store(1, std::memory_order_release);
      seam::fence(std::memory_order_seq_cst);
    };
    if (slip == Slip::visits_late) queue_it();
    const typename Kit::Visit visit(visitors);
    if (slip != Slip::visits_late) queue_it();
    check(runtime.read() == 1, "the runtime is gone");
  });
  world.thread("worker and who drains", [stage, &visitors, &runtime] {
    while (!stage->run_one()) seam::pause();
    while (!stage->live.none_alive()) seam::pause();
    visitors.wait_for_none();
    runtime.write(0);
  });
}

const Register a{
    {.name = "shutdown: the last end meets who drains [B19]", .run = last_end<Slip::none>, .preemptions = 3}};
const Register b{{.name = "shutdown: the last end meets who drains, real fences, store buffers [B19]",
                  .run = last_end<Slip::none>,
                  .delays = 1}};
const Register c{{.name = "shutdown: the last end meets who drains, membarrier, store buffers [B19]",
                  .run = last_end<Slip::none>,
                  .delays = 1,
                  .asymmetric = true}};
const Register d{{.name = "shutdown: a spawn from outside is refused or run [B19] [V-088]",
                  .run = spawn_from_outside<Slip::none>,
                  .preemptions = 3}};
const Register e{{.name = "shutdown: who queues the last task from outside is waited for [HB21]",
                  .run = queued_from_outside<Real, Slip::none>,
                  .preemptions = 3}};

const Register m1{{.name = "mutant: shutdown caller ends without a fence",
                   .run = last_end<Slip::ends_without_fence>,
                   .fails = Verdict::deadlock,
                   .delays = 1}};
const Register m2{{.name = "mutant: shutdown caller looks at closed before it counts",
                   .run = spawn_from_outside<Slip::looks_before_it_counts>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: shutdown gives up because of a refused spawn",
                   .run = spawn_from_outside<Slip::gives_up_early>,
                   .fails = Verdict::assertion}};
const Register m4{{.name = "mutant: shutdown caller visits after it queued",
                   .run = queued_from_outside<Real, Slip::visits_late>,
                   .fails = Verdict::race}};
const Register m5{{.name = "mutant: shutdown visitor leaves relaxed",
                   .run = queued_from_outside<mutants::visitors_leave_relaxed::Kit, Slip::none>,
                   .fails = Verdict::race}};
const Register m6{{.name = "mutant: shutdown looks at visitors relaxed",
                   .run = queued_from_outside<mutants::visitors_wait_relaxed::Kit, Slip::none>,
                   .fails = Verdict::race}};

}  // namespace
}  // namespace weft::inline v0::verify
