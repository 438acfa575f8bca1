// SPDX-License-Identifier: MIT
// A nursery's join over the real count word and task word [CNT-1..5]: children stolen or run in place, spawns by
// children elsewhere, wakes for other reasons, and no access to the nursery once its joiner has left.
#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "weft/detail/count_word.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using CountWord = detail::CountWord;
  using TaskWord = detail::TaskWord;
  using WakeReason = detail::WakeReason;
  using Ticket = detail::Ticket;
};

// What callers can do wrong.
enum class Slip { none, counts_after_push, touches_after_finish, cancels_without_lock, forgets_destroyed };

template <class Kit, Slip slip = Slip::none>
struct Stage {
  using Reason = typename Kit::WakeReason;
  using Task = typename Kit::TaskWord;

  explicit Stage(World& world)
      : task(world.make<Task>("joiner's word")),
        word(world.make<typename Kit::CountWord>("count")),
        nursery(world.make<Plain<int>>("nursery", 1)),
        queued(world.make<seam::Atomic<std::uint32_t>>("queued", 0U)),
        parent(world.make<seam::Mutex>("parent")) {
    for (auto& place : pushed) place = &world.make<seam::Atomic<int>>("entry", 0);
    for (auto& result : results) result = &world.make<Plain<int>>("result", 0);
    task.make_fresh();
    task.run_on(1);
  }

  void enqueue() {
    check(task.look().left(), "queued before its stack was left");
    task.make_runnable();
    check(queued.exchange(1, std::memory_order_release) == 0, "queued twice");
    seam::futex_wake(queued, 1);
  }

  // An entry stands in a queue; pop and steal are exclusive.
  void push(std::size_t child) { pushed[child]->store(1, std::memory_order_release); }
  bool take(std::size_t child) {
    return pushed[child]->load(std::memory_order_relaxed) == 1 &&
           pushed[child]->exchange(2, std::memory_order_acquire) == 1;
  }

  // The end of a child elsewhere. The joiner's record is type-stable: `task` may be used after the RMW.
  void end(std::size_t child) {
    check(nursery.read() == 1, "the nursery is gone while a child lives");
    results[child]->write(results[child]->read() + 1);
    const std::uint32_t encoded = word.finish_one();
    if (slip == Slip::touches_after_finish) check(nursery.read() == 1, "touched after its joiner left");
    if (encoded == 0) return;
    const auto now = task.look().ticket();
    if (Kit::CountWord::matches(encoded, now) && task.wake(now, Reason::child) == Task::Wake::queue_it) enqueue();
  }

  // A child elsewhere spawns another into the nursery.
  void spawn_elsewhere(std::size_t child) {
    check(nursery.read() == 1, "the nursery is gone while a child lives");
    if (slip == Slip::counts_after_push) {
      push(child);
      word.add(1);
    } else {
      word.add(1);
      push(child);
    }
  }

  // A wake for another reason: an outer scope's cancel, a timer of an earlier wait, nothing at all.
  void wake_for_nothing() {
    if (task.wake(task.look().ticket(), Reason::cancel) == Task::Wake::queue_it) enqueue();
  }

  // An outer cancel walks down to the nursery.
  void cancel_from_outside() {
    std::unique_lock guard(parent, std::defer_lock);
    if (slip != Slip::cancels_without_lock) guard.lock();
    if (!linked) return;
    check(nursery.read() == 1, "an outer cancel reaches a nursery that is gone");
    wake_for_nothing();
  }

  void join() {
    bool parked = false;
    if (!word.none_left(plain)) {
      bool out = word.wait(std::exchange(plain, 0), task.begin_park());
      parked = true;
      while (!out) {
        if (task.leave() == Task::Queue::you) enqueue();  // by the successor, once the stack is left
        while (queued.exchange(0, std::memory_order_acquire) == 0) seam::futex_wait(queued, 0, seam::no_deadline);
        const Reason reason = task.run_on(1);
        check(reason != Reason::none, "woken for no reason");
        parked = false;
        out = word.count() == 0;
        if (out) break;
        check(reason != Reason::child, "woken by the last child while others live");
        out = word.again(task.begin_park());
        parked = true;
      }
    }
    if (parked) {
      // The wait is called off: by the joiner's own claim, or whoever was faster is about to deliver.
      if (task.claim_own(Reason::flag) != Task::Claimed::yes)
        while (!task.delivered()) seam::pause();
      (void)task.stay();
    }
  }

  // The joiner leaves its parent's list, and the nursery is gone.
  void leave() {
    {
      const std::lock_guard guard(parent);
      linked = false;
    }
    nursery.write(0);
  }
  void all_ended(std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i)
      check(results[i]->read() == 1, "left before a child had ended, or it ended twice");
  }

  int plain = 0;  // the joiner's own count
  Task& task;
  typename Kit::CountWord& word;
  Plain<int>& nursery;  // 1 while it lives: everybody but the joiner reads it at each access
  seam::Atomic<std::uint32_t>& queued;
  seam::Mutex& parent;
  bool linked = true;  // guarded by parent
  std::array<seam::Atomic<int>*, 3> pushed{};
  std::array<Plain<int>*, 3> results{};
};

template <class Stage>
void thief(World& world, std::shared_ptr<Stage> stage, std::size_t child) {
  world.thread("thief of " + std::to_string(child), [stage, child] {
    if (stage->take(child)) stage->end(child);
  });
}

// `children` stolen ones, and `wakes` wakes that mean nothing.
template <class Kit, Slip slip, std::size_t children, int wakes>
void all_stolen(World& world) {
  auto stage = std::make_shared<Stage<Kit, slip>>(world);
  for (std::size_t i = 0; i < children; ++i) stage->push(i);
  world.thread("joiner", [stage] {
    stage->plain += static_cast<int>(children);
    stage->join();
    stage->all_ended(0, children);
    stage->leave();
  });
  for (std::size_t i = 0; i < children; ++i) thief(world, stage, i);
  for (int i = 0; i < wakes; ++i) world.thread("waker for nothing", [stage] { stage->wake_for_nothing(); });
}
template <class Kit>
void one_stolen(World& world) {
  all_stolen<Kit, Slip::none, 1, 0>(world);
}
template <class Kit>
void two_stolen(World& world) {
  all_stolen<Kit, Slip::none, 2, 0>(world);
}
template <class Kit>
void woken_for_nothing(World& world) {
  all_stolen<Kit, Slip::none, 1, 1>(world);
}

// The joiner runs what is still at the end of its deque, newest first.
template <class Kit>
void in_place(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  stage->plain = 2;
  for (std::size_t i = 0; i < 2; ++i) stage->push(i);
  world.thread("joiner", [stage] {
    for (std::size_t i = 2; i-- > 0;) {
      if (!stage->take(i)) continue;
      stage->results[i]->write(stage->results[i]->read() + 1);
      --stage->plain;
    }
    stage->join();
    stage->all_ended(0, 2);
    stage->leave();
  });
  world.thread("thief", [stage] {
    for (std::size_t i = 0; i < 2; ++i)
      if (stage->take(i)) stage->end(i);
  });
}

// Child 0 runs elsewhere and spawns child 1, which a third worker runs, or destroys unstarted (a cancel came between):
// it counts down all the same.
template <class Kit, Slip slip, int wakes>
void spawned_elsewhere(World& world) {
  auto stage = std::make_shared<Stage<Kit, slip>>(world);
  stage->push(0);
  world.thread("joiner", [stage] {
    ++stage->plain;
    stage->join();
    stage->all_ended(0, 2);
    stage->leave();
  });
  world.thread("worker of 0", [stage] {
    check(stage->take(0), "nobody else takes it");
    stage->spawn_elsewhere(1);
    stage->end(0);
  });
  world.thread("worker of 1", [stage] {
    while (!stage->take(1)) seam::pause();
    if (slip == Slip::forgets_destroyed)
      stage->results[1]->write(1);
    else
      stage->end(1);
  });
  for (int i = 0; i < wakes; ++i) world.thread("waker for nothing", [stage] { stage->wake_for_nothing(); });
}

// A cancel from an outer scope reaches the joiner while it waits, or comes too late.
template <class Kit, Slip slip>
void outer_cancel(World& world) {
  auto stage = std::make_shared<Stage<Kit, slip>>(world);
  stage->push(0);
  world.thread("joiner", [stage] {
    ++stage->plain;
    stage->join();
    stage->all_ended(0, 1);
    stage->leave();
  });
  thief(world, stage, 0);
  world.thread("outer scope", [stage] { stage->cancel_from_outside(); });
}

// The same memory serves a second round, with a new ticket in the word: a child of the first round that looked at the
// word after its RMW would find it.
template <class Kit>
void two_rounds(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  stage->push(0);
  world.thread("joiner", [stage] {
    ++stage->plain;
    stage->join();
    stage->all_ended(0, 1);
    stage->push(1);
    ++stage->plain;
    stage->join();
    stage->all_ended(1, 1);
    stage->leave();
  });
  world.thread("worker", [stage] {
    check(stage->take(0), "nobody else takes it");
    stage->end(0);
    while (!stage->take(1)) seam::pause();
    stage->end(1);
  });
  world.thread("waker for nothing", [stage] { stage->wake_for_nothing(); });
}

const Register a{
    {.name = "nursery: a stolen child ends while its joiner parks", .run = one_stolen<Real>, .preemptions = 4}};
const Register b{{.name = "nursery: two stolen children, one of them is the last", .run = two_stolen<Real>}};
const Register c{{.name = "nursery: a wake for nothing meets the last child [HA6]",
                  .run = woken_for_nothing<Real>,
                  .preemptions = 3}};
const Register d{{.name = "nursery: a wake for nothing, store buffers", .run = woken_for_nothing<Real>, .delays = 1}};
const Register e{{.name = "nursery: children in place or stolen [HB20]", .run = in_place<Real>, .preemptions = 3}};
const Register f{{.name = "nursery: a child elsewhere spawns another", .run = spawned_elsewhere<Real, Slip::none, 0>}};
const Register g{
    {.name = "nursery: a spawn elsewhere and a wake for nothing", .run = spawned_elsewhere<Real, Slip::none, 1>}};
const Register h{{.name = "nursery: an outer cancel under the parent's lock", .run = outer_cancel<Real, Slip::none>}};
const Register i{{.name = "nursery: two rounds in the same place", .run = two_rounds<Real>}};

const Register m1{{.name = "mutant: nursery looks for the waiter after its RMW",
                   .run = two_rounds<mutants::nursery_two_steps::Kit>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: nursery parks again with the old ticket",
                   .run = woken_for_nothing<mutants::nursery_old_ticket::Kit>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: nursery sets the ticket after the count",
                   .run = one_stolen<mutants::nursery_ticket_late::Kit>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: nursery does not look before it parks again",
                   .run = woken_for_nothing<mutants::nursery_parks_on_zero::Kit>,
                   .fails = Verdict::deadlock}};
const Register m5{{.name = "mutant: nursery child ends relaxed",
                   .run = one_stolen<mutants::nursery_ends_relaxed::Kit>,
                   .fails = Verdict::race}};
const Register m6{{.name = "mutant: nursery caller counts after the push",
                   .run = spawned_elsewhere<Real, Slip::counts_after_push, 0>,
                   .fails = Verdict::assertion}};
const Register m7{{.name = "mutant: nursery caller touches it after finish_one",
                   .run = all_stolen<Real, Slip::touches_after_finish, 1, 0>,
                   .fails = Verdict::race}};
const Register m8{{.name = "mutant: nursery caller cancels without the parent's lock",
                   .run = outer_cancel<Real, Slip::cancels_without_lock>,
                   .fails = Verdict::race}};
const Register m9{{.name = "mutant: nursery caller does not count a destroyed child",
                   .run = spawned_elsewhere<Real, Slip::forgets_destroyed, 0>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify
