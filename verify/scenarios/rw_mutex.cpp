// SPDX-License-Identifier: MIT
// Readers and writers [RWM-1..3].
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "waiter.hpp"
#include "weft/detail/rw_mutex_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::RwMutexRules;

template <class Rules>
struct Stage {
  using Task = Waiter<Rules>;
  using Core = typename Rules::template Core<Task>;
  using Wait = typename Rules::template Wait<Task>;
  using Side = typename Rules::Side;

  explicit Stage(World& world)
      : mutex(world.make<Core>("mutex")),
        value(world.make<Plain<int>>("value", 0)),
        written(world.make<seam::Atomic<int>>("written", 0)) {
    for (auto& task : tasks) task = &world.make<Task>("task");
  }
  bool take(std::size_t number, Side side) {
    Wait wait(mutex, side);
    return tasks[number]->wait(wait);
  }
  bool write(std::size_t number) {
    if (!take(number, Side::write)) return false;
    value.write(value.read() + 1);  // a race unless it is alone
    mutex.unlock();
    written.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  bool read(std::size_t number) {
    if (!take(number, Side::read)) return false;
    (void)value.read();
    mutex.unlock_shared();
    return true;
  }
  void idle_again() const {
    check(!mutex.is_written() && mutex.readers() == 0 && !mutex.has_waiters(), "something is left in the mutex");
    check(value.read() == written.load(std::memory_order_relaxed), "a write is lost");
  }

  Core& mutex;
  Plain<int>& value;
  seam::Atomic<int>& written;
  std::array<Task*, 3> tasks{};
};

// 'w' and 'r': what each does, once.
template <class Rules>
void meet(World& world, const std::string& roles, int stopped) {
  auto stage = std::make_shared<Stage<Rules>>(world);
  for (std::size_t i = 0; i < roles.size(); ++i)
    world.thread(std::string(1, roles[i]) + std::to_string(i), [stage, i, role = roles[i], stopped] {
      const bool had = role == 'w' ? stage->write(i) : stage->read(i);
      check(had || static_cast<int>(i) == stopped, "nobody asked it to stop");
    });
  if (stopped >= 0)
    world.thread("canceller", [stage, stopped] { stage->tasks[static_cast<std::size_t>(stopped)]->cancel(); });
  world.finally([stage] { stage->idle_again(); });
}
template <class Rules>
void writers(World& world) {
  meet<Rules>(world, "ww", -1);
}
template <class Rules>
void mixed(World& world) {
  meet<Rules>(world, "rwr", -1);
}
template <class Rules>
void writer_stopped(World& world) {
  meet<Rules>(world, "rwr", 1);
}
template <class Rules>
void reader_stopped(World& world) {
  meet<Rules>(world, "wrw", 1);
}

// One reads and waits inside for another reader, who stands behind a writer that is asked to stop [HB10].
template <class Rules>
void behind(World& world) {
  using Side = typename Rules::Side;
  auto stage = std::make_shared<Stage<Rules>>(world);
  auto& second_in = world.make<seam::Atomic<std::uint32_t>>("second is in", 0U);
  check(stage->mutex.try_lock_shared(), "it is free");
  world.thread("writer", [stage] { (void)stage->write(1); });
  world.thread("canceller", [stage] { stage->tasks[1]->cancel(); });
  world.thread("second reader", [stage, &second_in] {
    check(stage->take(2, Side::read), "nobody asked it to stop");
    second_in.store(1, std::memory_order_release);
    seam::futex_wake(second_in, 1);
    stage->mutex.unlock_shared();
  });
  world.thread("first reader", [stage, &second_in] {
    while (second_in.load(std::memory_order_acquire) == 0) seam::futex_wait(second_in, 0, seam::no_deadline);
    stage->mutex.unlock_shared();
  });
  world.finally([stage] { stage->idle_again(); });
}

const Register a{{.name = "rw_mutex: two writers [LOCK-1]", .run = writers<Real>, .preemptions = 3}};
const Register b{{.name = "rw_mutex: a writer between two readers", .run = mixed<Real>}};
const Register c{
    {.name = "rw_mutex: the writer between two readers is asked to stop [HB10] [B13]", .run = writer_stopped<Real>}};
const Register d{
    {.name = "rw_mutex: the reader between two writers is asked to stop [B13]", .run = reader_stopped<Real>}};
const Register e{{.name = "rw_mutex: a reader behind a cancelled writer goes in [HB10]", .run = behind<Real>}};

const Register m1{{.name = "mutant: rw_mutex leaves its list without a look",
                   .run = behind<mutants::rw_leaves_silently::Kit::RwMutexRules>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: rw_mutex lets a writer in beside readers",
                   .run = mixed<mutants::rw_writer_beside::Kit::RwMutexRules>,
                   .fails = Verdict::race}};
const Register m3{{.name = "mutant: rw_mutex counts a reader whose claim was lost",
                   .run = reader_stopped<mutants::rw_counts_lost_claim::Kit::RwMutexRules>,
                   .fails = Verdict::assertion}};
const Register m4{{.name = "mutant: rw_mutex's last reader leaves without a look",
                   .run = mixed<mutants::rw_last_reader_silent::Kit::RwMutexRules>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify
