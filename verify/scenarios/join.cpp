// SPDX-License-Identifier: MIT
// The end of a task against those who wait for it [JOIN-1..4], and against the drop of its handle [TASK-2].
#include <array>
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "sched/join_list.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/task_core.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using JoinList = detail::JoinList;
  using TaskWord = detail::TaskWord;
  using WakeReason = detail::WakeReason;
  using Ticket = detail::Ticket;
};

// What callers can do wrong.
enum class Slip { none, looks_before_it_publishes, looks_at_the_list_first, forgets_to_withdraw };

template <class Kit>
struct Joiner {
  using TaskWord = typename Kit::TaskWord;
  using Reason = typename Kit::WakeReason;

  Joiner() { word.make_fresh(), (void)word.run_on(1); }
  void enqueue() {
    check(word.look().left(), "queued before its stack was left");
    word.make_runnable();
    check(queued.exchange(1, std::memory_order_release) == 0, "queued twice");
    seam::futex_wake(queued, 1);
  }
  void park() {
    if (word.leave() == TaskWord::Queue::you) enqueue();  // by the successor, once the stack is left
    while (queued.exchange(0, std::memory_order_acquire) == 0) seam::futex_wait(queued, 0, seam::no_deadline);
    (void)word.run_on(2);
  }
  void wake_for_nothing() {
    if (word.wake(word.look().ticket(), Reason::cancel) == TaskWord::Wake::queue_it) enqueue();
  }

  TaskWord word;
  seam::Atomic<std::uint32_t> queued{0};
};

// A node as it lies on a stack; its task is null once the waiter has left.
template <class Kit>
struct Node {
  Node* next = nullptr;
  Joiner<Kit>* task = nullptr;
  typename Kit::Ticket ticket;
  bool linked = false;
};

template <class Kit, Slip slip = Slip::none>
struct Stage {
  explicit Stage(World& world)
      : over(world.make<seam::Atomic<int>>("over", 0)),
        result(world.make<Plain<int>>("result", 0)),
        head(world.make<seam::Atomic<Node<Kit>*>>("list", nullptr)),
        lock(world.make<seam::SpinLock>("lock")) {
    for (auto& joiner : joiners) joiner = &world.make<Joiner<Kit>>("joiner");
    for (auto& node : nodes) node = &world.make<Node<Kit>>("node");
  }

  bool is_over() const { return over.load(std::memory_order_acquire) != 0; }

  void join(std::size_t number) {
    Joiner<Kit>& self = *joiners[number];
    Node<Kit>& node = *nodes[number];
    node.task = &self;
    while (!is_over()) {
      const bool early = slip == Slip::looks_before_it_publishes && is_over();
      Kit::JoinList::announce(head, node, lock);
      if (!(slip == Slip::looks_before_it_publishes ? early : is_over()) && Kit::JoinList::publish(node, lock))
        self.park();
      if (slip != Slip::forgets_to_withdraw) Kit::JoinList::withdraw(head, node, lock);
    }
    check(result.read() == 1, "joined before its end");
    node = {};  // the frame is somebody else's now
  }

  void end() {
    result.write(1);
    bool anybody = slip == Slip::looks_at_the_list_first && Kit::JoinList::anybody(head);
    over.store(1, std::memory_order_release);
    if (slip != Slip::looks_at_the_list_first) anybody = Kit::JoinList::anybody(head);
    if (anybody)
      Kit::JoinList::wake_all(head, lock, [](Joiner<Kit>* task) {
        check(task != nullptr, "a node is looked at whose frame is gone");
        task->enqueue();
      });
  }

  seam::Atomic<int>& over;
  Plain<int>& result;
  seam::Atomic<Node<Kit>*>& head;
  seam::SpinLock& lock;
  std::array<Joiner<Kit>*, 2> joiners{};
  std::array<Node<Kit>*, 2> nodes{};
};

template <class Kit, Slip slip, std::size_t waiters, int wakes>
void ends(World& world) {
  auto stage = std::make_shared<Stage<Kit, slip>>(world);
  for (std::size_t i = 0; i < waiters; ++i) world.thread("joiner " + std::to_string(i), [stage, i] { stage->join(i); });
  world.thread("task", [stage] { stage->end(); });
  for (int i = 0; i < wakes; ++i) world.thread("canceller", [stage] { stage->joiners[0]->wake_for_nothing(); });
  world.finally(
      [stage] { check(stage->head.load(std::memory_order_relaxed) == nullptr, "a node is left in the list"); });
}

// The record is freed by the second of {task ended, handle dropped}, who sees what the first one wrote.
template <bool looks_only>
void dropped(World& world) {
  auto& life = world.make<seam::Atomic<std::uint32_t>>("life", 0U);
  auto& record = world.make<Plain<int>>("record", 1);
  auto& freed = world.make<seam::Atomic<int>>("freed", 0);
  const auto free_it = [&] {
    record.write(0);
    check(freed.fetch_add(1, std::memory_order_relaxed) == 0, "freed twice");
  };
  world.thread("task", [&life, &record, free_it] {
    record.write(2);  // its result
    std::uint32_t seen = life.load(std::memory_order_acquire);
    if (looks_only) {
      life.store(seen | detail::life_ended, std::memory_order_release);
    } else if (!(seen & detail::life_dropped)) {
      seen = life.fetch_or(detail::life_ended, std::memory_order_acq_rel);
    }
    if (seen & detail::life_dropped) free_it();
  });
  world.thread("handle", [&life, free_it] {
    const std::uint32_t seen = life.load(std::memory_order_acquire);
    if ((seen & detail::life_ended) ||
        (life.fetch_or(detail::life_dropped, std::memory_order_acq_rel) & detail::life_ended))
      free_it();
  });
  world.finally([&] { check(freed.load(std::memory_order_relaxed) == 1, "never freed"); });
}

const Register a{
    {.name = "join: an end meets its joiner [B1] [V-048]", .run = ends<Real, Slip::none, 1, 0>, .preemptions = 4}};
const Register b{{.name = "join: an end meets its joiner, store buffers [B1] [V-026]",
                  .run = ends<Real, Slip::none, 1, 0>,
                  .delays = 1,
                  .asymmetric = true}};
const Register c{
    {.name = "join: an end wakes two joiners once [W-110] [W-116] [V-051]", .run = ends<Real, Slip::none, 2, 0>}};
const Register d{{.name = "join: a cancelled joiner meets the end [B14] [V-049] [W-031] [W-032]",
                  .run = ends<Real, Slip::none, 1, 1>,
                  .preemptions = 3}};
const Register e{{.name = "join: a cancelled joiner beside another [B14]", .run = ends<Real, Slip::none, 2, 1>}};
const Register f{
    {.name = "join: the later of end and drop frees the record [HB21]", .run = dropped<false>, .preemptions = 4}};

const Register m1{{.name = "mutant: join publishes without its fence",
                   .run = ends<mutants::join_publishes_unfenced::Kit, Slip::none, 1, 0>,
                   .fails = Verdict::deadlock,
                   .delays = 1,
                   .asymmetric = true}};
const Register m2{{.name = "mutant: join reads the node after delivering [V-051]",
                   .run = ends<mutants::join_reads_after_deliver::Kit, Slip::none, 2, 0>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: join delivers without a claim [W-120] [V-051]",
                   .run = ends<mutants::join_wakes_unclaimed::Kit, Slip::none, 1, 1>,
                   .fails = Verdict::assertion}};
const Register m4{{.name = "mutant: join caller looks before it publishes [W-031]",
                   .run = ends<Real, Slip::looks_before_it_publishes, 1, 0>,
                   .fails = Verdict::deadlock}};
const Register m5{{.name = "mutant: join caller looks at the list before its end is seen",
                   .run = ends<Real, Slip::looks_at_the_list_first, 1, 0>,
                   .fails = Verdict::deadlock}};
const Register m6{{.name = "mutant: join caller leaves its node behind [V-049]",
                   .run = ends<Real, Slip::forgets_to_withdraw, 1, 1>,
                   .fails = Verdict::crash}};
const Register m8{{.name = "mutant: join parks though its node was taken out [HB18]",
                   .run = ends<mutants::join_parks_unlinked::Kit, Slip::none, 1, 0>,
                   .fails = Verdict::deadlock}};
const Register m7{
    {.name = "mutant: join caller ends by a plain store", .run = dropped<true>, .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify
