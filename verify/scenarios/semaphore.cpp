// SPDX-License-Identifier: MIT
// The semaphore [SEM-1..4].
#include <array>
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "waiter.hpp"
#include "weft/detail/semaphore_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::SemaphoreRules;

template <class Rules>
struct Stage {
  using Task = Waiter<Rules>;
  using Core = typename Rules::template Core<Task>;
  using Wait = typename Rules::template Wait<Task>;

  Stage(World& world, std::uint64_t permits)
      : semaphore(world.make<Core>("semaphore", permits)), inside(world.make<seam::Atomic<int>>("inside", 0)) {
    for (auto& task : tasks) task = &world.make<Task>("task");
  }
  bool acquire(std::size_t number, std::uint32_t count) {
    Wait wait(semaphore, count);
    return tasks[number]->wait(wait);
  }

  Core& semaphore;
  seam::Atomic<int>& inside;
  std::array<Task*, 3> tasks{};
};

// One permit, so it is a mutex: what is written under it is seen by the next.
template <class Rules, std::size_t tasks, bool stops>
void exclusive(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world, 1);
  auto& value = world.make<Plain<int>>("value", 0);
  for (std::size_t i = 0; i < tasks; ++i)
    world.thread("task " + std::to_string(i), [stage, &value, i] {
      if (!stage->acquire(i, 1)) {
        check(stops && i == 0, "nobody asked it to stop");
        return;
      }
      value.write(value.read() + 1);
      check(stage->semaphore.release(1), "one was taken");
    });
  if (stops) world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([stage] {
    check(stage->semaphore.permits() == 1 && !stage->semaphore.has_waiters(), "permits are lost, or made");
  });
}

enum class By { cancel, time };

// One needs two, one needs one; two are released one by one. The big one may be asked to stop, or run out of time.
template <class Rules, bool stops, By by = By::cancel>
void sizes(World& world) {
  auto stage = std::make_shared<Stage<Rules>>(world, 0);
  if (by == By::time) stage->tasks[0]->deadline = some_time;
  world.thread("big", [stage] {
    if (stage->acquire(0, 2))
      check(stage->semaphore.release(2), "two were taken");
    else
      check(stops, "nobody asked it to stop");
  });
  world.thread("small", [stage] {
    check(stage->acquire(1, 1), "nobody asked it to stop");
    check(stage->semaphore.release(1), "one was taken");
  });
  world.thread("giver", [stage] {
    (void)stage->semaphore.release(1);
    (void)stage->semaphore.release(stops ? 0 : 1);
  });
  if (stops && by == By::cancel) world.thread("canceller", [stage] { stage->tasks[0]->cancel(); });
  world.finally([stage] {
    check(stage->semaphore.permits() == (stops ? 1 : 2) && !stage->semaphore.has_waiters(),
          "permits are lost, or made");
  });
}

// Every short history can be put in order: at each moment at most as many are inside as there are permits, and a
// try_acquire that fails has overlapped somebody who was inside or waited.
template <class Rules>
void history(World& world) {
  struct Log {
    explicit Log(World& w) : clock(w.make<seam::Atomic<int>>("clock", 0)) {}
    seam::Atomic<int>& clock;
    std::array<std::array<int, 2>, 3> stay{};
    std::array<std::array<int, 2>, 3> span{};
    std::array<bool, 3> had{};
    int now() { return clock.fetch_add(1, std::memory_order_seq_cst); }
  };
  auto stage = std::make_shared<Stage<Rules>>(world, 1);
  auto log = std::make_shared<Log>(world);
  for (std::size_t i = 0; i < 3; ++i)
    world.thread("task " + std::to_string(i), [stage, log, i] {
      log->span[i][0] = log->now();
      log->had[i] = i == 2 ? stage->semaphore.try_acquire(1) : stage->acquire(i, 1);
      if (log->had[i]) {
        log->stay[i][0] = log->now();
        log->stay[i][1] = log->now();
        (void)stage->semaphore.release(1);
      }
      log->span[i][1] = log->now();
    });
  world.finally([stage, log] {
    check(log->had[0] && log->had[1], "an acquire came back without a permit");
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < i; ++k)
        check(!log->had[i] || log->stay[i][1] < log->stay[k][0] || log->stay[k][1] < log->stay[i][0],
              "two had the one permit");
    bool overlapped = false;
    for (std::size_t k = 0; k < 2; ++k)
      overlapped |= log->span[k][0] < log->span[2][1] && log->span[2][0] < log->span[k][1];
    check(log->had[2] || overlapped, "try_acquire failed although nobody was about");
    check(stage->semaphore.permits() == 1 && !stage->semaphore.has_waiters(), "permits are lost, or made");
  });
}

const Register a{
    {.name = "semaphore: two take turns with one permit", .run = exclusive<Real, 2, false>, .preemptions = 3}};
const Register b{{.name = "semaphore: three take turns with one permit", .run = exclusive<Real, 3, false>}};
const Register c{{.name = "semaphore: one of three is asked to stop [B13] [B14]", .run = exclusive<Real, 3, true>}};
const Register d{{.name = "semaphore: one wants two, one wants one", .run = sizes<Real, false>}};
const Register e{
    {.name = "semaphore: who wants two is asked to stop, the other gets the one [HB10]", .run = sizes<Real, true>}};
const Register f{{.name = "semaphore: every short history can be put in order", .run = history<Real>}};
const Register g{{.name = "semaphore: the time of who wants two is up, the other gets the one [B16] [HB10]",
                  .run = sizes<Real, true, By::time>}};

const Register m1{{.name = "mutant: semaphore leaves its list without a look",
                   .run = sizes<mutants::sem_leaves_silently::Kit::SemaphoreRules, true>,
                   .fails = Verdict::deadlock}};
const Register m5{{.name = "mutant: semaphore leaves its list without a look when its time is up",
                   .run = sizes<mutants::sem_leaves_silently::Kit::SemaphoreRules, true, By::time>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: semaphore gives permits to a lost claim",
                   .run = exclusive<mutants::sem_pays_lost_claim::Kit::SemaphoreRules, 3, true>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: semaphore releases without a look at the list",
                   .run = exclusive<mutants::sem_releases_blindly::Kit::SemaphoreRules, 2, false>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: semaphore looks, then takes",
                   .run = history<mutants::sem_looks_then_takes::Kit::SemaphoreRules>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify
