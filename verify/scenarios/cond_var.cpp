// SPDX-License-Identifier: MIT
// The condition variable over the mutex of tasks [CND-1..4].
#include <array>
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "waiter.hpp"
#include "weft/detail/cond_core.hpp"
#include "weft/detail/mutex_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::CondRules;

enum class Slip { none, relocks_cancellably };

// The mutex is a lock of the explorer in most scenarios: one step.
template <class Rules>
struct Stage {
  using Task = Waiter<Rules>;
  using Core = typename Rules::template Core<Task>;
  using Wait = typename Rules::template Wait<Task>;

  explicit Stage(World& world)
      : cond(world.make<Core>("cond")),
        mutex(world.make<seam::Mutex>("mutex")),
        full(world.make<Plain<int>>("full", 0)) {
    for (auto& task : tasks) task = &world.make<Task>("task");
  }
  // As CondVar does it; the mutex is held before and after.
  bool wait(std::size_t number) {
    bool done = false;
    {
      Wait wait(cond);
      mutex.unlock();
      done = tasks[number]->wait(wait);
    }
    mutex.lock();
    return done;
  }

  Core& cond;
  seam::Mutex& mutex;
  Plain<int>& full;
  std::array<Task*, 2> tasks{};
};

// One item, brought by who notifies one.
template <class Rules, std::size_t takers, bool stops>
void items(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world);
  for (std::size_t i = 0; i < takers; ++i)
    world.thread("taker " + std::to_string(i), [stage, i] {
      stage->mutex.lock();
      while (stage->full.read() == 0) {
        if (!stage->wait(i)) {
          check(stops && i == 0, "nobody asked it to stop");
          stage->mutex.unlock();
          return;
        }
      }
      stage->full.write(stage->full.read() - 1);
      stage->mutex.unlock();
    });
  // With a canceller one item is enough: the first taker may go without, and then the second must get it.
  world.thread("bringer", [stage] {
    for (std::size_t i = 0; i < takers; ++i) {
      stage->mutex.lock();
      stage->full.write(stage->full.read() + 1);
      stage->mutex.unlock();
      stage->cond.notify_one();
    }
  });
  if (stops) world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
}

// One notification for two who wait, one of whom is asked to stop: somebody comes back notified [B13].
template <class Rules>
void passed_on(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world);
  auto& waiting = world.make<seam::Atomic<int>>("waiting", 0);
  for (std::size_t i = 0; i < 2; ++i)
    world.thread("waiter " + std::to_string(i), [stage, &waiting, i] {
      stage->mutex.lock();
      waiting.fetch_add(1, std::memory_order_relaxed);
      const bool notified = stage->wait(i);
      check(notified || i == 0, "nobody asked it to stop");
      stage->mutex.unlock();
      if (i == 0 && notified) stage->cond.notify_one();  // then the other needs one, too
    });
  world.thread("notifier", [stage, &waiting] {
    for (bool both = false; !both;) {
      stage->mutex.lock();
      both = waiting.load(std::memory_order_relaxed) == 2;
      stage->mutex.unlock();
      if (!both) seam::pause();
    }
    stage->cond.notify_one();
  });
  world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
}

// Notify all ends the waits that have begun, not the next one of the same task [B12].
template <class Rules>
void all(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world);
  auto& calls = world.make<seam::Atomic<int>>("calls", 0);
  auto& waits = world.make<seam::Atomic<int>>("waits", 0);
  for (std::size_t i = 0; i < 2; ++i)
    world.thread("waiter " + std::to_string(i), [stage, &calls, &waits, i] {
      for (int round = 1; round <= (i == 0 ? 2 : 1); ++round) {
        stage->mutex.lock();
        waits.fetch_add(1, std::memory_order_relaxed);
        check(stage->wait(i), "nobody asked it to stop");
        check(calls.load(std::memory_order_relaxed) >= round, "one call ended two waits");
        stage->mutex.unlock();
      }
    });
  world.thread("notifier", [stage, &calls, &waits] {
    for (int round = 1; round <= 2; ++round) {
      for (bool ready = false; !ready;) {
        stage->mutex.lock();
        ready = waits.load(std::memory_order_relaxed) == round + 1;
        if (ready) calls.store(round, std::memory_order_relaxed);
        stage->mutex.unlock();
        if (!ready) seam::pause();
      }
      stage->cond.notify_all();
    }
  });
}

// The lock after the wait is the mutex of tasks, and waits through a cancel [HB10].
struct BothRules : detail::CondRules {};
template <Slip slip>
void relock(World& world) {
  using Task = Waiter<Real>;
  struct Both {
    explicit Both(World& w)
        : cond(w.make<detail::CondCoreOf<Task>>("cond")),
          mutex(w.make<detail::MutexCoreOf<Task>>("mutex")),
          value(w.make<Plain<int>>("value", 0)) {
      for (auto& task : tasks) task = &w.make<Task>("task");
    }
    detail::CondCoreOf<Task>& cond;
    detail::MutexCoreOf<Task>& mutex;
    Plain<int>& value;
    std::array<Task*, 2> tasks{};
  };
  auto both = std::make_shared<Both>(world);
  const auto lock = [](Both& at, std::size_t number) {
    detail::LockWaitOf<Task> wait(at.mutex, at.tasks[number]);
    return at.tasks[number]->wait(wait);
  };
  world.thread("waiter", [both, lock] {
    Task& me = *both->tasks[0];
    if (!lock(*both, 0)) return;
    {
      detail::CondWaitOf<Task> wait(both->cond);
      both->mutex.unlock();
      (void)me.wait(wait);
    }
    if (slip == Slip::none) me.stop.store(0, std::memory_order_relaxed);  // shielded
    (void)lock(*both, 0);
    both->value.write(both->value.read() + 1);  // a race unless it holds the mutex
    both->mutex.unlock();
  });
  world.thread("other", [both, lock] {
    check(lock(*both, 1), "nobody asked it to stop");
    both->value.write(both->value.read() + 1);
    both->mutex.unlock();
    both->cond.notify_one();
  });
  world.thread("canceller", [both] { both->tasks[0]->cancel(); });
}

const Register a{{.name = "cond_var: one waits, one notifies [B1]", .run = items<Real, 1, false>, .preemptions = 3}};
const Register b{{.name = "cond_var: two wait, two notifications", .run = items<Real, 2, false>}};
const Register c{
    {.name = "cond_var: one of two is asked to stop, no item is left lying [B13] [HB10]", .run = items<Real, 2, true>}};
const Register d{{.name = "cond_var: a notification passes from a cancelled waiter to the next [B13]",
                  .run = passed_on<Real>,
                  .preemptions = 1}};
const Register e{
    {.name = "cond_var: notify_all ends what has begun, not the next wait [B12]", .run = all<Real>, .preemptions = 1}};
const Register f{
    {.name = "cond_var: the lock after the wait waits through a cancel [HB10]", .run = relock<Slip::none>}};

const Register m1{{.name = "mutant: cond_var parks though it was marked",
                   .run = items<mutants::cond_parks_marked::Kit::CondRules, 1, false>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: cond_var keeps a notification that it does not use",
                   .run = passed_on<mutants::cond_keeps_notice::Kit::CondRules>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: cond_var stops at a lost claim",
                   .run = passed_on<mutants::cond_stops_at_lost::Kit::CondRules>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: cond_var notifies all in two halves",
                   .run = all<mutants::cond_all_in_halves::Kit::CondRules>,
                   .fails = Verdict::assertion}};
const Register m5{{.name = "mutant: cond_var caller's lock after the wait is ended by a cancel",
                   .run = relock<Slip::relocks_cancellably>,
                   .fails = Verdict::race}};

}  // namespace
}  // namespace weft::inline v0::verify
