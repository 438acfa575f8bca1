// SPDX-License-Identifier: MIT
// The mutex of tasks [MTX-1..5].
#include <array>
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "waiter.hpp"
#include "weft/detail/mutex_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

using Real = detail::MutexRules;

template <class Rules>
struct Stage {
  using Task = Waiter<Rules>;
  using Core = typename Rules::template Core<Task>;
  using Wait = typename Rules::template Wait<Task>;

  explicit Stage(World& world)
      : mutex(world.make<Core>("mutex")),
        count(world.make<Plain<int>>("count", 0)),
        locked(world.make<seam::Atomic<int>>("locked", 0)) {
    for (auto& task : tasks) task = &world.make<Task>("task");
  }

  bool lock(Task& me) {
    if (mutex.try_lock(&me)) return true;
    Wait wait(mutex, &me);
    return me.wait(wait);
  }
  bool count_once(std::size_t number) {
    if (!lock(*tasks[number])) return false;
    count.write(count.read() + 1);  // a race unless it is alone and sees the one before
    mutex.unlock(tasks[number]);
    locked.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void idle_again() const {
    check(!mutex.is_held() && !mutex.has_waiters(), "something is left in the mutex");
    check(count.read() == locked.load(std::memory_order_relaxed), "an increment is lost");
  }

  Core& mutex;
  Plain<int>& count;
  seam::Atomic<int>& locked;
  std::array<Task*, 3> tasks{};
};

// Each locks and counts `rounds` times.
template <class Rules, std::size_t tasks, int rounds>
void counts(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world);
  for (std::size_t i = 0; i < tasks; ++i)
    world.thread("task " + std::to_string(i), [stage, i] {
      for (int round = 0; round < rounds; ++round) check(stage->count_once(i), "nobody asked it to stop");
    });
  world.finally([stage] { stage->idle_again(); });
}

enum class By { cancel, time };

// One of those who want it is asked to stop, or its time is up.
template <class Rules, std::size_t tasks, int rounds, By by = By::cancel>
void cancelled(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world);
  if (by == By::time) stage->tasks[1]->deadline = some_time;
  for (std::size_t i = 0; i < tasks; ++i)
    world.thread("task " + std::to_string(i), [stage, i] {
      for (int round = 0; round < (i == 0 ? rounds : 1); ++round)
        check(stage->count_once(i) || i == 1, "nobody asked it to stop");
    });
  if (by == By::cancel) world.thread("canceller", [stage] { stage->tasks[1]->cancel(); });
  world.finally([stage] { stage->idle_again(); });
}

// A holder frees it while two are parked; a runner barges in and out; the woken one is asked to stop [HB10].
template <class Rules>
void barged(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world);
  check(stage->mutex.try_lock(stage->tasks[0]), "it is free");
  for (std::size_t i = 1; i < 3; ++i)
    world.thread("waiter " + std::to_string(i),
                 [stage, i] { check(stage->count_once(i) || i == 1, "it must get it"); });
  world.thread("runner", [stage] {
    stage->mutex.unlock();
    stage->tasks[1]->cancel();
    if (stage->mutex.try_lock(stage->tasks[0])) stage->mutex.unlock();
  });
  world.finally([stage] { stage->idle_again(); });
}

// Two locks and an unlock each, recorded with the moments at which they began and ended; a history is right if it can
// be put into an order in which each lock finds it free. With one holder at a time that is: no two stays overlap, and
// a try_lock that fails overlaps a stay.
template <class Rules>
void history(World& world) {
  struct Log {
    explicit Log(World& w) : clock(w.make<seam::Atomic<int>>("clock", 0)) {}
    seam::Atomic<int>& clock;
    std::array<std::array<int, 2>, 3> stay{};  // from after lock to before unlock
    std::array<std::array<int, 2>, 3> span{};  // from before lock to after unlock
    std::array<bool, 3> had{};
    int now() { return clock.fetch_add(1, std::memory_order_seq_cst); }
  };
  auto stage = std::make_shared<Stage<Rules>>(world);
  auto log = std::make_shared<Log>(world);
  for (std::size_t i = 0; i < 3; ++i)
    world.thread("task " + std::to_string(i), [stage, log, i] {
      log->span[i][0] = log->now();
      log->had[i] = i == 2 ? stage->mutex.try_lock(stage->tasks[i]) : stage->lock(*stage->tasks[i]);
      if (log->had[i]) {
        log->stay[i][0] = log->now();
        log->stay[i][1] = log->now();
        stage->mutex.unlock();
      }
      log->span[i][1] = log->now();
    });
  world.finally([stage, log] {
    check(log->had[0] && log->had[1], "a lock came back without it");
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < i; ++k)
        check(!log->had[i] || log->stay[i][1] < log->stay[k][0] || log->stay[k][1] < log->stay[i][0],
              "two were inside at once");
    const bool overlapped = (log->span[0][0] < log->span[2][1] && log->span[2][0] < log->span[0][1]) ||
                            (log->span[1][0] < log->span[2][1] && log->span[2][0] < log->span[1][1]);
    check(log->had[2] || overlapped, "try_lock failed although nobody was about");
    check(!stage->mutex.is_held() && !stage->mutex.has_waiters(), "something is left in the mutex");
  });
}

const Register a{{.name = "mutex: two lock and unlock, twice each [LOCK-1]", .run = counts<Real, 2, 2>}};
const Register b{{.name = "mutex: three lock and unlock", .run = counts<Real, 3, 1>}};
const Register c{
    {.name = "mutex: a waiter is asked to stop beside a runner [B13] [B14]", .run = cancelled<Real, 2, 2>}};
const Register d{{.name = "mutex: a waiter of two is asked to stop [B13]", .run = cancelled<Real, 3, 1>}};
const Register e{{.name = "mutex: barging, and the woken one is asked to stop [HB10] [B13]", .run = barged<Real>}};
const Register f{{.name = "mutex: every short history can be put in order", .run = history<Real>}};
const Register g{
    {.name = "mutex: two lock and unlock, store buffers [LOCK-1]", .run = counts<Real, 2, 1>, .delays = 1}};
const Register h{
    {.name = "mutex: the time of one of two waiters is up [B16] [B13]", .run = cancelled<Real, 3, 1, By::time>}};

const Register m1{{.name = "mutant: mutex keeps a wake that it cannot use",
                   .run = barged<mutants::mutex_keeps_wake::Kit::MutexRules>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: mutex unlocks without looking for waiters",
                   .run = counts<mutants::mutex_unlocks_blindly::Kit::MutexRules, 2, 2>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: mutex parks beside a free mutex",
                   .run = counts<mutants::mutex_parks_unlooked::Kit::MutexRules, 2, 1>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: mutex is locked relaxed",
                   .run = counts<mutants::mutex_locks_relaxed::Kit::MutexRules, 2, 1>,
                   .fails = Verdict::race}};
const Register m5{{.name = "mutant: mutex hands over what it also frees",
                   .run = counts<mutants::mutex_hands_over_free::Kit::MutexRules, 3, 2>,
                   .fails = Verdict::race}};
const Register m6{{.name = "mutant: mutex forgets those behind the one that leaves",
                   .run = cancelled<mutants::mutex_leaves_queued_off::Kit::MutexRules, 3, 1>,
                   .fails = Verdict::deadlock}};
const Register m9{{.name = "mutant: mutex forgets those behind the one whose time is up",
                   .run = cancelled<mutants::mutex_leaves_queued_off::Kit::MutexRules, 3, 1, By::time>,
                   .fails = Verdict::deadlock}};
const Register m7{{.name = "mutant: mutex comes back and keeps WOKEN",
                   .run = counts<mutants::mutex_woken_stays::Kit::MutexRules, 2, 2>,
                   .fails = Verdict::deadlock}};
const Register m8{{.name = "mutant: mutex guesses that nobody has to be woken [MTX-6]",
                   .run = counts<mutants::mutex_guesses_queued::Kit::MutexRules, 3, 1>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify
