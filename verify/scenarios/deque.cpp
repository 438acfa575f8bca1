// SPDX-License-Identifier: MIT
// The work-stealing deque [DEQ-1..6] [B22].
#include "weft/detail/deque.hpp"

#include <cstdint>
#include <limits>
#include <memory>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "scenarios/items.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using Deque = detail::Deque;
  using Entry = detail::Entry;
  using QueueLink = detail::QueueLink;
};

// One deque of capacity 2, its items; what is left at the end is drained, and each item must have been taken once.
template <class Kit>
struct Stage {
  using Deque = typename Kit::Deque;
  Stage(World& world, int count, std::uint64_t first_index = 0)
      : items(world, count), deque(world.make<Deque>("deque", 2U, first_index)) {}

  void push(int number) { check(deque.push(items.fill(number)), "there was no room"); }
  void pop() { items.take_if(deque.pop()); }
  void steal() {
    const auto stolen = deque.steal();
    if (stolen.outcome == Deque::Theft::taken) items.take(stolen.entry);
  }
  void drain(Deque& from) {
    while (const auto entry = from.pop()) items.take(entry);
  }

  Items<Kit> items;
  Deque& deque;
};

template <class Kit>
using StagePointer = std::shared_ptr<Stage<Kit>>;

template <class Kit>
StagePointer<Kit> make_stage(World& world, int count, std::uint64_t first_index = 0) {
  auto stage = std::make_shared<Stage<Kit>>(world, count, first_index);
  world.finally([stage] {
    stage->drain(stage->deque);
    stage->items.all_taken();
  });
  return stage;
}

template <class Kit>
void last_one(World& world) {
  auto stage = make_stage<Kit>(world, 1);
  world.thread("owner", [stage] {
    stage->push(1);
    stage->pop();
  });
  world.thread("thief", [stage] { stage->steal(); });
}

template <class Kit>
void two_thieves(World& world) {
  auto stage = make_stage<Kit>(world, 2);
  stage->push(1);
  stage->push(2);
  world.thread("owner", [stage] {
    stage->pop();
    stage->pop();
  });
  world.thread("thief", [stage] { stage->steal(); });
  world.thread("rival", [stage] { stage->steal(); });
}

template <class Kit>
void growth(World& world) {
  auto stage = make_stage<Kit>(world, 3);
  stage->push(1);
  world.thread("owner", [stage] {
    stage->push(2);
    stage->push(3);
    stage->pop();
  });
  world.thread("thief", [stage] {
    stage->steal();
    stage->steal();
  });
}

// The slot of a stolen entry is used again while a second thief still looks at it [DEQ-2].
template <class Kit>
void slot_reuse(World& world) {
  auto stage = make_stage<Kit>(world, 4);
  stage->push(1);
  stage->push(2);
  world.thread("owner", [stage] {
    stage->pop();
    stage->push(3);
    stage->push(4);
  });
  world.thread("thief", [stage] { stage->steal(); });
  world.thread("rival", [stage] { stage->steal(); });
}

// The owner remembers how much room there was: what a thief has freed since is used, and no more [DEQ-2].
template <class Kit>
void room_again(World& world) {
  auto stage = make_stage<Kit>(world, 4);
  stage->push(1);
  stage->push(2);
  world.thread("owner", [stage] {
    stage->push(3);
    stage->push(4);
  });
  world.thread("thief", [stage] { stage->steal(); });
}

// Two entries, wanted by their names: the newest, and then the last; nothing else is.
template <class Kit>
void taken_back(World& world) {
  auto stage = make_stage<Kit>(world, 2);
  world.thread("owner", [stage] {
    const auto older = stage->items.fill(1);
    const auto newest = stage->items.fill(2);
    check(stage->deque.push(older) && stage->deque.push(newest), "there was no room");
    check(!stage->deque.take_back(older), "it is not the newest");
    if (stage->deque.take_back(newest)) stage->items.take(newest);
    if (stage->deque.take_back_alone(older)) stage->items.take(older);
  });
  world.thread("thief", [stage] { stage->steal(); });
}

// The newest, whichever that is, while nobody steals: then, and of an empty one, nothing.
template <class Kit>
void popped_alone(World& world) {
  auto stage = make_stage<Kit>(world, 2);
  world.thread("owner", [stage] {
    stage->push(1);
    stage->push(2);
    for (int i = 0; i < 3; ++i) stage->items.take_if(stage->deque.pop_alone());
  });
  world.thread("thief", [stage] { stage->steal(); });
}

// A thief that read top_ long ago meets a deque that has grown and moved on [DEQ-3].
template <class Kit>
void slow_thief(World& world) {
  auto stage = make_stage<Kit>(world, 4);
  stage->push(1);
  stage->push(2);
  world.thread("owner", [stage] {
    stage->items.take_if(stage->deque.take_oldest());
    stage->push(3);
    stage->push(4);
    stage->items.take_if(stage->deque.take_oldest());
    stage->items.take_if(stage->deque.take_oldest());
  });
  world.thread("thief", [stage] { stage->steal(); });
}

template <class Kit>
void batch(World& world) {
  auto stage = make_stage<Kit>(world, 4);
  auto& loot = world.make<typename Kit::Deque>("loot", 2U);
  for (int i = 1; i <= 4; ++i) stage->push(i);
  world.thread("owner", [stage] {
    stage->pop();
    stage->pop();
    stage->pop();
  });
  world.thread("thief", [stage, &loot] {
    const auto stolen = stage->deque.steal_batch(loot, 2);
    if (stolen.outcome == Kit::Deque::Theft::taken) stage->items.take(stolen.entry);
    stage->drain(loot);
  });
}

template <class Kit>
void batch_stolen_again(World& world) {
  auto stage = make_stage<Kit>(world, 4);
  auto& loot = world.make<typename Kit::Deque>("loot", 2U);
  for (int i = 1; i <= 4; ++i) stage->push(i);
  world.thread("thief", [stage, &loot] {
    const auto stolen = stage->deque.steal_batch(loot, 2);
    if (stolen.outcome == Kit::Deque::Theft::taken) stage->items.take(stolen.entry);
    stage->drain(loot);
  });
  world.thread("rival", [stage, &loot] {
    const auto stolen = loot.steal();
    if (stolen.outcome == Kit::Deque::Theft::taken) stage->items.take(stolen.entry);
  });
}

// [HAND-3]
template <class Kit>
void rescue(World& world) {
  auto stage = make_stage<Kit>(world, 3);
  for (int i = 1; i <= 3; ++i) stage->push(i);
  world.thread("owner", [stage] {
    stage->pop();
    stage->pop();
  });
  world.thread("rescuer", [stage] {
    const std::size_t count = stage->deque.steal_each(2, [&](auto entry) { stage->items.take(entry); });
    check(count <= 2, "more than asked for");
  });
}

template <class Kit>
void oldest(World& world) {
  auto stage = make_stage<Kit>(world, 2);
  stage->push(1);
  stage->push(2);
  world.thread("owner", [stage] {
    stage->items.take_if(stage->deque.take_oldest());
    stage->pop();
  });
  world.thread("thief", [stage] { stage->steal(); });
}

void wraparound(World& world) {
  auto stage = make_stage<Real>(world, 3, std::numeric_limits<std::uint64_t>::max());
  stage->push(1);
  world.thread("owner", [stage] {
    stage->push(2);
    stage->push(3);
    stage->pop();
  });
  world.thread("thief", [stage] {
    stage->steal();
    stage->steal();
  });
}

const Register last{{.name = "deque: pop against steal of the last one", .run = last_one<Real>, .preemptions = 4}};
const Register two{{.name = "deque: two pops against two thieves", .run = two_thieves<Real>}};
const Register grow{{.name = "deque: growth against steal", .run = growth<Real>}};
const Register reuse{{.name = "deque: a slot is used again under two thieves", .run = slot_reuse<Real>}};
const Register slow{{.name = "deque: a slow thief meets a grown buffer", .run = slow_thief<Real>, .preemptions = 3}};
const Register batches{{.name = "deque: batch steal against pops", .run = batch<Real>}};
const Register again{{.name = "deque: a batch is stolen again", .run = batch_stolen_again<Real>}};
const Register rescued{{.name = "deque: one without a deque takes two against pops", .run = rescue<Real>}};
const Register fair{{.name = "deque: the owner takes the oldest against steal", .run = oldest<Real>}};
const Register wrap{{.name = "deque: growth against steal where the counters wrap", .run = wraparound}};
const Register buffered{{.name = "deque: pop against steal with delayed stores", .run = last_one<Real>, .delays = 2}};
const Register two_buffered{
    {.name = "deque: two pops against two thieves with delayed stores", .run = two_thieves<Real>, .delays = 1}};
const Register membarrier{{.name = "deque: pop against steal with asymmetric fences [B46]",
                           .run = two_thieves<Real>,
                           .delays = 1,
                           .asymmetric = true}};
const Register batch_membarrier{{.name = "deque: one heavy fence serves a batch, with asymmetric fences",
                                 .run = batch<Real>,
                                 .delays = 1,
                                 .asymmetric = true}};
const Register room{{.name = "deque: room that a thief has made", .run = room_again<Real>}};
const Register back{
    {.name = "deque: what is wanted is taken back against steal", .run = taken_back<Real>, .preemptions = 3}};
const Register alone_membarrier{{.name = "deque: the newest, by who is alone, with asymmetric fences",
                                 .run = popped_alone<Real>,
                                 .preemptions = 2,
                                 .delays = 1,
                                 .asymmetric = true}};
const Register back_membarrier{{.name = "deque: what is wanted is taken back, with asymmetric fences",
                                .run = taken_back<Real>,
                                .preemptions = 1,
                                .delays = 1,
                                .asymmetric = true}};
const Register growth_buffered{
    {.name = "deque: growth against steal with delayed stores", .run = growth<Real>, .preemptions = 1, .delays = 1}};

const Register m1{{.name = "mutant: deque pops the last one without CAS",
                   .run = last_one<mutants::deque_last_without_cas::Kit>,
                   .fails = Verdict::assertion,
                   .preemptions = 3}};
const Register m12{{.name = "mutant: deque thief does not count itself in",
                    .run = last_one<mutants::deque_thief_not_counted::Kit>,
                    .fails = Verdict::assertion,
                    .preemptions = 3}};
const Register m14{{.name = "mutant: deque owner looks for thieves after top",
                    .run = last_one<mutants::deque_owner_counts_thieves_late::Kit>,
                    .fails = Verdict::assertion,
                    .preemptions = 3}};
const Register m13{{.name = "mutant: deque thief counts itself in after its look",
                    .run = last_one<mutants::deque_thief_counted_late::Kit>,
                    .fails = Verdict::assertion,
                    .preemptions = 3}};
const Register m2{{.name = "mutant: deque lowers bottom after reading top",
                   .run = two_thieves<mutants::deque_bottom_lowered_late::Kit>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: deque thief moves top by a store",
                   .run = two_thieves<mutants::deque_thief_without_cas::Kit>,
                   .fails = Verdict::assertion}};
const Register m4{{.name = "mutant: deque thief reads the slot after its CAS",
                   .run = slot_reuse<mutants::deque_slot_read_after_cas::Kit>,
                   .fails = Verdict::race}};
const Register m5{{.name = "mutant: deque push publishes relaxed [V-024]",
                   .run = last_one<mutants::deque_publishes_relaxed::Kit>,
                   .fails = Verdict::race}};
const Register m7{{.name = "mutant: deque grows without copying",
                   .run = growth<mutants::deque_grows_without_copy::Kit>,
                   .fails = Verdict::assertion}};
const Register m8{{.name = "mutant: deque publishes the larger buffer before copying",
                   .run = growth<mutants::deque_publishes_before_copy::Kit>,
                   .fails = Verdict::assertion}};
const Register m9{{.name = "mutant: deque thief reads the buffer before top",
                   .run = slow_thief<mutants::deque_buffer_before_top::Kit>,
                   .fails = Verdict::assertion,
                   .preemptions = 3}};
const Register m10{{.name = "mutant: deque owner without its fence, delayed stores",
                    .run = two_thieves<mutants::deque_owner_without_fence::Kit>,
                    .fails = Verdict::assertion,
                    .delays = 1}};
const Register m11{{.name = "mutant: deque thief without its fence, asymmetric",
                    .run = two_thieves<mutants::deque_thief_without_fence::Kit>,
                    .fails = Verdict::assertion,
                    .delays = 1,
                    .asymmetric = true}};
const Register m15{{.name = "mutant: deque owner does not fence for itself while somebody steals",
                    .run = batch<mutants::deque_owner_without_own_fence::Kit>,
                    .fails = Verdict::assertion,
                    .delays = 1,
                    .asymmetric = true}};
const Register m16{{.name = "mutant: deque owner counts its room from its own end",
                    .run = room_again<mutants::deque_room_by_own_end::Kit>,
                    .fails = Verdict::assertion}};
const Register m17{{.name = "mutant: deque owner takes back what was stolen",
                    .run = taken_back<mutants::deque_takes_back_what_was_stolen::Kit>,
                    .fails = Verdict::assertion}};
const Register m18{{.name = "mutant: deque owner takes back what is being stolen",
                    .run = taken_back<mutants::deque_takes_back_under_thieves::Kit>,
                    .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify
