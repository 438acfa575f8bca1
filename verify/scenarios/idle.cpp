// SPDX-License-Identifier: MIT
// Workers that search, sleep and watch over the real idle set [IDLE-1..5]. Tasks are heavy: after a wake into the slot,
// a spawn, or nothing, they make no call until the other task has run elsewhere. So each lost wake is a deadlock here.
#include <array>
#include <memory>
#include <string>

#include "explorer/registry.hpp"
#include "mutants.hpp"
#include "sched/idle_set.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;

struct Real {
  using IdleSet = detail::IdleSet;
  using IdleNode = detail::IdleNode;
};

enum class Kind {
  plain,
  slot,   // wakes another task into its worker's slot, which tells nobody
  spawn,  // pushes another task to its worker's deque
  pair,   // two of them wait for each other to begin
};

// What callers can do wrong.
enum class Slip { none, rechecks_first, outside_without_fence };

struct Plan {
  int workers;
  bool asleep;  // the runtime starts idle
  std::array<Kind, 2> tasks{};
  std::size_t count;
  std::size_t ahead = 0;  // of them, injected before the workers run
  Slip slip = Slip::none;
  bool checks_w = true;  // false: a broken W must show itself as a deadlock
};

constexpr int most_workers = 3;
constexpr std::int64_t period = 100'000;

template <class Kit>
class Stage : public std::enable_shared_from_this<Stage<Kit>> {
 public:
  using Set = typename Kit::IdleSet;
  using Node = typename Kit::IdleNode;
  using Word = seam::Atomic<std::uint32_t>;

  Stage(World& world, Plan plan)
      : plan_(plan), set_(world.make<Set>("set")), left_(world.make<Word>("tasks left", 0U)) {
    for (int w = 0; w < plan.workers; ++w) {
      nodes_[at(w)] = &world.make<Node>("node " + std::to_string(w));
      set_.add_worker();
    }
    std::uint32_t left = 0;
    for (std::size_t h = 0; h < plan.count; ++h) {
      global_[h] = &world.make<Word>("global " + std::to_string(h), 0U);
      begun_[h] = &world.make<Word>("begun " + std::to_string(h), 0U);
      offered_[h] = &world.make<Word>("other of " + std::to_string(h), 0U);
      other_ran_[h] = &world.make<Word>("other of " + std::to_string(h) + " ran", 0U);
      left += plan.tasks[h] == Kind::slot || plan.tasks[h] == Kind::spawn ? 2U : 1U;
    }
    left_.store(left, std::memory_order_relaxed);
    if (!plan.asleep) return;
    for (int w = 0; w < plan.workers; ++w) set_.begin_search();
    for (int w = 0; w < plan.workers; ++w) (void)set_.announce(*nodes_[at(w)]);
  }

  void start(World& world) {
    for (int w = 0; w < plan_.workers; ++w)
      world.thread("worker " + std::to_string(w), [self = this->shared_from_this(), w] { self->work(w); });
  }

  // A thread that is no worker.
  void inject(std::size_t task) {
    global_[task]->store(1, std::memory_order_release);
    if (plan_.slip != Slip::outside_without_fence) seam::fence(std::memory_order_seq_cst);
    wake_if_wanted();
  }

  void wait_until_idle() {
    for (;;) {
      const auto now = set_.census();
      if (now.active == 0 && now.searchers == 0 && !now.watch) return;
      seam::pause();
    }
  }
  // The scenario ends: past the set, which is not on trial any more.
  void shut_down() {
    stopped_ = true;
    for (int w = 0; w < plan_.workers; ++w) Set::notify(*nodes_[at(w)]);
  }
  void check_all_ran() { check(left_.load(std::memory_order_relaxed) == 0, "a task did not run"); }

 private:
  // Task h is h + 1, the other task that it wakes or spawns h + 11. A heavy task never comes back to its own queues
  // before somebody else has emptied them, so there is one word for slot or deque per task, not per worker.
  static constexpr std::uint32_t none = 0;
  static std::size_t at(int worker) { return static_cast<std::size_t>(worker); }

  void check_w() {
    if (!plan_.checks_w) return;
    const auto now = Set::census_of(set_.summary().raw().load(std::memory_order_relaxed));  // no step of its own
    check(now.active == 0 || now.sleepers == 0 || now.searchers > 0 || now.watch,
          "somebody is active, somebody sleeps, and nobody searches or watches");
  }
  void notify(Node* node) {
    if (node != nullptr) Set::notify(*node);
  }
  void wake_if_wanted() {
    if (!set_.wants_wake()) return;
    notify(set_.wake_one(false));
    check_w();
  }
  static void signal(Word& word) {
    word.store(1, std::memory_order_release);
    seam::futex_wake(word, 2);
  }
  static void await(Word& word) {
    while (word.load(std::memory_order_acquire) == 0) seam::futex_wait(word, 0, seam::no_deadline);
  }

  static std::uint32_t take(Word& queue) {
    return queue.load(std::memory_order_relaxed) == none ? none : queue.exchange(none, std::memory_order_acquire);
  }
  std::uint32_t take_global() {
    for (std::size_t h = 0; h < plan_.count; ++h)
      if (take(*global_[h]) != none) return static_cast<std::uint32_t>(h) + 1;
    return none;
  }
  // Slots are too young to be stolen from unless it is the watch that looks.
  bool visible(std::size_t h, bool as_watch) const {
    return plan_.tasks[h] == Kind::spawn || (plan_.tasks[h] == Kind::slot && as_watch);
  }
  std::uint32_t look_around(bool as_watch) {
    if (const std::uint32_t task = take_global(); task != none) return task;
    for (std::size_t h = 0; h < plan_.count; ++h)
      if (visible(h, as_watch) && take(*offered_[h]) != none) return static_cast<std::uint32_t>(h) + 11;
    return none;
  }
  bool anything(bool as_watch) {
    for (std::size_t h = 0; h < plan_.count; ++h) {
      if (global_[h]->load(std::memory_order_relaxed) != none) return true;
      if (visible(h, as_watch) && offered_[h]->load(std::memory_order_relaxed) != none) return true;
    }
    return false;
  }

  void run(std::uint32_t task) {
    if (task > 10) {
      signal(*other_ran_[task - 11]);
    } else {
      const std::size_t h = task - 1;
      switch (plan_.tasks[h]) {
        case Kind::plain:
          break;
        case Kind::slot:
          offered_[h]->store(1, std::memory_order_release);
          await(*other_ran_[h]);
          break;
        case Kind::spawn:
          offered_[h]->store(1, std::memory_order_release);
          wake_if_wanted();
          await(*other_ran_[h]);
          break;
        case Kind::pair:
          signal(*begun_[h]);
          await(*begun_[1 - h]);
          break;
      }
    }
    if (left_.fetch_sub(1, std::memory_order_relaxed) == 1) shut_down();
  }

  // Consumes the token of whoever moved it.
  void woken(const Node& node) { check(!node.asleep || stopped_, "woken, but nobody moved it"); }
  void take_back(Node& node) {
    if (!set_.retract(node)) {
      (void)Set::sleep(node, seam::no_deadline);
      woken(node);
    }
    check_w();
  }

  // Announced: until it searches again. True: it does so as the watch whose time was up.
  bool doze(Node& node, typename Set::Sleep kind) {
    for (;;) {
      if (stopped_) return false;
      const bool timed = kind == Set::Sleep::watch;
      const std::int64_t deadline = timed ? seam::monotonic_ns() + period : seam::no_deadline;
      if (Set::sleep(node, deadline) == seam::WaitResult::woken) {
        woken(node);
        return false;
      }
      if (!set_.keep_watch(node)) {
        kind = Set::Sleep::untimed;
      } else if (anything(true)) {
        take_back(node);
        return true;
      }
    }
  }
  bool fall_asleep(Node& node) {
    if (plan_.slip == Slip::rechecks_first && anything(false)) return false;
    const typename Set::Sleep kind = set_.announce(node);
    check_w();
    if (plan_.slip != Slip::rechecks_first) {
      seam::heavy_fence();
      if (anything(false)) {
        take_back(node);
        return false;
      }
    }
    return doze(node, kind);
  }

  // searching -> ACTIVE with a task, or 0: the end.
  std::uint32_t search(Node& node, bool as_watch) {
    for (;;) {
      if (stopped_) return none;
      if (const std::uint32_t task = look_around(as_watch); task != none) {
        notify(set_.found_work());
        check_w();
        return task;
      }
      as_watch = fall_asleep(node);
    }
  }
  void work(int worker) {
    Node& node = *nodes_[at(worker)];
    std::uint32_t task = plan_.asleep ? search(node, doze(node, Set::Sleep::untimed)) : none;
    while (!stopped_) {
      if (task != none) run(task);
      task = take_global();
      if (task != none || stopped_) continue;
      set_.begin_search();
      check_w();
      task = search(node, false);
    }
  }

  const Plan plan_;
  bool stopped_ = false;
  Set& set_;
  Word& left_;
  std::array<Node*, most_workers> nodes_{};
  std::array<Word*, 2> global_{};
  std::array<Word*, 2> begun_{};
  std::array<Word*, 2> offered_{};  // in its worker's slot or deque
  std::array<Word*, 2> other_ran_{};
};

template <class Kit>
Scenario injected(Plan plan) {
  return [plan](World& world) {
    auto stage = std::make_shared<Stage<Kit>>(world, plan);
    stage->start(world);
    for (std::size_t h = 0; h < plan.ahead; ++h) stage->inject(h);
    if (plan.ahead < plan.count)
      world.thread("outside", [stage, plan] {
        for (std::size_t h = plan.ahead; h < plan.count; ++h) stage->inject(h);
      });
    world.finally([stage] { stage->check_all_ran(); });
  };
}

// Workers that find nothing: the last to fall asleep leaves no timer behind [IDLE-5].
template <class Kit>
Scenario idle_runtime(int workers) {
  return [workers](World& world) {
    auto stage = std::make_shared<Stage<Kit>>(world, Plan{.workers = workers, .asleep = false, .count = 0});
    stage->start(world);
    world.thread("outside", [stage] {
      stage->wait_until_idle();
      stage->shut_down();
    });
  };
}

// A flag and a token without a move, while a waker moves the sleeper too: the flag is seen whatever becomes of the
// tokens [IDLE-4].
template <class Kit, bool asks>
void kicked(World& world) {
  using Set = typename Kit::IdleSet;
  auto& set = world.make<Set>("set");
  auto& node = world.make<typename Kit::IdleNode>("node");
  auto& flag = world.make<seam::Atomic<std::uint32_t>>("flag", 0U);
  set.add_worker();
  set.begin_search();
  world.thread("worker", [&set, &node, &flag] {
    while (flag.load(std::memory_order_acquire) == 0) {
      (void)set.announce(node);
      seam::heavy_fence();
      if (flag.load(std::memory_order_acquire) == 0) (void)Set::sleep(node, seam::no_deadline);
      if (asks && !set.retract(node) && node.wake.load(std::memory_order_acquire) != 0)
        node.wake.store(0, std::memory_order_relaxed);
      check(!node.asleep, "searches while it counts as asleep");
    }
    check(set.found_work() == nullptr, "nobody sleeps");
  });
  world.thread("waker", [&set] {
    if (auto* moved = set.wake_one(true)) Set::notify(*moved);
  });
  world.thread("kicker", [&node, &flag] {
    flag.store(1, std::memory_order_release);
    Set::notify(node);
  });
}

constexpr Plan idle_slot{.workers = 2, .asleep = true, .tasks = {Kind::slot}, .count = 1};
constexpr Plan idle_slot_3{.workers = 3, .asleep = true, .tasks = {Kind::slot}, .count = 1, .ahead = 1};
constexpr Plan idle_pair{.workers = 2, .asleep = true, .tasks = {Kind::pair, Kind::pair}, .count = 2};
constexpr Plan idle_pair_3{.workers = 3, .asleep = true, .tasks = {Kind::pair, Kind::pair}, .count = 2, .ahead = 2};
constexpr Plan late_slot_3{.workers = 3, .asleep = true, .tasks = {Kind::slot}, .count = 1};
constexpr Plan busy_slot{.workers = 2, .asleep = false, .tasks = {Kind::slot}, .count = 1};
constexpr Plan busy_spawn{.workers = 2, .asleep = false, .tasks = {Kind::spawn}, .count = 1};
constexpr Plan busy_pair{.workers = 2, .asleep = false, .tasks = {Kind::pair, Kind::pair}, .count = 2};
constexpr Plan busy_plain{.workers = 2, .asleep = false, .tasks = {Kind::plain}, .count = 1};
constexpr Plan spawn_and_slot{.workers = 3, .asleep = true, .tasks = {Kind::spawn, Kind::slot}, .count = 2, .ahead = 2};

constexpr Plan slipping(Plan plan, Slip slip) {
  plan.slip = slip;
  plan.checks_w = false;
  return plan;
}
constexpr Plan stuck(Plan plan) {
  return slipping(plan, Slip::none);
}

const Register a{{.name = "idle: the first request wakes a task into its slot [H4]", .run = injected<Real>(idle_slot)}};
const Register b{{.name = "idle: two requests, each busy for long [H5]", .run = injected<Real>(idle_pair)}};
const Register c{{.name = "idle: a request while workers fall asleep [W-016] [B2]", .run = injected<Real>(busy_slot)}};
const Register d{
    {.name = "idle: a request that spawns while workers fall asleep [W-016] [B2]", .run = injected<Real>(busy_spawn)}};
const Register e{
    {.name = "idle: a spawn, store buffers", .run = injected<Real>(busy_spawn), .preemptions = 1, .delays = 1}};
const Register f{
    {.name = "idle: two requests while workers fall asleep [W-016] [B2]", .run = injected<Real>(busy_pair)}};
const Register g{{.name = "idle: a request, store buffers and asymmetric fences [W-033]",
                  .run = injected<Real>(busy_plain),
                  .delays = 1,
                  .asymmetric = true}};
const Register h{{.name = "idle: three workers, a wake into a slot", .run = injected<Real>(idle_slot_3)}};
const Register i{{.name = "idle: three workers, two requests", .run = injected<Real>(idle_pair_3)}};
const Register j{
    {.name = "idle: three workers, a spawn and a wake into a slot", .run = injected<Real>(spawn_and_slot)}};
const Register l{
    {.name = "idle: three workers, a request from outside", .run = injected<Real>(late_slot_3), .preemptions = 1}};
const Register k{{.name = "idle: an idle runtime has no watch", .run = idle_runtime<Real>(2)}};

const Register n{{.name = "idle: a kick without a move, and a move", .run = kicked<Real, true>, .delays = 1}};

const Register m1{{.name = "mutant: idle names no successor",
                   .run = injected<mutants::idle_no_successor::Kit>(stuck(idle_slot)),
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: idle has no watch",
                   .run = injected<mutants::idle_no_watch::Kit>(stuck(busy_slot)),
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: idle wakes the watch and leaves it the role",
                   .run = injected<mutants::idle_role_stays::Kit>(stuck(busy_slot)),
                   .fails = Verdict::deadlock}};
const Register m4{{.name = "mutant: idle keeps the watch for ever",
                   .run = idle_runtime<mutants::idle_watch_for_ever::Kit>(2),
                   .fails = Verdict::livelock}};
const Register m5{{.name = "mutant: idle wakes before the token is there",
                   .run = injected<mutants::idle_wakes_first::Kit>(stuck(idle_slot)),
                   .fails = Verdict::deadlock}};
const Register m6{{.name = "mutant: idle takes back what a waker has moved",
                   .run = injected<mutants::idle_retracts_twice::Kit>(stuck(busy_pair)),
                   .fails = Verdict::assertion}};
const Register m7{{.name = "mutant: idle caller rechecks before it announces",
                   .run = injected<Real>(slipping(busy_plain, Slip::rechecks_first)),
                   .fails = Verdict::deadlock}};
const Register m8{{.name = "mutant: idle caller from outside has no fence [W-033]",
                   .run = injected<Real>(slipping(busy_plain, Slip::outside_without_fence)),
                   .fails = Verdict::deadlock,
                   .delays = 1}};
const Register m9{{.name = "mutant: idle caller takes each token for a move",
                   .run = kicked<Real, false>,
                   .fails = Verdict::assertion}};

}  // namespace
}  // namespace weft::inline v0::verify
