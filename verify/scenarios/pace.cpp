// SPDX-License-Identifier: MIT
// A sysmon that slows down against who arms a timer or finds work just then [SYSM-1].
#include "sched/pace.hpp"

#include <memory>

#include "explorer/registry.hpp"
#include "mutants.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using Pace = detail::Pace;
  using SysmonPace = detail::SysmonPace;
};

enum class Slip { none, hears_late };

template <class Kit, Slip slip = Slip::none>
struct Stage {
  using Step = typename Kit::SysmonPace;
  explicit Stage(World& world)
      : pace(world.make<seam::Atomic<Step>>("pace", Step::fast)),
        bell(world.make<seam::Atomic<std::uint32_t>>("bell", 0U)),
        active(world.make<seam::Atomic<std::uint32_t>>("active", 0U)),
        timers(world.make<seam::Atomic<std::uint32_t>>("timers", 0U)) {}

  typename Kit::Pace::Rest plan() {
    if (timers.load(std::memory_order_relaxed) != 0) return {Step::fast, 0};
    if (active.load(std::memory_order_relaxed) != 0) return {Step::slow, seam::no_deadline};
    return {Step::asleep, seam::no_deadline};
  }
  // Until it has seen what is to be seen. Without the handshake it sleeps for ever; the real one, in the slow pace, for
  // longer than it should. Work needs no more than that it is not asleep.
  void sysmon(seam::Atomic<std::uint32_t>& awaited) {
    for (;;) {
      std::uint32_t heard = slip == Slip::hears_late ? 0 : bell.load(std::memory_order_acquire);
      if (awaited.load(std::memory_order_acquire) != 0) return;
      const auto rest = Kit::Pace::settle(pace, [this] { return plan(); });
      if (&awaited == &active && rest.pace != Step::asleep) return;
      if (slip == Slip::hears_late) heard = bell.load(std::memory_order_acquire);
      if (rest.until > 0) (void)seam::futex_wait(bell, heard, rest.until);
      Kit::Pace::back(pace);
    }
  }
  void ring() {
    bell.fetch_add(1, std::memory_order_release);
    seam::futex_wake(bell, 1);
  }
  // arm_timer
  void arm() {
    timers.store(1, std::memory_order_relaxed);
    if (Kit::Pace::too_slow(pace, Step::slow)) ring();
  }
  // leave_search
  void find() {
    active.store(1, std::memory_order_relaxed);
    if (Kit::Pace::too_slow(pace, Step::asleep)) ring();
  }

  seam::Atomic<Step>& pace;
  seam::Atomic<std::uint32_t>& bell;
  seam::Atomic<std::uint32_t>& active;
  seam::Atomic<std::uint32_t>& timers;
};

// The worker was active, so sysmon was slow: a timer.
template <class Kit, Slip slip = Slip::none>
void arms(World& world) {
  auto stage = std::make_shared<Stage<Kit, slip>>(world);
  stage->active.store(1);
  world.thread("sysmon", [stage] { stage->sysmon(stage->timers); });
  world.thread("worker", [stage] { stage->arm(); });
}

// Everybody slept: work is found, then a timer armed.
template <class Kit>
void wakes(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  world.thread("sysmon", [stage] { stage->sysmon(stage->timers); });
  world.thread("worker", [stage] {
    stage->find();
    stage->arm();
  });
}

// Work alone wakes a sysmon that is asleep.
template <class Kit>
void finds(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  world.thread("sysmon", [stage] { stage->sysmon(stage->active); });
  world.thread("worker", [stage] { stage->find(); });
}

const Register a{{.name = "pace: a timer that is armed while sysmon slows down is seen [SYSM-1]",
                  .run = arms<Real>,
                  .preemptions = 4}};
const Register b{{.name = "pace: a timer, store buffers", .run = arms<Real>, .delays = 1}};
const Register c{
    {.name = "pace: a timer, membarrier, store buffers", .run = arms<Real>, .delays = 1, .asymmetric = true}};
const Register d{{.name = "pace: work and a timer while sysmon falls asleep are seen [SYSM-1]",
                  .run = wakes<Real>,
                  .preemptions = 3}};
const Register e{{.name = "pace: work while sysmon falls asleep, membarrier, store buffers",
                  .run = finds<Real>,
                  .delays = 1,
                  .asymmetric = true}};

const Register m1{{.name = "mutant: pace is said without a second look",
                   .run = arms<mutants::pace_one_look::Kit>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: pace is said without a fence",
                   .run = arms<mutants::pace_said_without_fence::Kit>,
                   .fails = Verdict::deadlock,
                   .delays = 1}};
const Register m3{{.name = "mutant: pace is read without a fence",
                   .run = arms<mutants::pace_read_without_fence::Kit>,
                   .fails = Verdict::deadlock,
                   .delays = 1}};
const Register m4{{.name = "mutant: pace of a timer rings only who is asleep",
                   .run = arms<mutants::pace_rings_sleepers_only::Kit>,
                   .fails = Verdict::deadlock}};
const Register m5{{.name = "mutant: pace caller reads the bell after its look",
                   .run = arms<Real, Slip::hears_late>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify
