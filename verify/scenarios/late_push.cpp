// SPDX-License-Identifier: MIT
// A worker that ends, or is stuck, against a push into its inbox that comes late [WKR-3]. A push ends with an exchange,
// which empties a store buffer: the pusher's fence is for machines that are weaker than what the explorer models.
#include "sched/late_push.hpp"

#include <memory>

#include "base/inbox.hpp"
#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "scenarios/items.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Boxes {
  using Inbox = detail::Inbox;
  using Entry = detail::Entry;
  using QueueLink = detail::QueueLink;
};
struct Real {
  using LatePush = detail::LatePush;
  using WorkerState = detail::WorkerState;
};

template <class Kit>
struct Place {
  using State = typename Kit::WorkerState;
  explicit Place(World& world)
      : items(world, 2),
        inbox(world.make<detail::Inbox>("inbox")),
        inbox_size(world.make<seam::Atomic<std::uint32_t>>("size", 0U)),
        state(world.make<seam::Atomic<State>>("state", State::active)) {}

  void push_inbox(detail::Entry entry) {
    inbox_size.fetch_add(1, std::memory_order_relaxed);
    (void)inbox.push(entry);
  }
  void enter(State next) { state.store(next, std::memory_order_relaxed); }

  Items<Boxes> items;
  detail::Inbox& inbox;
  seam::Atomic<std::uint32_t>& inbox_size;
  seam::Atomic<State>& state;

  void rescue() {
    (void)Kit::LatePush::rescue(*this, [this](detail::Entry entry) { items.take(entry); });
  }
  void push(int number) {
    using Then = typename Kit::LatePush::Then;
    if (Kit::LatePush::push(*this, items.fill(number)) == Then::rescue) rescue();
  }
  // hand_over, and DEAD
  void end() {
    Kit::LatePush::end(*this);
    rescue();
    state.store(State::dead, std::memory_order_release);
  }
};

template <class Kit>
std::shared_ptr<Place<Kit>> make_place(World& world) {
  auto place = std::make_shared<Place<Kit>>(world);
  world.finally([place] {
    place->items.all_taken();
    check(place->inbox_size.load() == 0, "the size is wrong");
  });
  return place;
}

// Two late pushes and the end.
template <class Kit>
void ends(World& world) {
  auto place = make_place<Kit>(world);
  world.thread("worker", [place] { place->end(); });
  world.thread("pusher", [place] { place->push(1); });
  world.thread("other", [place] { place->push(2); });
}

// The worker was thought stuck: sysmon takes its mail while it wakes up, takes some itself, and ends.
template <class Kit>
void was_stuck(World& world) {
  auto place = make_place<Kit>(world);
  place->push_inbox(place->items.fill(1));
  world.thread("worker", [place] {
    if (const auto entry = place->inbox.pop()) {
      place->inbox_size.fetch_sub(1, std::memory_order_relaxed);
      place->items.take(entry);
    }
    place->end();
  });
  world.thread("sysmon", [place] { place->rescue(); });
  world.thread("pusher", [place] { place->push(2); });
}

const Register a{{.name = "late push: a worker that ends leaves nothing behind [WKR-3] [W-076]",
                  .run = ends<Real>,
                  .preemptions = 3}};
const Register b{{.name = "late push: a worker that ends, store buffers", .run = ends<Real>, .delays = 1}};
const Register c{{.name = "late push: a worker that ends, membarrier, store buffers",
                  .run = ends<Real>,
                  .delays = 1,
                  .asymmetric = true}};
const Register d{{.name = "late push: a stuck worker's mail is rescued while it wakes and ends [WKR-3]",
                  .run = was_stuck<Real>,
                  .preemptions = 3}};
const Register e{{.name = "late push: a stuck worker's mail, store buffers", .run = was_stuck<Real>, .delays = 1}};

const Register m1{{.name = "mutant: late push is not taken back",
                   .run = ends<mutants::late_push_left::Kit>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: late push looks first",
                   .run = ends<mutants::late_push_looks_first::Kit>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: late push meets an end without a fence",
                   .run = ends<mutants::late_push_end_without_fence::Kit>,
                   .fails = Verdict::assertion,
                   .delays = 1}};
const Register m4{{.name = "mutant: late push rescuer counts before it takes",
                   .run = was_stuck<mutants::late_push_counts_first::Kit>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify
