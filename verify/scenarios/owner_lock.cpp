// SPDX-License-Identifier: MIT
// The owner against others [OWN-1..4].
#include "sched/owner_lock.hpp"

#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using OwnerLock = detail::OwnerLock;
};

template <class Kit>
struct Stage {
  explicit Stage(World& world)
      : lock(world.make<typename Kit::OwnerLock>("lock")), guarded(world.make<Plain<int>>("guarded")) {}

  void as_owner() {
    lock.lock_owner();
    guarded.write(guarded.read() + 1);
    lock.unlock_owner();
  }
  void as_other() {
    lock.lock_other();
    guarded.write(guarded.read() + 1);
    lock.unlock_other();
  }

  typename Kit::OwnerLock& lock;
  Plain<int>& guarded;
};

template <class Kit, int others>
void meet(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  world.thread("owner", [stage] {
    stage->as_owner();
    stage->as_owner();
  });
  for (int i = 0; i < others; ++i) world.thread("other " + std::to_string(i), [stage] { stage->as_other(); });
  world.finally([stage] { check(stage->guarded.read() == 2 + others, "an increment is lost"); });
}

// Who only tries gets it or does not, and harms nobody.
template <class Kit>
void tries(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  auto& got = world.make<seam::Atomic<int>>("got", 0);
  world.thread("owner", [stage] {
    stage->as_owner();
    stage->as_owner();
  });
  world.thread("other", [stage] { stage->as_other(); });
  world.thread("trier", [stage, &got] {
    if (!stage->lock.try_lock_other()) return;
    stage->guarded.write(stage->guarded.read() + 1);
    got.store(1, std::memory_order_relaxed);
    stage->lock.unlock_other();
  });
  world.finally([stage, &got] {
    check(stage->guarded.read() == 3 + got.load(), "an increment is lost");
    check(stage->lock.try_lock_other(), "nobody holds it, yet it cannot be had");
  });
}

// An owner that does not wait goes back, and is in nobody's way.
template <class Kit>
void owner_tries(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  auto& got = world.make<seam::Atomic<int>>("got", 0);
  world.thread("owner", [stage, &got] {
    if (!stage->lock.try_lock_owner_free()) return;
    stage->guarded.write(stage->guarded.read() + 1);
    got.store(1, std::memory_order_relaxed);
    stage->lock.unlock_owner();
  });
  world.thread("other", [stage] { stage->as_other(); });
  world.finally([stage, &got] { check(stage->guarded.read() == 1 + got.load(), "an increment is lost"); });
}

// The worker moves to another OS thread: the new owner comes after the old one, ordered by whoever hands it on.
template <class Kit>
void handed_on(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  auto& handed = world.make<seam::Atomic<std::uint32_t>>("handed", 0U);
  world.thread("first owner", [stage, &handed] {
    stage->as_owner();
    handed.store(1, std::memory_order_release);
    seam::futex_wake(handed, 1);
  });
  world.thread("second owner", [stage, &handed] {
    while (handed.load(std::memory_order_acquire) == 0) seam::futex_wait(handed, 0, seam::no_deadline);
    stage->as_owner();
  });
  world.thread("other", [stage] { stage->as_other(); });
  world.finally([stage] { check(stage->guarded.read() == 3, "an increment is lost"); });
}

const Register a{
    {.name = "owner lock: the owner twice against one other", .run = meet<Real, 1>, .preemptions = 3, .delays = 1}};
const Register b{{.name = "owner lock: the owner against two others", .run = meet<Real, 2>}};
const Register c{{.name = "owner lock: asymmetric fences and store buffers",
                  .run = meet<Real, 1>,
                  .preemptions = 3,
                  .delays = 2,
                  .asymmetric = true}};
const Register d{{.name = "owner lock: one tries while another waits", .run = tries<Real>, .delays = 1}};
const Register e{{.name = "owner lock: handed on to another thread", .run = handed_on<Real>, .delays = 1}};
const Register f{{.name = "owner lock: an owner that tries first",
                  .run = owner_tries<Real>,
                  .preemptions = 3,
                  .delays = 2,
                  .asymmetric = true}};

const Register m1{{.name = "mutant: owner lock without the owner's fence",
                   .run = meet<mutants::owner_lock_without_light_fence::Kit, 1>,
                   .fails = Verdict::race,
                   .delays = 1}};
const Register m2{{.name = "mutant: owner lock without the other's fence",
                   .run = meet<mutants::owner_lock_without_heavy_fence::Kit, 1>,
                   .fails = Verdict::race,
                   .delays = 2,
                   .asymmetric = true}};
const Register m3{{.name = "mutant: owner lock waits with its flag up",
                   .run = meet<mutants::owner_lock_waits_busy::Kit, 1>,
                   .fails = Verdict::livelock}};
const Register m4{{.name = "mutant: owner lock left relaxed by the owner",
                   .run = meet<mutants::owner_lock_left_relaxed::Kit, 1>,
                   .fails = Verdict::race}};
const Register m5{{.name = "mutant: owner lock left relaxed by an other",
                   .run = meet<mutants::owner_lock_other_leaves_relaxed::Kit, 1>,
                   .fails = Verdict::race}};
const Register m6{{.name = "mutant: owner lock taken by a try without a second look",
                   .run = tries<mutants::owner_lock_try_trusts::Kit>,
                   .fails = Verdict::race}};
const Register m7{{.name = "mutant: owner lock tried by the owner without a look",
                   .run = owner_tries<mutants::owner_lock_owner_trusts::Kit>,
                   .fails = Verdict::race,
                   .delays = 2,
                   .asymmetric = true}};
const Register m8{{.name = "mutant: owner lock tried by the owner with its flag left up",
                   .run = owner_tries<mutants::owner_lock_try_keeps_flag::Kit>,
                   .fails = Verdict::livelock,
                   .delays = 2,
                   .asymmetric = true}};

}  // namespace
}  // namespace weft::inline v0::verify
