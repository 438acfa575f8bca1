// SPDX-License-Identifier: MIT
// The bounded ring [RING-1..3] and the global queue with its overflow list [GLOBAL-1..3].
#include "base/ring.hpp"

#include <memory>
#include <vector>

#include "base/global_queue.hpp"
#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "scenarios/items.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

template <class Counter>
struct RealRing {
  using Ring = detail::BasicRing<Counter>;
  using Entry = detail::Entry;
  using QueueLink = detail::QueueLink;
};
using Real = RealRing<std::uint64_t>;
struct RealGlobal {
  using GlobalQueue = detail::GlobalQueue;
  using Entry = detail::Entry;
  using QueueLink = detail::QueueLink;
};

template <class Kit>
struct Stage {
  template <class... Args>
  Stage(World& world, int count, Args... args)
      : items(world, count), ring(world.make<typename Kit::Ring>("ring", 2U, args...)) {}
  bool push(int number) {
    if (!ring.push(items.fill(number))) return false;
    ++pushed;
    return true;
  }
  bool pop() {
    const auto entry = ring.pop();
    if (entry) items.take(entry);
    return static_cast<bool>(entry);
  }
  Items<Kit> items;
  typename Kit::Ring& ring;
  int pushed = 0;
};

// At the end what was admitted has been taken, or is still there.
template <class Kit, class... Args>
std::shared_ptr<Stage<Kit>> make_stage(World& world, int count, Args... args) {
  auto stage = std::make_shared<Stage<Kit>>(world, count, args...);
  world.finally([stage] {
    while (stage->pop()) continue;
    check(stage->items.taken() == stage->pushed, "an admitted item was lost");
    check(stage->ring.empty(), "an empty ring says it is not");
  });
  return stage;
}

template <class Kit>
void push_push_pop(World& world) {
  auto stage = make_stage<Kit>(world, 2);
  world.thread("pusher", [stage] { check(stage->push(1), "the ring had room"); });
  world.thread("other", [stage] { check(stage->push(2), "the ring had room"); });
  world.thread("popper", [stage] { stage->pop(); });
}

template <class Kit>
void full(World& world) {
  auto stage = make_stage<Kit>(world, 4);
  stage->push(1);
  stage->push(2);
  world.thread("pusher", [stage] { stage->push(3); });
  world.thread("other", [stage] { stage->push(4); });
  world.thread("popper", [stage] { check(stage->pop(), "the ring was not empty"); });
}

template <class Kit>
void empty(World& world) {
  auto stage = make_stage<Kit>(world, 2);
  stage->push(1);
  world.thread("popper", [stage] { stage->pop(); });
  world.thread("rival", [stage] { stage->pop(); });
  world.thread("pusher", [stage] { check(stage->push(2), "the ring had room"); });
}

// Two laps: each cell is used, freed and used again.
template <class Kit, class... Args>
void laps(World& world, Args... first_position) {
  auto stage = make_stage<Kit>(world, 4, first_position...);
  world.thread("pusher", [stage] {
    for (int i = 1; i <= 4; ++i) {
      if (!stage->push(i)) break;
    }
  });
  world.thread("popper", [stage] {
    stage->pop();
    stage->pop();
  });
}

// A ring that always holds something never says it is empty.
template <class Kit>
void never_empty(World& world) {
  auto stage = make_stage<Kit>(world, 3);
  stage->push(1);
  world.thread("turner", [stage] {
    for (int i = 2; i <= 3; ++i) {
      check(stage->push(i), "the ring had room");
      stage->pop();
    }
  });
  world.thread("looker", [stage] { check(!stage->ring.empty(), "a ring that was never empty looked so"); });
}

const Register pushes{{.name = "ring: two pushes against a pop", .run = push_push_pop<Real>, .preemptions = 3}};
const Register fulls{{.name = "ring: two pushes meet a full ring and a pop", .run = full<Real>}};
const Register empties{{.name = "ring: two pops meet an almost empty ring and a push", .run = empty<Real>}};
const Register wrap{{.name = "ring: two laps of push against pop", .run = laps<Real>, .preemptions = 3}};
const Register counter_wrap{{.name = "ring: two laps where an 8 bit counter wraps",
                             .run = [](World& world) { laps<RealRing<std::uint8_t>>(world, std::uint8_t{254}); }}};
const Register looks{{.name = "ring: never empty, never looks so", .run = never_empty<Real>, .preemptions = 3}};
const Register buffered{{.name = "ring: two pushes against a pop with delayed stores",
                         .run = push_push_pop<Real>,
                         .delays = 1,
                         .spurious = true}};

const Register m1{{.name = "mutant: ring claims its cell by a store",
                   .run = push_push_pop<mutants::ring_claims_by_store::Kit>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: ring announces a cell before filling it",
                   .run = push_push_pop<mutants::ring_announces_before_filling::Kit>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: ring frees a cell before reading it",
                   .run = full<mutants::ring_frees_before_reading::Kit>,
                   .fails = Verdict::race}};
const Register m4{{.name = "mutant: ring fills a cell with a relaxed store [V-024]",
                   .run = push_push_pop<mutants::ring_fills_relaxed::Kit>,
                   .fails = Verdict::race}};
const Register m5{{.name = "mutant: ring reads its counters in the wrong order",
                   .run = never_empty<mutants::ring_size_in_wrong_order::Kit>,
                   .fails = Verdict::assertion}};

template <class Kit>
struct GlobalStage {
  GlobalStage(World& world, int count)
      : items(world, count), queue(world.make<typename Kit::GlobalQueue>("queue", 2U)) {}
  void push(int number) { queue.push(items.fill(number)); }
  bool pop() {
    const auto entry = queue.pop();
    if (entry) order.push_back(items.take(entry));
    return static_cast<bool>(entry);
  }
  Items<Kit> items;
  typename Kit::GlobalQueue& queue;
  std::vector<int> order;
};

template <class Kit>
std::shared_ptr<GlobalStage<Kit>> make_global(World& world, int count) {
  auto stage = std::make_shared<GlobalStage<Kit>>(world, count);
  world.finally([stage] {
    while (stage->pop()) continue;
    stage->items.all_taken();
    check(stage->queue.empty(), "an empty queue says it is not");
  });
  return stage;
}

template <class Kit>
void overflow(World& world) {
  auto stage = make_global<Kit>(world, 4);
  stage->push(1);
  stage->push(2);
  world.thread("pusher", [stage] { stage->push(3); });
  world.thread("other", [stage] { stage->push(4); });
  world.thread("popper", [stage] { check(stage->pop(), "the queue was not empty"); });
}

// [GLOBAL-1] More entries than pops: no pop may come back with nothing while one of them refills the ring.
template <class Kit>
void refill(World& world) {
  auto stage = make_global<Kit>(world, 5);
  for (int i = 1; i <= 5; ++i) stage->push(i);
  for (const char* name : {"popper", "rival"}) {
    world.thread(name, [stage] {
      check(stage->pop(), "a pop found nothing in a queue that was never empty");
      check(stage->pop(), "a pop found nothing in a queue that was never empty");
    });
  }
}

// [GLOBAL-2] What one thread pushed comes out in its order.
template <class Kit>
void fifo(World& world) {
  auto stage = make_global<Kit>(world, 4);
  world.thread("pusher", [stage] {
    for (int i = 1; i <= 4; ++i) stage->push(i);
  });
  world.thread("popper", [stage] {
    stage->pop();
    stage->pop();
  });
  world.finally([stage] {
    for (std::size_t i = 0; i < stage->order.size(); ++i) {
      check(stage->order[i] == static_cast<int>(i) + 1, "the order of one pusher was lost");
    }
  });
}

const Register overflows{{.name = "global queue: two pushes overflow against a pop", .run = overflow<RealGlobal>}};
const Register refills{{.name = "global queue: two poppers while the ring is refilled", .run = refill<RealGlobal>}};
const Register orders{{.name = "global queue: one pusher's order survives the overflow", .run = fifo<RealGlobal>}};
const Register g1{{.name = "mutant: global queue counts down before it refills",
                   .run = refill<mutants::global_counts_down_first::Kit>,
                   .fails = Verdict::assertion}};
const Register g2{{.name = "mutant: global queue looks at the ring before the count",
                   .run = refill<mutants::global_looks_at_ring_first::Kit>,
                   .fails = Verdict::assertion}};
const Register g3{{.name = "mutant: global queue overflows without the lock",
                   .run = overflow<mutants::global_pushes_without_lock::Kit>,
                   .fails = Verdict::livelock}};

}  // namespace
}  // namespace weft::inline v0::verify
