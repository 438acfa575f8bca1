// SPDX-License-Identifier: MIT
// The memory orders of docs/memory-orders.md, one by one: what each publishes is a plain word here, and whoever weakens
// one makes a race of it.
#include <memory>

#include "base/inbox.hpp"
#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/task_word.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct RealWord {
  using TaskWord = detail::TaskWord;
  using WakeReason = detail::WakeReason;
  using Ticket = detail::Ticket;
};
struct RealQueue {
  using Inbox = detail::Inbox;
  using Entry = detail::Entry;
  using QueueLink = detail::QueueLink;
};

template <class Word, class Queue>
struct Stage {
  using TaskWord = typename Word::TaskWord;
  using Ticket = typename Word::Ticket;
  using Reason = typename Word::WakeReason;
  using Entry = typename Queue::Entry;
  struct Task : Queue::QueueLink {};

  explicit Stage(World& world)
      : word(world.make<TaskWord>("word")),
        inbox(world.make<typename Queue::Inbox>("inbox")),
        task(world.make<Task>("task")),
        block(world.make<Plain<int>>("wait block", 0)),
        stack(world.make<Plain<int>>("stack", 0)),
        value(world.make<Plain<int>>("value", 0)),
        core(world.make<Plain<int>>("core", 0)) {
    word.make_fresh();
    (void)word.run_on(1);
  }

  // The task, up to the last instruction on its stack.
  void begin() {
    block.write(1);
    (void)word.begin_park();
    stack.write(1);
  }
  void enqueue() {
    word.make_runnable();
    (void)inbox.push(Entry(&task, 0));
  }
  void dequeue() {
    while (!inbox.pop()) seam::pause();
    core.write(1);  // what it runs on
    (void)word.run_on(2);
    stack.write(2);
  }

  TaskWord& word;
  typename Queue::Inbox& inbox;
  Task& task;
  Plain<int>& block;
  Plain<int>& stack;
  Plain<int>& value;
  Plain<int>& core;
};

// A waker brings a value; the task goes through a run queue; somebody looks on.
template <class Word, class Queue>
void through_the_queue(World& world) {
  using Stage = Stage<Word, Queue>;
  auto stage = std::make_shared<Stage>(world);
  world.thread("task", [stage] {
    stage->begin();
    if (stage->word.leave() == Stage::TaskWord::Queue::you) stage->enqueue();
    stage->dequeue();
    check(stage->value.read() == 1, "woken without its value");
  });
  world.thread("waker", [stage] {
    while (stage->word.claim(typename Stage::Ticket{1}, Stage::Reason::data) != Stage::TaskWord::Claimed::yes)
      seam::pause();
    check(stage->block.read() == 1, "the wait block is not there");
    stage->value.write(1);
    if (stage->word.deliver() == Stage::TaskWord::Queue::you) stage->enqueue();
  });
}

// Who sees it running sees on what it runs.
template <class Word>
void looked_at(World& world) {
  using Stage = Stage<Word, RealQueue>;
  auto stage = std::make_shared<Stage>(world);
  world.thread("task", [stage] {
    stage->begin();
    if (stage->word.leave() == Stage::TaskWord::Queue::you) stage->enqueue();
    stage->dequeue();
  });
  world.thread("waker", [stage] {
    typename Stage::TaskWord::Wake wake;
    while ((wake = stage->word.wake(typename Stage::Ticket{1}, Stage::Reason::flag)) == Stage::TaskWord::Wake::lost)
      seam::pause();
    if (wake == Stage::TaskWord::Wake::queue_it) stage->enqueue();
  });
  world.thread("looker", [stage] {
    if (stage->word.look().owner() == 2) check(stage->core.read() == 1, "it runs, and nobody knows where");
  });
}

// Who delivers second owns the stack; who leaves second finds what was brought.
template <class Word>
void second_goes_on(World& world) {
  using Stage = Stage<Word, RealQueue>;
  auto stage = std::make_shared<Stage>(world);
  world.thread("task", [stage] {
    stage->begin();
    if (stage->word.leave() != Stage::TaskWord::Queue::you) return;
    stage->word.make_runnable();
    (void)stage->word.run_on(2);
    check(stage->value.read() == 1, "woken without its value");
  });
  world.thread("waker", [stage] {
    while (stage->word.claim(typename Stage::Ticket{1}, Stage::Reason::data) != Stage::TaskWord::Claimed::yes)
      seam::pause();
    stage->value.write(1);
    if (stage->word.deliver() != Stage::TaskWord::Queue::you) return;
    stage->word.make_runnable();
    (void)stage->word.run_on(3);
    stage->stack.write(3);
  });
}

// A wake that finds PARKING is the latch: the parker sees it before it leaves, with what the waker wrote before.
template <class Word>
void latch(World& world) {
  using Stage = Stage<Word, RealQueue>;
  auto stage = std::make_shared<Stage>(world);
  world.thread("task", [stage] {
    stage->begin();
    while (!stage->word.delivered()) seam::pause();
    check(stage->word.stay() == Stage::Reason::flag, "woken for another reason");
    check(stage->value.read() == 1, "the latch came before what it tells");
  });
  world.thread("waker", [stage] {
    stage->value.write(1);
    while (stage->word.wake(typename Stage::Ticket{1}, Stage::Reason::flag) == Stage::TaskWord::Wake::lost)
      seam::pause();
  });
}

// The parker finds a flag and claims itself while a waker claims, too: one of them.
template <class Word>
void own_claim(World& world) {
  using Stage = Stage<Word, RealQueue>;
  auto stage = std::make_shared<Stage>(world);
  world.thread("task", [stage] {
    stage->begin();
    if (stage->word.claim_own(Stage::Reason::cancel) == Stage::TaskWord::Claimed::yes) {
      check(stage->word.stay() == Stage::Reason::cancel, "its own claim has another's reason");
      stage->block.write(2);  // the frame goes on: nobody looks at the block any more
      return;
    }
    while (!stage->word.delivered()) seam::pause();
    check(stage->word.stay() == Stage::Reason::data, "the waker's claim has another's reason");
    check(stage->value.read() == 1, "woken without its value");
  });
  world.thread("waker", [stage] {
    if (stage->word.claim(typename Stage::Ticket{1}, Stage::Reason::data) != Stage::TaskWord::Claimed::yes) return;
    check(stage->block.read() == 1, "a block is looked at whose wait is over");
    stage->value.write(1);
    (void)stage->word.deliver();
  });
}

// No instruction of the task on its stack once it may run elsewhere [F5 of the lifecycle].
template <bool late>
void last_instruction(World& world) {
  using Stage = Stage<RealWord, RealQueue>;
  auto stage = std::make_shared<Stage>(world);
  world.thread("task", [stage] {
    stage->begin();
    const bool mine = stage->word.leave() == Stage::TaskWord::Queue::you;
    if (late) stage->stack.write(7);
    if (mine) stage->enqueue();
  });
  world.thread("waker", [stage] {
    typename Stage::TaskWord::Wake wake;
    while ((wake = stage->word.wake(typename Stage::Ticket{1}, Stage::Reason::flag)) == Stage::TaskWord::Wake::lost)
      seam::pause();
    if (wake == Stage::TaskWord::Wake::queue_it) {
      stage->word.make_runnable();
      (void)stage->word.run_on(2);
      stage->stack.write(2);
    }
  });
}

const Register a{{.name = "park orders: a value through claim, delivery and run queue [W-107] [W-108] [W-109] [V-023]",
                  .run = through_the_queue<RealWord, RealQueue>,
                  .preemptions = 3}};
const Register b{{.name = "park orders: who looks sees on what it runs [W-108]", .run = looked_at<RealWord>}};
const Register c{{.name = "park orders: the second of leaving and delivering goes on [W-111] [W-112] [V-046] [HA2.4]",
                  .run = second_goes_on<RealWord>,
                  .preemptions = 4}};
const Register d{{.name = "park orders: the latch brings what its waker wrote [W-114] [V-046]",
                  .run = latch<RealWord>,
                  .preemptions = 4}};
const Register e{{.name = "park orders: the parker's own claim against a waker's [W-113] [W-115] [V-046] [HA2.5]",
                  .run = own_claim<RealWord>,
                  .preemptions = 4}};
const Register f{{.name = "park orders: nothing on the stack after it was left [W-029] [V-045]",
                  .run = last_instruction<false>,
                  .preemptions = 4}};

const Register m1{{.name = "mutant: park orders, made RUNNABLE and pushed relaxed [W-107] [V-024]",
                   .run = through_the_queue<RealWord, mutants::inbox_pushes_relaxed::Kit>,
                   .fails = Verdict::race}};
const Register m2{{.name = "mutant: park orders, popped relaxed [W-108] [V-024]",
                   .run = through_the_queue<RealWord, mutants::inbox_pops_relaxed::Kit>,
                   .fails = Verdict::race}};
const Register m3{{.name = "mutant: park orders, RUNNING stored relaxed [W-108] [V-023]",
                   .run = looked_at<mutants::park_runs_relaxed::Kit>,
                   .fails = Verdict::race}};
const Register m4{{.name = "mutant: park orders, PARKING stored relaxed [W-109] [V-023]",
                   .run = through_the_queue<mutants::park_enters_relaxed::Kit, RealQueue>,
                   .fails = Verdict::race}};
const Register m5{{.name = "mutant: park orders, left without release [W-111] [V-023]",
                   .run = second_goes_on<mutants::park_leaves_unreleased::Kit>,
                   .fails = Verdict::race}};
const Register m6{{.name = "mutant: park orders, left without acquire [W-112] [V-023]",
                   .run = second_goes_on<mutants::park_leaves_unacquired::Kit>,
                   .fails = Verdict::race}};
const Register m11{{.name = "mutant: park orders, delivered to one that has left without acquire [W-116] [V-023]",
                    .run = second_goes_on<mutants::park_delivers_unacquired::Kit>,
                    .fails = Verdict::race}};
const Register m7{{.name = "mutant: park orders, claimed relaxed [W-113] [W-115] [V-023]",
                   .run = own_claim<mutants::park_claims_relaxed::Kit>,
                   .fails = Verdict::race}};
const Register m8{{.name = "mutant: park orders, claimed by a store [W-113] [V-046]",
                   .run = own_claim<mutants::park_claims_by_store::Kit>,
                   .fails = Verdict::race}};
const Register m9{{.name = "mutant: park orders, the latch without release [W-114] [V-023]",
                   .run = latch<mutants::park_latches_unreleased::Kit>,
                   .fails = Verdict::race}};
const Register m10{{.name = "mutant: park orders, an instruction after the commit [W-029] [V-045]",
                    .run = last_instruction<true>,
                    .fails = Verdict::race}};

}  // namespace
}  // namespace weft::inline v0::verify
