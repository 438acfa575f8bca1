// SPDX-License-Identifier: MIT
#pragma once
// What: a joiner on a stack of a runtime without threads, and children that it runs in place by the real code: the loop
// of a nursery's end, stand_out, the ends with care, and end_task. Written here is what needs a switch of stacks: to
// park, to go on elsewhere, and to begin a child on a stack of its own (run_task).
// Threads: one logical thread is the stack and whoever runs it, worker 0 first, then worker 2: the fiber floor's idea
// of this thread is its, and no other's. Worker 1 is the thief's. Worker 0 is busy with something else until the stack
// is left by worker 2: what it had is there to be stolen.
#include <array>
#include <cstdint>

#include "explorer/registry.hpp"
#include "sched/in_place.hpp"
#include "sched/park.hpp"
#include "sched/standing.hpp"
#include "sched/task_end.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {

struct RealPlace {
  using Standing = detail::Standing;
  static void fill(detail::TaskCore& child) { detail::fill_child(child); }
};

template <class Kit = RealPlace>
struct PlaceStage {
  using Task = detail::TaskCore;
  using Nursery = detail::NurseryCore;
  using Word = detail::TaskWord;
  using State = detail::TaskState;

  struct Child {
    Child(World& world, PlaceStage& on, int n)
        : stage(on), number(n), task(world.make<Task>("child")), result(world.make<Plain<int>>("result", 0)) {
      task.code = &code;
      task.root = number == 0 ? &stage.root : &stage.elsewhere;  // of who had the record before
      ::new (task.room) Child*(this);
    }
    PlaceStage& stage;
    int number;
    Task& task;
    Plain<int>& result;
  };

  explicit PlaceStage(World& world)
      : runtime(world.make<detail::RuntimeCore>("runtime", options())),
        root(world.make<detail::FiberCore>("root")),
        elsewhere(world.make<detail::FiberCore>("elsewhere")),
        joiner(world.make<Task>("joiner")),
        nursery(world.make<Nursery>("nursery")),
        queued(world.make<seam::Atomic<std::uint32_t>>("queued", 0U)),
        parked(world.make<seam::Atomic<Task*>>("parked", nullptr)) {
    detail::cancel_epoch.store(1, std::memory_order_relaxed);  // the process's: each execution begins alike
    for (unsigned i = 0; i < 3; ++i) {
      worker(i).next_id = 100 * (i + 1);
      worker(i).end_id = worker(i).next_id + 100;
    }
    detail::FiberCore& thread = *detail::thread_root();
    thread.carrier->interrupted_in_place = detail::is_interrupted_in_place;
    world.at_end([&thread] {
      thread.worker = nullptr;
      thread.carrier->interrupted_in_place = nullptr;
    });
    for (detail::FiberCore* core : {&root, &elsewhere}) {
      core->root = core;
      core->flags = detail::flag_root;
      core->thread_eh = &eh;
      core->carrier = thread.carrier;
      core->flat_floor = 0;
    }
    root.base = root.task = &joiner;
    go_on_as(0);
    joiner.root = &root;
    joiner.id = 1;
    joiner.scope = &nursery.scope;
    joiner.word.make_fresh();
    (void)joiner.word.run_on(1);
    runtime.live.started(0);
    open(nursery, joiner);
  }

  detail::Worker& worker(unsigned index) { return runtime.worker(index); }
  void go_on_as(unsigned index) {
    root.worker = &worker(index);
    detail::thread_root()->worker = &worker(index);
  }
  void open(Nursery& opened, Task& owner) {
    opened.owner = &owner;
    opened.here = opened.root = &root;
    opened.runtime = &runtime;
    opened.scope.owner = &owner;
    opened.scope.clean_epoch.store(1, std::memory_order_relaxed);
  }
  // Nursery::start
  void start(Nursery& in, Child& child) {
    child.task.nursery = &in;
    ++in.plain;
    check(root.worker->deque.push(detail::Entry(&child.task, detail::entry_child)), "there is room");
  }

  // join_children, but for the switch.
  void join(Nursery& of) {
    Task& owner = *of.owner;
    bool counted = false;
    while (!of.count.none_left(of.plain)) {
      if (detail::run_own_children(of, &root)) {
        check(root.task == &owner && owner.word.look().state() == State::running, "its joiner does not run again");
        continue;
      }
      Kit::Standing::stand_out(owner);
      const detail::Ticket ticket = owner.word.begin_park();
      if (counted && of.plain != 0) of.count.add(of.plain);
      const bool over = counted ? of.count.again(ticket) : of.count.wait(of.plain, ticket);
      of.plain = 0;
      counted = true;
      if (over) return detail::call_off_wait(owner);
      sleep(owner);
    }
  }
  // By who runs on the joiner's stack. `parked` is told of it once it stands out.
  void park(Task& task) {
    Kit::Standing::stand_out(task);
    (void)task.word.begin_park();
    parked.store(&task, std::memory_order_release);
    sleep(task);
  }
  // Whoever runs next on this worker, then who goes on with the stack.
  void sleep(Task& task) {
    if (task.word.leave() == Word::Queue::you) enqueue(task);
    if (root.worker != &worker(0))
      while (const detail::Entry entry = worker(0).deque.pop()) run_elsewhere(worker(0), entry);
    while (queued.exchange(0, std::memory_order_acquire) == 0) seam::futex_wait(queued, 0, seam::no_deadline);
    go_on_as(2);
    (void)task.word.run_on(3);
  }
  void enqueue(Task& task) {
    check(task.word.look().left(), "queued before its stack was left");
    task.word.make_runnable();
    check(queued.exchange(1, std::memory_order_release) == 0, "queued twice");
    seam::futex_wake(queued, 1);
  }
  // The one that has told so. Everybody below it on its stack must stand out [PLACE-2].
  void wake(Task& task) {
    for (const Task* each = &task; each != &joiner; each = each->nursery->owner) {
      check((each->flags & detail::task_in_place) != 0, "left its stack, and does not stand out");
      check(each->id.if_known() != 0, "left its stack without a number");
      check(each->nursery->owner->word.look().state() == State::joining, "its joiner seems to run");
    }
    const detail::Ticket ticket = task.word.look().ticket();
    check(task.word.claim(ticket, detail::WakeReason::data) == Word::Claimed::yes, "claimed by nobody else");
    if (task.word.deliver() == Word::Queue::you) enqueue(task);
  }

  bool steal() {
    const auto stolen = worker(0).deque.steal();
    if (stolen.outcome != detail::Deque::Theft::taken) return false;
    run_elsewhere(worker(1), stolen.entry);
    return true;
  }
  // task_begun, run_task and end_task, but for the stack, and what is no child's.
  void run_elsewhere(detail::Worker& here, detail::Entry entry) {
    check(entry.kind() == detail::entry_child, "a child was started, and something else is queued");
    Task& task = *entry.template as<Task>();
    Kit::fill(task);
    check(!detail::Standing::is_in_place(task), "in place before it began");
    task.root = &elsewhere;
    (void)task.word.run_on(here.index + 1);
    detail::count_begun(here, task);
    task.id.settle_by(&here);
    code.run(&task, nullptr);
    Nursery& of = *task.nursery;
    Task& owner = *of.owner;
    task.word.finish(false);
    check((task.life.load(std::memory_order_acquire) & detail::life_dropped) != 0, "nobody will free its record");
    detail::make_clean(task);
    task.word.make_free();
    runtime.live.finished(here.index);
    const std::uint32_t waits = of.count.finish_one();
    if (waits == 0) return;
    const detail::Ticket now = owner.word.look().ticket();
    if (detail::CountWord::matches(waits, now) &&
        owner.word.wake(now, detail::WakeReason::child) == Word::Wake::queue_it)
      enqueue(owner);
  }
  // The joiner, whose children have ended, does.
  void end() {
    check(joiner.word.look().state() == State::running && joiner.word.look().owner() == root.worker->index + 1,
          "the joiner does not run where its stack is");
    check(root.task == &joiner, "somebody else's stack");
    runtime.live.finished(root.worker->index);
    if (parked.load(std::memory_order_relaxed) == nullptr) parked.store(&joiner, std::memory_order_release);
  }

  // Of a child that nobody had a handle of [TASK-5].
  static void check_clean(const Task& task) {
    check(task.word.look().state() == State::free && detail::is_clean(task) && task.life.load() == 0 &&
              task.id.if_known() == 0,
          "the record of a child was not given back as it was");
  }

  // What a child does. Once.
  virtual void body(Child& child) = 0;

  detail::RuntimeCore& runtime;
  detail::FiberCore& root;
  detail::FiberCore& elsewhere;
  Task& joiner;
  Nursery& nursery;
  seam::Atomic<std::uint32_t>& queued;
  seam::Atomic<Task*>& parked;  // the joiner: nobody did
  detail::ThreadEh eh{nullptr, 0};

 protected:
  ~PlaceStage() = default;

 private:
  static RuntimeOptions options() {
    RuntimeOptions wanted;
    wanted.workers = 1;
    wanted.max_workers = 3;
    wanted.queue_capacity = 2;
    wanted.sysmon = false;
    wanted.seed = 1;
    return wanted;
  }
  static void run(Task* task, void* /*out*/) {
    Child& child = **std::launder(reinterpret_cast<Child**>(task->room));
    check(child.result.read() == 0, "run twice");
    check(task->scope == &task->nursery->scope, "it runs in no scope");
    const bool in_place = child.stage.root.task == task;
    const detail::TaskMoment now = task->word.look();
    check(now.state() == State::running, "its code runs, and it does not");
    check(in_place == (task->root == &child.stage.root), "its root is another's");
    check(!in_place || now.owner() == child.stage.root.worker->index + 1, "in place of a joiner who is elsewhere");
    child.result.write(1);
    child.stage.body(child);
  }
  static void nothing(Task* /*task*/, void* /*out*/) {}
  static constexpr detail::TaskCode code{run, run, nothing, nothing, nothing};
};

}  // namespace weft::inline v0::verify
