// SPDX-License-Identifier: MIT
// ready() against suspend_raw() [PERMIT-1..2].
#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "permit_task.hpp"
#include "weft/detail/task_permit.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::PermitRules;

// A permit comes before, while or after the wait begins; two givers, or one and a cancel.
template <class Rules, bool twice, bool stops>
void meet(World& world) {
  auto& task = world.make<PermitTask<Rules>>("task");
  auto& data = world.make<Plain<int>>("data", 0);
  auto& number = world.make<seam::Atomic<std::uint32_t>>("number", task.current());
  world.thread("waits", [&] {
    if (task.suspend(number.load(std::memory_order_relaxed))) {
      if (!twice) check(data.read() == 1, "let through too early");
    } else {
      check(stops, "nobody asked it to stop");
    }
  });
  world.thread("gives", [&] {
    if (!twice) data.write(1);
    task.ready(number.load(std::memory_order_relaxed));
  });
  if (twice) world.thread("gives too", [&] { task.ready(number.load(std::memory_order_relaxed)); });
  if (stops) world.thread("canceller", [&] { task.cancel(); });
}

// A token of the first wait does not end the second one.
template <class Rules>
void stale(World& world) {
  auto& task = world.make<PermitTask<Rules>>("task");
  auto& second = world.make<seam::Atomic<std::uint32_t>>("second", 0U);
  auto& meant = world.make<seam::Atomic<int>>("meant", 0);
  auto& first = world.make<seam::Atomic<std::uint32_t>>("first", task.current());
  world.thread("waits twice", [&] {
    check(task.suspend(first.load(std::memory_order_relaxed)), "nobody asked it to stop");
    const std::uint32_t number = task.current();
    second.store(number, std::memory_order_release);
    check(task.suspend(number), "nobody asked it to stop");
    check(meant.load(std::memory_order_relaxed) == 1, "ended by a permit of the wait before");
  });
  world.thread("gives the first twice", [&] {
    task.ready(first.load(std::memory_order_relaxed));
    task.ready(first.load(std::memory_order_relaxed));
  });
  world.thread("gives the second", [&] {
    std::uint32_t number;
    while ((number = second.load(std::memory_order_acquire)) == 0) seam::pause();
    meant.store(1, std::memory_order_relaxed);
    task.ready(number);
  });
}

const Register a{{.name = "permit: ready against suspend [X-007]", .run = meet<Real, false, false>, .delays = 1}};
const Register b{{.name = "permit: two givers, one wait [X-040]", .run = meet<Real, true, false>}};
const Register c{{.name = "permit: a cancel at the same time", .run = meet<Real, false, true>}};
const Register d{{.name = "permit: a token of an earlier wait [X-021]", .run = stale<Real>}};

const Register m1{{.name = "mutant: permit is given without a fence",
                   .run = meet<mutants::permit_unfenced::Kit::PermitRules, false, false>,
                   .fails = Verdict::deadlock,
                   .delays = 1}};
const Register m2{{.name = "mutant: permit is given whatever its number",
                   .run = stale<mutants::permit_any_number::Kit::PermitRules>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: permit wakes nobody",
                   .run = meet<mutants::permit_wakes_nobody::Kit::PermitRules, false, false>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: permit publishes nothing",
                   .run = meet<mutants::permit_relaxed::Kit::PermitRules, false, false>,
                   .fails = Verdict::race}};

}  // namespace
}  // namespace weft::inline v0::verify
