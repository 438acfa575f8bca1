// SPDX-License-Identifier: MIT
// A joiner that takes its children back from the young end of its deque, against thieves at the other end: over the
// real deque, count word and task word. What join_children and take_back do is written here, or theirs.
#include <array>
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "weft/detail/count_word.hpp"
#include "weft/detail/deque.hpp"
#include "weft/detail/par_frame.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using detail::CountWord;
using detail::TaskWord;
using detail::Ticket;
using detail::WakeReason;

struct Real {
  using Deque = detail::Deque;
  using Entry = detail::Entry;
  using QueueLink = detail::QueueLink;
};

// What callers can do wrong.
enum class Slip { none, drops_foreign, keeps_plain_count, touches_after_count };

constexpr std::size_t most_children = 3;

template <class Kit, Slip slip = Slip::none>
struct Stage {
  struct Child : Kit::QueueLink {
    bool ours = true;
    int number = 0;
  };

  explicit Stage(World& world)
      : deque(world.make<typename Kit::Deque>("deque", std::size_t{4})),
        word(world.make<TaskWord>("joiner")),
        count(world.make<CountWord>("count")),
        nursery(world.make<Plain<int>>("nursery", 1)),
        queued(world.make<seam::Atomic<std::uint32_t>>("queued", 0U)) {
    for (std::size_t i = 0; i < most_children; ++i) {
      children[i] = &world.make<Child>("child");
      children[i]->number = static_cast<int>(i);
      results[i] = &world.make<Plain<int>>("result", 0);
    }
    word.make_fresh();
    (void)word.run_on(1);
  }

  typename Kit::Entry entry(std::size_t number) { return typename Kit::Entry(children[number]); }
  void push(std::size_t number) { check(deque.push(entry(number)), "there is room"); }

  void run(Child& child) {
    Plain<int>& result = *results[static_cast<std::size_t>(child.number)];
    check(result.read() == 0, "run twice");
    result.write(1);
  }
  void enqueue() {
    check(word.look().left(), "queued before its stack was left");
    word.make_runnable();
    check(queued.exchange(1, std::memory_order_release) == 0, "queued twice");
    seam::futex_wake(queued, 1);
  }
  void end_elsewhere(Child& child) {
    run(child);
    if (!child.ours) return;
    check(nursery.read() == 1, "the nursery is gone while a child lives");
    const std::uint32_t waits = count.finish_one();
    if (slip == Slip::touches_after_count) check(nursery.read() == 1, "touched after its joiner left");
    if (waits == 0) return;
    const Ticket now = word.look().ticket();
    if (CountWord::matches(waits, now) && word.wake(now, WakeReason::child) == TaskWord::Wake::queue_it) enqueue();
  }
  bool steal() {
    const auto stolen = deque.steal();
    if (stolen.outcome != Kit::Deque::Theft::taken) return false;
    end_elsewhere(*stolen.entry.template as<Child>());
    return true;
  }
  // By the joiner's own worker while the joiner is parked.
  void run_what_is_left() {
    while (const auto left = deque.pop()) end_elsewhere(*left.template as<Child>());
  }

  // join_children. `parked`: what else happens on its worker while it is parked for the first time.
  template <class F>
  void join(F&& parked) {
    bool counted = false;
    bool first = true;
    for (;;) {
      if (count.none_left(plain)) return;
      if (const auto young = deque.pop()) {
        Child& child = *young.template as<Child>();
        if (child.ours) {
          run(child);
          --plain;
          continue;
        }
        if (slip != Slip::drops_foreign) check(deque.push(young), "it came from there: there is room");
      }
      const Ticket ticket = word.begin_park();
      if (counted && plain != 0 && slip != Slip::keeps_plain_count) count.add(plain);
      const bool over = counted ? count.again(ticket) : count.wait(plain, ticket);
      plain = 0;
      counted = true;
      if (over) {
        if (word.claim_own(WakeReason::flag) != TaskWord::Claimed::yes)
          while (!word.delivered()) seam::pause();
        (void)word.stay();
        return;
      }
      if (word.leave() == TaskWord::Queue::you) enqueue();
      if (std::exchange(first, false)) parked();
      while (queued.exchange(0, std::memory_order_acquire) == 0) seam::futex_wait(queued, 0, seam::no_deadline);
      (void)word.run_on(1);
    }
  }
  void leave(std::size_t ended) {
    for (std::size_t i = 0; i < ended; ++i) check(results[i]->read() == 1, "left before a child had ended");
    nursery.write(0);
  }

  typename Kit::Deque& deque;
  TaskWord& word;
  CountWord& count;
  Plain<int>& nursery;
  seam::Atomic<std::uint32_t>& queued;
  std::int32_t plain = 0;  // the joiner's
  std::array<Child*, most_children> children{};
  std::array<Plain<int>*, most_children> results{};
};

template <class Kit, Slip slip, std::size_t children>
void wanted_by_two(World& world) {
  auto stage = std::make_shared<Stage<Kit, slip>>(world);
  world.thread("joiner", [stage] {
    for (std::size_t i = 0; i < children; ++i) {
      ++stage->plain;
      stage->push(i);
    }
    stage->join([&] { stage->run_what_is_left(); });
    stage->leave(children);
  });
  world.thread("thief", [stage] { (void)stage->steal(); });
}

// Child 0 is below an entry of somebody else: the joiner may not run that, nor lose it.
template <Slip slip>
void put_back(World& world) {
  auto stage = std::make_shared<Stage<Real, slip>>(world);
  stage->children[1]->ours = false;
  world.thread("joiner", [stage] {
    ++stage->plain;
    stage->push(0);
    stage->push(1);
    stage->join([&] { stage->run_what_is_left(); });
    stage->leave(1);
    stage->run_what_is_left();
  });
  world.thread("thief", [stage] { (void)stage->steal(); });
  world.finally([stage] { check(stage->results[1]->read() == 1, "an entry was lost"); });
}

// Child 0 runs elsewhere. While the joiner is parked child 2 runs on its worker and spawns child 1; woken for nothing,
// the joiner runs that one in place and parks again.
template <Slip slip>
void spawned_while_parked(World& world) {
  auto stage = std::make_shared<Stage<Real, slip>>(world);
  world.thread("joiner", [stage] {
    stage->plain = 2;
    stage->join([&] {
      stage->count.add(1);
      stage->push(1);
      stage->end_elsewhere(*stage->children[2]);
    });
    stage->leave(3);
  });
  world.thread("child 0", [stage] {
    while (stage->word.look().ticket().number == 0) seam::pause();
    if (stage->word.wake(Ticket{1}, WakeReason::cancel) == TaskWord::Wake::queue_it) stage->enqueue();
    stage->end_elsewhere(*stage->children[0]);
  });
}

// par: the forker takes its job back, or waits for whoever took it.
template <Slip slip>
void job_taken_back(World& world) {
  struct Frame {
    explicit Frame(World& w)
        : stage(w), worker(w.make<detail::WorkerCore>("worker")), job(w.make<detail::Job>("job")) {}
    Stage<Real, slip> stage;
    detail::WorkerCore& worker;
    detail::Job& job;
  };
  auto frame = std::make_shared<Frame>(world);
  world.thread("forker", [frame] {
    check(frame->worker.deque.push(detail::Entry(&frame->job, detail::entry_job)), "there is room");
    if (detail::take_back(&frame->worker, &frame->job)) {
      frame->stage.run(*frame->stage.children[0]);
    } else {
      frame->stage.plain = 1;
      frame->stage.join([] {});
    }
    frame->stage.leave(1);
  });
  world.thread("thief", [frame] {
    if (frame->worker.deque.steal().outcome == detail::Deque::Theft::taken)
      frame->stage.end_elsewhere(*frame->stage.children[0]);
  });
}

const Register a{{.name = "in place: its joiner and a thief want the same child [W-010]",
                  .run = wanted_by_two<Real, Slip::none, 1>,
                  .preemptions = 4}};
const Register b{
    {.name = "in place: two children, a thief takes one [HB20]", .run = wanted_by_two<Real, Slip::none, 2>}};
const Register c{{.name = "in place: an only child and a thief, store buffers [HB20]",
                  .run = wanted_by_two<Real, Slip::none, 1>,
                  .delays = 1,
                  .asymmetric = true}};
const Register d{
    {.name = "in place: what is no child is put back while a thief comes [HA4.8]", .run = put_back<Slip::none>}};
const Register e{{.name = "in place: a child spawned while its joiner was parked [B20]",
                  .run = spawned_while_parked<Slip::none>,
                  .preemptions = 3}};
const Register f{{.name = "in place: a job is taken back, or waited for [HB27]",
                  .run = job_taken_back<Slip::none>,
                  .preemptions = 4}};

const Register m1{{.name = "mutant: in place takes the last entry without a CAS",
                   .run = wanted_by_two<mutants::deque_last_without_cas::Kit, Slip::none, 1>,
                   .fails = Verdict::race,
                   .preemptions = 3}};
const Register m2{{.name = "mutant: in place loses what is no child",
                   .run = put_back<Slip::drops_foreign>,
                   .fails = Verdict::assertion}};
const Register m3{{.name = "mutant: in place keeps its plain count when it parks again",
                   .run = spawned_while_parked<Slip::keeps_plain_count>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: in place a job touches its frame after it counted",
                   .run = job_taken_back<Slip::touches_after_count>,
                   .fails = Verdict::race}};

}  // namespace
}  // namespace weft::inline v0::verify
