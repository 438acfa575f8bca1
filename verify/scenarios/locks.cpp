// SPDX-License-Identifier: MIT
// The seam's own locks, whose real code no other scenario sees (they use the modelled ones).
#include <mutex>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = seam::mutants;

// [LOCK-1] Each thread goes through the critical section once; Plain<> sees a missing order, the sum a missing
// exclusion.
template <class Lock>
void exclusion(World& world, int threads) {
  auto& lock = world.make<Lock>("lock");
  auto& inside = world.make<Plain<int>>("inside");
  for (int i = 0; i < threads; ++i) {
    world.thread("t" + std::to_string(i), [&] {
      std::lock_guard guard(lock);
      inside.write(inside.read() + 1);
    });
  }
  world.finally([&inside, threads] { check(inside.read() == threads, "two threads were inside at once"); });
}

const Register tas_exclusion{{.name = "locks: the spin lock excludes two threads",
                              .run = [](World& world) { exclusion<seam::TasLock>(world, 2); }}};
const Register tas_three{{.name = "locks: the spin lock excludes three threads",
                          .run = [](World& world) { exclusion<seam::TasLock>(world, 3); }}};
const Register futex_exclusion{{.name = "locks: the futex mutex excludes two threads and loses no wake",
                                .run = [](World& world) { exclusion<seam::FutexMutex>(world, 2); },
                                .preemptions = 3,
                                .spurious = true}};
const Register futex_three{{.name = "locks: the futex mutex excludes three threads and loses no wake",
                            .run = [](World& world) { exclusion<seam::FutexMutex>(world, 3); }}};
const Register model_exclusion{{.name = "locks: the modelled lock excludes three threads",
                                .run = [](World& world) { exclusion<seam::Mutex>(world, 3); }}};

template <class Lock, int threads>
void exclude(World& world) {
  exclusion<Lock>(world, threads);
}

const Register m1{{.name = "mutant: spin lock looks, then takes",
                   .run = exclude<mutants::lock_tas_without_exchange::Kit::TasLock, 2>,
                   .fails = Verdict::race}};
const Register m2{{.name = "mutant: spin lock unlocks relaxed",
                   .run = exclude<mutants::lock_tas_unlocks_relaxed::Kit::TasLock, 2>,
                   .fails = Verdict::race}};
const Register m3{{.name = "mutant: spin lock locks relaxed",
                   .run = exclude<mutants::lock_tas_locks_relaxed::Kit::TasLock, 2>,
                   .fails = Verdict::race}};
const Register m4{{.name = "mutant: futex mutex forgets the other sleepers [B1]",
                   .run = exclude<mutants::lock_futex_forgets_other_sleepers::Kit::FutexMutex, 3>,
                   .fails = Verdict::deadlock}};
const Register m5{{.name = "mutant: futex mutex wakes before it unlocks [B1]",
                   .run = exclude<mutants::lock_futex_wakes_before_unlocking::Kit::FutexMutex, 2>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify
