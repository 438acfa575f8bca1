// SPDX-License-Identifier: MIT
// unpark() before, while and after its task's wait begins [UNP-1..2].
#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "scenarios/wait_task.hpp"
#include "weft/detail/unpark_latch.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::UnparkRules;

// park_if as src/sched/park_while.hpp has it, on a flag that never changes: only an unpark ends it.
template <class Rules>
struct UnparkTask : WaitTask<Rules> {
  using Latch = typename Rules::Latch;
  using Word = typename Rules::Word;
  using Reason = typename Rules::Reason;

  void park_if() {
    if (!Latch::set(life)) {
      (void)this->word.begin_park();
      seam::fence(std::memory_order_seq_cst);
      if (Latch::set(life)) {
        if (this->word.claim_own(Reason::flag) != Word::Claimed::yes)
          while (!this->word.delivered()) seam::pause();
        (void)this->word.stay();
      } else {
        (void)this->park();
      }
    }
    (void)Latch::clear(life);
  }
  void unpark() {
    Latch::unpark(*this, [this](auto ticket) {
      if (this->word.wake(ticket, Reason::flag) == Word::Wake::queue_it) this->enqueue();
    });
  }

  seam::Atomic<std::uint32_t> life{0};
};

// What was written before the unpark is there after the wait.
template <class Rules>
void meet(World& world) {
  auto& task = world.make<UnparkTask<Rules>>("task");
  auto& data = world.make<Plain<int>>("data", 0);
  world.thread("waits", [&] {
    task.park_if();
    check(data.read() == 1, "let through too early");
  });
  world.thread("unparks", [&] {
    data.write(1);
    task.unpark();
  });
}

// One of them ends one wait, and in a race the next, too; not a third.
template <class Rules>
void once(World& world) {
  auto& task = world.make<UnparkTask<Rules>>("task");
  auto& meant = world.make<seam::Atomic<int>>("meant", 0);
  auto& waited = world.make<seam::Atomic<int>>("waited", 0);
  world.thread("waits three times", [&] {
    for (int i = 0; i < 3; ++i) {
      task.park_if();
      waited.store(i + 1, std::memory_order_relaxed);
    }
    check(meant.load(std::memory_order_relaxed) == 1, "one unpark has ended three waits");
  });
  world.thread("unparks", [&] {
    task.unpark();
    meant.store(1, std::memory_order_relaxed);
    while (waited.load(std::memory_order_relaxed) < 3) {
      task.unpark();
      seam::pause();
    }
  });
}

const Register a{{.name = "unpark: against the wait that it ends [V-040]", .run = meet<Real>, .delays = 1}};
const Register b{{.name = "unpark: one, and three waits [V-043]", .run = once<Real>}};

const Register m1{{.name = "mutant: unpark sets its latch without a fence",
                   .run = meet<mutants::unpark_unfenced::Kit::UnparkRules>,
                   .fails = Verdict::deadlock,
                   .delays = 1}};
const Register m2{{.name = "mutant: unpark leaves no latch",
                   .run = meet<mutants::unpark_forgets::Kit::UnparkRules>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: unpark looks at the task before it sets its latch",
                   .run = meet<mutants::unpark_looks_first::Kit::UnparkRules>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: unpark's latch is never cleared",
                   .run = once<mutants::unpark_stays::Kit::UnparkRules>,
                   .fails = Verdict::assertion}};
const Register m5{{.name = "mutant: unpark's latch publishes nothing",
                   .run = meet<mutants::unpark_relaxed::Kit::UnparkRules>,
                   .fails = Verdict::race}};

}  // namespace
}  // namespace weft::inline v0::verify
