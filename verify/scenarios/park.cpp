// SPDX-License-Identifier: MIT
// Parking and waking over the real task word [PARK-1..5]; the model is the design's park model with the same mistakes.
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/task_word.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using TaskWord = detail::TaskWord;
  using WakeReason = detail::WakeReason;
  using Ticket = detail::Ticket;
};

// A task that waits `waits` times on an object with a lock and one node. Its stack is `stack`: running it is a write.
// After a park a successor commits; whoever queues it hands it to a runner, which is the same logical thread again.
template <class Kit>
struct Stage {
  using Ticket = typename Kit::Ticket;
  using Reason = typename Kit::WakeReason;

  explicit Stage(World& world)
      : word(world.make<typename Kit::TaskWord>("word")),
        stack(world.make<Plain<int>>("stack")),
        slot(world.make<Plain<int>>("slot")),
        lock(world.make<seam::Mutex>("object")),
        queued(world.make<seam::Atomic<std::uint32_t>>("queued", 0U)),
        flag(world.make<seam::Atomic<int>>("flag", 0)) {
    word.make_fresh();
    (void)word.run_on(1);
  }

  void enqueue() {
    check(word.look().left(), "queued before its stack was left");
    word.make_runnable();
    check(queued.exchange(1, std::memory_order_release) == 0, "queued twice");
    seam::futex_wake(queued, 1);
  }

  // One wait; returns why it ended.
  Reason wait(int number) {
    slot.write(0);
    Ticket ticket;
    {
      std::lock_guard guard(lock);
      ticket = word.begin_park();
      node = ticket;
      published = true;
    }
    seam::light_fence();
    Reason reason = Reason::none;
    if (flag.load(std::memory_order_relaxed) != 0 && word.claim_own(Reason::cancel) == Kit::TaskWord::Claimed::yes) {
      reason = word.stay();
    } else {
      stack.write(number);                                       // the last instructions on the stack
      if (word.leave() == Kit::TaskWord::Queue::you) enqueue();  // by the successor, once the stack is left
      while (queued.exchange(0, std::memory_order_acquire) == 0) seam::futex_wait(queued, 0, seam::no_deadline);
      reason = word.run_on(2);
      stack.write(number + 100);  // running again, maybe elsewhere
    }
    if (reason == Reason::data) check(slot.read() != 0, "woken with data that is not there");
    check(reason != Reason::none, "woken for no reason");
    std::lock_guard guard(lock);
    published = false;
    return reason;
  }

  bool send(int number) {
    Ticket ticket;
    {
      std::lock_guard guard(lock);
      if (!published) return false;
      ticket = node;
      if (word.claim(ticket, Reason::data) != Kit::TaskWord::Claimed::yes) return false;
      published = false;
      slot.write(number);
    }
    if (word.deliver() == Kit::TaskWord::Queue::you) enqueue();
    return true;
  }

  void cancel() {
    flag.store(1, std::memory_order_relaxed);
    seam::heavy_fence();
    const auto ticket = word.look().ticket();
    if (word.wake(ticket, Reason::cancel) == Kit::TaskWord::Wake::queue_it) enqueue();
  }

  typename Kit::TaskWord& word;
  Plain<int>& stack;
  Plain<int>& slot;
  seam::Mutex& lock;
  seam::Atomic<std::uint32_t>& queued;
  seam::Atomic<int>& flag;
  Ticket node{};           // guarded by lock
  bool published = false;  // guarded by lock
};

template <class Kit>
void one_wait(World& world, bool with_data, int cancellers) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  world.thread("task", [stage] { (void)stage->wait(1); });
  if (with_data)
    world.thread("sender", [stage] {
      while (!stage->send(1)) {
        if (stage->flag.load(std::memory_order_relaxed) != 0) return;
        seam::pause();
      }
    });
  for (int i = 0; i < cancellers; ++i) world.thread("canceller " + std::to_string(i), [stage] { stage->cancel(); });
}

// The second wait must not feel a wake of the first [PARK-3] [PARK-4].
template <class Kit>
void two_waits(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  world.thread("task", [stage] {
    (void)stage->wait(1);
    (void)stage->wait(2);
  });
  world.thread("sender", [stage] {
    int number = 1;
    while (number <= 2) {
      if (stage->flag.load(std::memory_order_relaxed) != 0) return;
      if (stage->send(number))
        ++number;
      else
        seam::pause();
    }
  });
  world.thread("canceller", [stage] { stage->cancel(); });
}

// A timer of the first wait fires late: it must not end the second [PARK-3].
template <class Kit>
void late_timer(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  auto& done = world.make<seam::Atomic<int>>("done", 0);
  world.thread("task", [stage, &done] {
    (void)stage->wait(1);
    check(stage->wait(2) != Stage<Kit>::Reason::timeout, "the second wait ended by the timer of the first");
    done.store(1, std::memory_order_release);
  });
  world.thread("sender", [stage, &done] {
    while (done.load(std::memory_order_acquire) == 0)
      if (!stage->send(1)) seam::pause();
  });
  world.thread("timer", [stage] {
    if (stage->word.wake(typename Kit::Ticket{1}, Stage<Kit>::Reason::timeout) == Kit::TaskWord::Wake::queue_it)
      stage->enqueue();
  });
}

template <class Kit>
void data_alone(World& world) {
  one_wait<Kit>(world, true, 0);
}
template <class Kit>
void data_or_cancel(World& world) {
  one_wait<Kit>(world, true, 1);
}
template <class Kit>
void two_cancellers(World& world) {
  one_wait<Kit>(world, false, 2);
}

const Register a{{.name = "park: a value meets a parker [B1] [B4] [V-046] [W-043] [HA2.3]",
                  .run = data_alone<Real>,
                  .preemptions = 3}};
const Register b{
    {.name = "park: a value and a cancel meet a parker [B3] [B14] [V-046] [HA2.2]", .run = data_or_cancel<Real>}};
const Register c{{.name = "park: two cancellers meet a parker [B3]", .run = two_cancellers<Real>, .preemptions = 3}};
const Register d{{.name = "park: a flag and no list, asymmetric fences and store buffers [B1] [B46] [HA2.6]",
                  .run = two_cancellers<Real>,
                  .delays = 2,
                  .asymmetric = true}};
const Register e{{.name = "park: a wake of the first wait is lost on the second [B6]", .run = two_waits<Real>}};

const Register f{{.name = "park: a timer of the first wait fires late [B6] [B16]", .run = late_timer<Real>}};

const Register m1{{.name = "mutant: park queues a parker that has not left [W-027]",
                   .run = data_alone<mutants::park_queues_without_left::Kit>,
                   .fails = Verdict::assertion}};
const Register m2{{.name = "mutant: park commits without a look at DELIVERED [V-046]",
                   .run = data_alone<mutants::park_commit_ignores_delivered::Kit>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: park claims whatever the ticket",
                   .run = late_timer<mutants::park_ignores_ticket::Kit>,
                   .fails = Verdict::assertion}};
const Register m4{{.name = "mutant: park claims twice",
                   .run = data_or_cancel<mutants::park_claims_twice::Kit>,
                   .fails = Verdict::assertion}};
const Register m5{{.name = "mutant: park delivers relaxed",
                   .run = data_alone<mutants::park_delivers_relaxed::Kit>,
                   .fails = Verdict::race}};

}  // namespace
}  // namespace weft::inline v0::verify
