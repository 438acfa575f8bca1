// SPDX-License-Identifier: MIT
// Cancel against tasks that park for the first time, end, and leave their scopes [SCP-1..3] [TREE-1..3]. What a caller
// of the tree does is written here as src/sched does it; the last ones call that code itself, with the tasks of
// threads.
#include "sched/scope.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "sched/cancel_epoch.hpp"
#include "sched/park.hpp"
#include "sched/scope_tree.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/task_word.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using detail::TaskWord;
using detail::WakeReason;

struct Real {
  using ScopeTree = detail::ScopeTree;
  using CancelEpoch = detail::CancelEpoch;
};

// What callers can do wrong.
enum class Slip {
  none,
  looks_before_parking,
  requests_without_fence,
  ends_without_unlinking,
  ends_while_asked,
  interrupts_after_the_end,
  interrupts_as_it_asks,
};

struct Task {
  TaskWord word;
  seam::Atomic<std::uint32_t> queued{0};
  struct {
    Task* scope_next = nullptr;
    Task** scope_prev = nullptr;
  } links;

  Task() { word.make_fresh(), (void)word.run_on(1); }
  void enqueue() {
    check(word.look().left(), "queued before its stack was left");
    word.make_runnable();
    check(queued.exchange(1, std::memory_order_release) == 0, "queued twice");
    seam::futex_wake(queued, 1);
  }
  WakeReason wait() {
    if (word.leave() == TaskWord::Queue::you) enqueue();  // by the successor, once the stack is left
    while (queued.exchange(0, std::memory_order_acquire) == 0) seam::futex_wait(queued, 0, seam::no_deadline);
    return word.run_on(2);
  }
};

// The fields that the tree uses, and `alive`, which every walk over it reads.
struct Scope {
  Scope* parent = nullptr;
  Task* owner = nullptr;
  Task* tasks = nullptr;
  Scope* children = nullptr;
  Scope* next = nullptr;
  Scope* prev = nullptr;
  seam::SpinLock lock;
  seam::Atomic<std::uint32_t> requested{0};
  seam::Atomic<std::uint32_t> clean_epoch{0};
  seam::Atomic<std::uint32_t> linked{0};
  Plain<int> alive{1};

  bool is_shield() const {
    check(alive.read() == 1, "a scope that has ended is looked at");
    return false;
  }
  bool is_linked() const { return linked.load(std::memory_order_acquire) != 0; }
  void set_linked() { linked.store(1, std::memory_order_release); }
};

// root <- outer <- inner; the tasks are born into `inner`.
template <class Kit, Slip slip = Slip::none>
struct Stage {
  using Tree = typename Kit::ScopeTree;

  explicit Stage(World& world)
      : root(world.make<Scope>("root")), outer(world.make<Scope>("outer")), inner(world.make<Scope>("inner")) {
    outer.parent = &root;
    inner.parent = &outer;
    for (auto& task : tasks) task = &world.make<Task>("task");
  }

  bool is_requested() const {
    for (const Scope* scope = &inner; scope != nullptr; scope = scope->parent)
      if (scope->requested.load(std::memory_order_relaxed) != 0) return true;
    return false;
  }

  // A first park that only a cancel can end.
  void park_until_cancelled(std::size_t number) {
    Task& task = *tasks[number];
    Tree::add_task(inner, task);
    Tree::link(inner);
    const bool early = slip == Slip::looks_before_parking && is_requested();
    (void)task.word.begin_park();
    seam::light_fence();
    const bool found = slip == Slip::looks_before_parking ? early : is_requested();
    if (found && task.word.claim_own(WakeReason::cancel) == TaskWord::Claimed::yes) {
      check(task.word.stay() == WakeReason::cancel, "ended by something else");
    } else {
      check(task.wait() == WakeReason::cancel, "ended by something else");
    }
    Tree::remove_task(inner, task);
  }

  void request(Scope& scope) {
    request(scope, [] {
      if (slip != Slip::requests_without_fence) seam::heavy_fence();
    });
  }
  template <class F>
  void request(Scope& scope, F&& publish) {
    Task* woken[4];
    std::size_t count = 0;
    {
      const std::lock_guard guard(scope.lock);
      scope.requested.store(1, std::memory_order_release);
      publish();
      Tree::walk(scope, [&](Task& task) {
        const detail::TaskMoment now = task.word.look();
        if (now.state() != detail::TaskState::parking) return;
        if (task.word.wake(now.ticket(), WakeReason::cancel) == TaskWord::Wake::queue_it) woken[count++] = &task;
      });
    }
    for (std::size_t i = 0; i < count; ++i) woken[i]->enqueue();
  }

  // The owner of `inner` leaves it: nothing lives in it any more.
  void end_inner() {
    if (slip != Slip::ends_without_unlinking) Tree::unlink(inner);
    inner.alive.write(0);
  }

  Scope& root;
  Scope& outer;
  Scope& inner;
  std::array<Task*, 2> tasks{};
};

template <class Kit, Slip slip, bool from_root>
void one_parks(World& world) {
  auto stage = std::make_shared<Stage<Kit, slip>>(world);
  world.thread("task", [stage] { stage->park_until_cancelled(0); });
  world.thread("canceller", [stage] { stage->request(from_root ? stage->root : stage->inner); });
}

// Both find nothing linked, or one finds what the other has linked so far.
template <class Kit>
void two_park(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  for (std::size_t i = 0; i < 2; ++i)
    world.thread("task " + std::to_string(i), [stage, i] { stage->park_until_cancelled(i); });
  world.thread("canceller", [stage] { stage->request(stage->root); });
}

template <class Kit>
void two_cancel(World& world) {
  auto stage = std::make_shared<Stage<Kit>>(world);
  world.thread("task", [stage] { stage->park_until_cancelled(0); });
  world.thread("canceller above", [stage] { stage->request(stage->root); });
  world.thread("canceller here", [stage] { stage->request(stage->inner); });
}

// The task comes and goes, its scope ends, while a cancel walks down from above.
template <class Kit, Slip slip>
void scope_ends(World& world) {
  auto stage = std::make_shared<Stage<Kit, slip>>(world);
  world.thread("owner", [stage] {
    Task& task = *stage->tasks[0];
    Kit::ScopeTree::add_task(stage->inner, task);
    Kit::ScopeTree::link(stage->inner);
    Kit::ScopeTree::remove_task(stage->inner, task);
    stage->end_inner();
  });
  world.thread("canceller", [stage] { stage->request(stage->root); });
  world.finally([stage] { check(slip != Slip::none || stage->outer.children == nullptr, "a scope is left behind"); });
}

// What is spared by the epoch [SCP-4]. `clean`: nothing was requested so far, and the scope knows it; else something
// was, elsewhere, and the task looks before it parks, as at each suspension point.
template <class Kit, bool clean>
struct EpochStage : Stage<Real> {
  using Epoch = typename Kit::CancelEpoch;

  explicit EpochStage(World& world) : Stage(world), epoch(world.make<seam::Atomic<std::uint32_t>>("epoch", 1U)) {
    inner.clean_epoch.store(clean ? 1 : 0, std::memory_order_relaxed);
  }
  void park_until_cancelled() {
    Task& task = *tasks[0];
    Tree::add_task(inner, task);
    Tree::link(inner);
    const auto walk = [this] { return is_requested(); };
    if (clean || !Epoch::look(epoch, inner, walk)) {
      (void)task.word.begin_park();
      seam::light_fence();
      if (Epoch::look(epoch, inner, walk) && task.word.claim_own(WakeReason::cancel) == TaskWord::Claimed::yes) {
        check(task.word.stay() == WakeReason::cancel, "ended by something else");
      } else {
        check(task.wait() == WakeReason::cancel, "ended by something else");
      }
    }
    Tree::remove_task(inner, task);
  }
  void request_root() {
    request(root, [this] { Epoch::grow_before_walk(epoch); });
  }
  seam::Atomic<std::uint32_t>& epoch;
};

template <class Kit, bool clean>
void parks_by_epoch(World& world) {
  auto stage = std::make_shared<EpochStage<Kit, clean>>(world);
  world.thread("task", [stage] { stage->park_until_cancelled(); });
  world.thread("canceller", [stage] { stage->request_root(); });
}

// A task is asked to stop by its handle while it ends: who asks looks at the scope it was born into, which ends with
// it. Others interrupt it meanwhile.
template <Slip slip>
struct EndStage {
  static constexpr std::uint32_t ended = detail::life_ended;
  static constexpr std::uint32_t asking = detail::life_asking;
  static constexpr std::uint32_t interrupting =
      slip == Slip::interrupts_as_it_asks ? detail::life_asking : detail::life_interrupting;

  explicit EndStage(World& world)
      : life(world.make<seam::Atomic<std::uint32_t>>("life", 0U)), birth(world.make<Scope>("birth")) {}

  bool begin(std::uint32_t bit) {
    if (slip == Slip::interrupts_after_the_end && bit == interrupting)
      return !(life.fetch_or(bit, std::memory_order_acq_rel) & ended);
    std::uint32_t seen = life.load(std::memory_order_relaxed);
    do {
      if (seen & ended) return false;
    } while (!life.compare_exchange_weak(seen, seen | bit, std::memory_order_acq_rel, std::memory_order_relaxed));
    return true;
  }
  void ask() {
    if (!begin(asking)) return;
    {
      const std::lock_guard guard(birth.lock);
      (void)birth.is_shield();
    }
    life.fetch_and(~asking, std::memory_order_release);
  }
  void interrupt() {
    if (begin(interrupting)) life.fetch_and(~interrupting, std::memory_order_release);
  }
  void end() {
    constexpr std::uint32_t both = asking | interrupting;
    if (life.fetch_or(ended, std::memory_order_acq_rel) & both) {
      while (slip != Slip::ends_while_asked && (life.load(std::memory_order_acquire) & both) != 0) seam::pause();
    }
    birth.alive.write(0);
  }
  seam::Atomic<std::uint32_t>& life;
  Scope& birth;
};

template <Slip slip>
void asked_while_it_ends(World& world) {
  auto stage = std::make_shared<EndStage<slip>>(world);
  world.thread("handle", [stage] { stage->ask(); });
  world.thread("task", [stage] { stage->end(); });
}
template <Slip slip>
void asked_and_interrupted_while_it_ends(World& world) {
  auto stage = std::make_shared<EndStage<slip>>(world);
  world.thread("handle", [stage] { stage->ask(); });
  world.thread("interrupter", [stage] { stage->interrupt(), stage->interrupt(); });
  world.thread("task", [stage] { stage->end(); });
}

// The real thing: threads' tasks, registered, in the real wait; the real request.
void be_thread(detail::TaskCore& task, detail::ScopeCore& scope) {
  task.flags = detail::task_thread;
  task.scope = task.birth = &scope;
  task.word.make_fresh();
  (void)task.word.run_on(1);
}
WakeReason wait_really(detail::TaskCore& task, std::int64_t deadline) {
  task.deadline.store(deadline, std::memory_order_relaxed);
  (void)task.word.begin_park();
  return detail::finish_wait(task, detail::Raise::quietly);
}

// What the scope knows: nothing was requested so far; or it has to look.
enum class Knows { clean, nothing };

template <Knows knows>
struct RealTask {
  explicit RealTask(World& world)
      : root(world.make<detail::ScopeCore>("root")),
        outer(world.make<detail::ScopeCore>("outer")),
        task(world.make<detail::TaskCore>("task")) {
    detail::cancel_epoch.store(1, std::memory_order_relaxed);  // the process's: each execution begins alike
    (void)detail::current_core();                              // who asks first on a thread opens its root
    outer.parent = &root;
    outer.clean_epoch.store(knows == Knows::clean ? 1 : 0, std::memory_order_relaxed);
    be_thread(task, outer);
  }
  void wait_until_cancelled() {
    detail::register_task(task);
    if (knows == Knows::clean || !detail::is_cancelled(outer))
      check(wait_really(task, seam::no_deadline) == WakeReason::cancel, "ended by something else");
    detail::unregister_task(task);
  }
  detail::ScopeCore& root;
  detail::ScopeCore& outer;
  detail::TaskCore& task;
};

template <Knows knows>
void real_request(World& world) {
  auto stage = std::make_shared<RealTask<knows>>(world);
  world.thread("task", [stage] { stage->wait_until_cancelled(); });
  world.thread("canceller", [stage] { detail::request_scope(stage->root, CancelReason::user); });
}
void real_request_by_handle(World& world) {
  auto stage = std::make_shared<RealTask<Knows::clean>>(world);
  world.thread("task", [stage] { stage->wait_until_cancelled(); });
  world.thread("canceller", [stage] { detail::request_task(stage->task, CancelReason::user); });
}

// root <- shield with a limit; two tasks inside.
struct LimitedShield {
  static constexpr std::int64_t limit = 10;

  explicit LimitedShield(World& world)
      : root(world.make<detail::ScopeCore>("root")), shield(world.make<detail::ScopeCore>("shield")) {
    detail::cancel_epoch.store(1, std::memory_order_relaxed);
    (void)detail::current_core();  // as above
    shield.parent = &root;
    shield.flags.store(detail::scope_shield, std::memory_order_relaxed);
    shield.deadline = shield.deadline_within = limit;
    shield.clean_epoch.store(1, std::memory_order_relaxed);
    for (auto& task : tasks) be_thread(*(task = &world.make<detail::TaskCore>("task")), shield);
  }
  // As a wait does it that begins at `now` and has no limit of its own: until somebody asks it to stop.
  void wait_until_cancelled(detail::TaskCore& task, std::int64_t now) {
    detail::register_task(task);
    for (;; now = limit) {
      detail::expire_deadlines(task, now);
      if (detail::requested_for(task).scope != nullptr) break;
      const WakeReason reason = wait_really(task, detail::deadline_around(task));
      if (reason == WakeReason::cancel) break;
      check(reason == WakeReason::timeout, "ended by something else");
    }
    detail::unregister_task(task);
  }
  detail::ScopeCore& root;
  detail::ScopeCore& shield;
  std::array<detail::TaskCore*, 2> tasks{};
};

void lapses_during_request(World& world) {
  auto stage = std::make_shared<LimitedShield>(world);
  world.thread("task", [stage] { stage->wait_until_cancelled(*stage->tasks[0], LimitedShield::limit); });
  world.thread("canceller", [stage] { detail::request_scope(stage->root, CancelReason::user); });
}
// What is around the shield was requested long ago. One finds it lapsed while another, who has looked before, parks.
void lapses_while_another_parks(World& world) {
  auto stage = std::make_shared<LimitedShield>(world);
  stage->root.requested.store(static_cast<std::uint32_t>(CancelReason::user), std::memory_order_relaxed);
  world.thread("first", [stage] { stage->wait_until_cancelled(*stage->tasks[0], LimitedShield::limit); });
  world.thread("second", [stage] { stage->wait_until_cancelled(*stage->tasks[1], LimitedShield::limit - 1); });
}

const Register a{{.name = "scope: a cancel from the top meets a first park [B1] [V-026]",
                  .run = one_parks<Real, Slip::none, true>,
                  .preemptions = 3}};
const Register b{{.name = "scope: a cancel meets a first park, store buffers [B1] [V-026]",
                  .run = one_parks<Real, Slip::none, false>,
                  .delays = 1,
                  .asymmetric = true}};
const Register c{{.name = "scope: a cancel from the top meets two first parks [B1]", .run = two_park<Real>}};
const Register d{{.name = "scope: two cancels wake a task once", .run = two_cancel<Real>}};
const Register e{{.name = "scope: a cancel walks down while a scope ends [B20]", .run = scope_ends<Real, Slip::none>}};
const Register f{{.name = "scope: a task ends while its handle asks it to stop [HB21]",
                  .run = asked_while_it_ends<Slip::none>,
                  .preemptions = 3}};
const Register g{{.name = "scope: the real wait and the real request [B1] [V-026]",
                  .run = real_request<Knows::clean>,
                  .preemptions = 3}};
const Register h{{.name = "scope: the real wait and the real request, store buffers [B1] [V-026]",
                  .run = real_request<Knows::clean>,
                  .delays = 1,
                  .asymmetric = true}};
const Register i{{.name = "scope: the real wait and a cancel by handle [B1]", .run = real_request_by_handle}};

const Register j{{.name = "scope: the real wait looks, then parks, and the real request [B1] [V-026]",
                  .run = real_request<Knows::nothing>,
                  .preemptions = 3}};
const Register k{{.name = "scope: a park that its epoch spares the walk, and a cancel from the top [V-026]",
                  .run = parks_by_epoch<Real, true>,
                  .preemptions = 3,
                  .delays = 1,
                  .asymmetric = true}};
const Register l{{.name = "scope: a look, a park and a cancel from the top [V-026]",
                  .run = parks_by_epoch<Real, false>,
                  .preemptions = 3}};
const Register n{
    {.name = "scope: a shield lapses while a cancel walks down [B1]", .run = lapses_during_request, .preemptions = 3}};
const Register o{{.name = "scope: a shield lapses while another task inside parks [B1]",
                  .run = lapses_while_another_parks,
                  .preemptions = 3}};

const Register p{{.name = "scope: a task ends while its handle asks it to stop and others interrupt it [HA1.1] [HB21]",
                  .run = asked_and_interrupted_while_it_ends<Slip::none>}};

const Register m1{{.name = "mutant: scope links from below",
                   .run = two_park<mutants::scope_links_from_below::Kit>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: scope walk lets go of the parent",
                   .run = scope_ends<mutants::scope_walk_unlocked::Kit, Slip::none>,
                   .fails = Verdict::race}};
const Register m3{{.name = "mutant: scope caller looks before it parks",
                   .run = one_parks<Real, Slip::looks_before_parking, true>,
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: scope caller requests without a fence",
                   .run = one_parks<Real, Slip::requests_without_fence, false>,
                   .fails = Verdict::deadlock,
                   .delays = 1,
                   .asymmetric = true}};
const Register m5{{.name = "mutant: scope caller ends without unlinking",
                   .run = scope_ends<Real, Slip::ends_without_unlinking>,
                   .fails = Verdict::race}};
const Register m6{{.name = "mutant: scope caller ends while its handle asks",
                   .run = asked_while_it_ends<Slip::ends_while_asked>,
                   .fails = Verdict::race}};
const Register m10{{.name = "mutant: scope caller interrupts what has ended",
                    .run = asked_and_interrupted_while_it_ends<Slip::interrupts_after_the_end>,
                    .fails = Verdict::livelock}};
const Register m11{{.name = "mutant: scope caller interrupts by the bit of who asks",
                    .run = asked_and_interrupted_while_it_ends<Slip::interrupts_as_it_asks>,
                    .fails = Verdict::race}};
const Register m7{{.name = "mutant: cancel epoch grows after the fence",
                   .run = parks_by_epoch<mutants::epoch_grows_after_fence::Kit, true>,
                   .fails = Verdict::deadlock,
                   .preemptions = 3,
                   .delays = 1,
                   .asymmetric = true}};
const Register m8{{.name = "mutant: cancel epoch stays",
                   .run = parks_by_epoch<mutants::epoch_stays::Kit, true>,
                   .fails = Verdict::deadlock}};
const Register m9{{.name = "mutant: cancel epoch is read after the walk",
                   .run = parks_by_epoch<mutants::epoch_read_after_walk::Kit, false>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify
