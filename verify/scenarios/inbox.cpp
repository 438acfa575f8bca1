// SPDX-License-Identifier: MIT
// The worker's mailbox [INBOX-1..4].
#include "base/inbox.hpp"

#include <memory>
#include <vector>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "scenarios/items.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using Inbox = detail::Inbox;
  using Chain = detail::Chain;
  using Entry = detail::Entry;
  using QueueLink = detail::QueueLink;
};

template <class Kit>
struct Stage {
  Stage(World& world, int count) : items(world, count), inbox(world.make<typename Kit::Inbox>("inbox")) {}
  void push(int number) {
    if (inbox.push(items.fill(number))) ++wakes;
  }
  void pop() { note(inbox.pop()); }
  void take_all() {
    auto chain = inbox.take_all();
    while (const auto entry = chain.pop_front()) note(entry);
  }
  void note(typename Kit::Entry entry) {
    if (entry) order.push_back(items.take(entry));
  }
  Items<Kit> items;
  typename Kit::Inbox& inbox;
  int wakes = 0;
  std::vector<int> order;  // in which they were taken
};

template <class Kit>
std::shared_ptr<Stage<Kit>> make_stage(World& world, int count) {
  auto stage = std::make_shared<Stage<Kit>>(world, count);
  world.finally([stage] {
    for (;;) {
      const auto entry = stage->inbox.pop();
      if (!entry) break;
      stage->note(entry);
    }
    stage->items.all_taken();
    check(stage->inbox.empty(), "an empty inbox says it is not");
  });
  return stage;
}

// [INBOX-1], and the order of one pusher's items.
template <class Kit>
void two_pushers(World& world) {
  auto stage = make_stage<Kit>(world, 3);
  world.thread("pusher", [stage] {
    stage->push(1);
    stage->push(2);
  });
  world.thread("other", [stage] { stage->push(3); });
  world.thread("owner", [stage] {
    stage->pop();
    stage->pop();
  });
  world.finally([stage] {
    int last = 0;
    for (int number : stage->order) {
      if (number == 3) continue;
      check(number > last, "two items of one pusher changed places");
      last = number;
    }
  });
}

// [INBOX-2], [INBOX-3]: the owner pops while somebody rescues everything.
template <class Kit>
void rescue(World& world) {
  auto stage = make_stage<Kit>(world, 3);
  stage->push(1);
  stage->push(2);
  world.thread("owner", [stage] {
    stage->pop();
    stage->pop();
  });
  world.thread("rescuer", [stage] { stage->take_all(); });
  world.thread("pusher", [stage] { stage->push(3); });
}

// [INBOX-4] A push into a non-empty mailbox does not wake: three pushes that nobody takes wake once.
template <class Kit>
void one_wake(World& world) {
  auto stage = make_stage<Kit>(world, 3);
  for (int i = 1; i <= 3; ++i) {
    world.thread("pusher " + std::to_string(i), [stage, i] { stage->push(i); });
  }
  world.finally([stage] { check(stage->wakes == 1, "not exactly one push woke the owner"); });
}

// [INBOX-4] The whole handshake: the owner sleeps only if nothing is there, and whoever fills the mailbox wakes it.
template <class Kit>
void sleeping_owner(World& world) {
  auto stage = make_stage<Kit>(world, 2);
  auto& word = world.make<seam::Atomic<std::uint32_t>>("sleeping", 0U);
  for (int i = 1; i <= 2; ++i) {
    world.thread("pusher " + std::to_string(i), [stage, i, &word] {
      if (!stage->inbox.push(stage->items.fill(i))) return;
      seam::heavy_fence();
      if (word.exchange(0) == 1) seam::futex_wake(word, 1);
    });
  }
  world.thread("owner", [stage, &word] {
    while (stage->items.taken() < 2) {
      if (const auto entry = stage->inbox.pop()) {
        stage->note(entry);
        continue;
      }
      word.store(1, std::memory_order_relaxed);
      seam::light_fence();
      if (stage->inbox.empty()) {
        seam::futex_wait(word, 1, seam::no_deadline);
      }
      word.store(0, std::memory_order_relaxed);
    }
  });
}

const Register pushers{{.name = "inbox: two pushers against the owner", .run = two_pushers<Real>}};
const Register spurious{
    {.name = "inbox: two pushers whose weak exchange fails for no reason", .run = two_pushers<Real>, .spurious = true}};
const Register rescues{{.name = "inbox: the owner pops while all is rescued", .run = rescue<Real>}};
const Register wakes{{.name = "inbox: three pushes wake the owner once", .run = one_wake<Real>, .preemptions = 3}};
const Register handshake{{.name = "inbox: no item waits beside a sleeping owner [B1]", .run = sleeping_owner<Real>}};
const Register handshake_buffered{{.name = "inbox: no item waits beside a sleeping owner, asymmetric fences [B46]",
                                   .run = sleeping_owner<Real>,
                                   .delays = 1,
                                   .asymmetric = true}};

const Register m1{{.name = "mutant: inbox links after publishing",
                   .run = two_pushers<mutants::inbox_links_after_publishing::Kit>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: inbox empties a cell without exchange",
                   .run = rescue<mutants::inbox_takes_without_exchange::Kit>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: inbox push publishes relaxed [V-024]",
                   .run = two_pushers<mutants::inbox_pushes_relaxed::Kit>,
                   .fails = Verdict::race}};
const Register m4{{.name = "mutant: inbox hands out newest first",
                   .run = two_pushers<mutants::inbox_newest_first::Kit>,
                   .fails = Verdict::assertion}};
const Register m5{{.name = "mutant: inbox says that every push wakes",
                   .run = one_wake<mutants::inbox_every_push_wakes::Kit>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify
