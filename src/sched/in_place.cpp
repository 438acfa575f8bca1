// SPDX-License-Identifier: MIT
// Running a child on its joiner's stack: the fork-join path of nurseries, flat, because it is the one that counts
// nanoseconds. What is rare goes through the general functions.
//
// A boundary separates the two tasks: the child's record is current, with its own scope and bindings, empty exception
// globals; signal walks end at it. The joiner's word says JOINING. If the child parks, its top is this stack.
// Relaxed: everything belongs to this stack: the child was taken from the own deque and its handle is held here; the
// cancel epoch only makes a walk unnecessary [SCP-4]; the finished count is released for its readers.
#include <utility>

#include "fiber/bindings.hpp"
#include "fiber/virtual_core.hpp"
#include "sched/dispatch.hpp"
#include "sched/join_list.hpp"
#include "sched/park.hpp"
#include "sched/scope.hpp"
#include "sched/task_end.hpp"
#include "sched/waiters.hpp"
#include "weft/detail/nursery_core.hpp"
#include "weft/task.hpp"

namespace weft::inline v0::detail {
namespace {

// Asked elsewhere than in the fiber that opened the nursery, on another stack therefore.
[[gnu::noinline]] bool room_in_place(const TaskCore& joiner, const FiberCore& self) {
  return stack_pointer() >= in_place_floor(joiner, self);
}

// The child runs inside an inner fiber, or bindings are about.
[[gnu::noinline]] void run_inside_boundary(FiberCore* self, TaskCore* child) {
  const Boundary boundary(self, std::exchange(child->bindings, nullptr));
  run_body(child);
}

[[gnu::noinline, gnu::cold]] void end_with(TaskCore* child, _Unwind_Exception* exception) {
#if defined(WEFT_CONTEXT_BOOST)
  (void)exception;
  end_body(child, nullptr);
#else
  end_body(child, exception != nullptr ? take_exception(exception) : nullptr);
#endif
}

enum class Young : std::uint8_t {
  any,   // whichever child of this nursery is the youngest
  held,  // this one, whose handle the joiner holds
  last,  // and uses up: nobody else can wait for it, cancel or interrupt it any more
};
enum class Ran : std::uint8_t {
  no,
  yes,
  plainly,  // Young::last only: it never waited; its record is the joiner's
};

// It never left this stack, and nothing but its word and its result is left of it.
template <Young young>
[[gnu::always_inline]] inline bool end_plainly(WorkerCore* worker, NurseryCore& nursery, TaskCore* child) {
  if (young == Young::any && child->life.load(std::memory_order_relaxed) != life_dropped) return false;
  if (young == Young::held) {
    child->word.finish(false);
    if (JoinList::anybody(child->waiters)) [[unlikely]]
      wake_waiters(*child);
    child->life.store(child->life.load(std::memory_order_relaxed) | life_ended, std::memory_order_relaxed);
  } else {
    child->word.end_free();  // nobody else knows it any more
  }
  worker->finished->store(worker->finished->load(std::memory_order_relaxed) + 1, std::memory_order_release);
  --nursery.plain;
  if (young == Young::any) give_record(worker, child);
  return true;
}

template <Young young>
[[gnu::always_inline]] inline Ran run_young(NurseryCore& nursery, FiberCore* self, TaskCore* wanted) {
  FiberCore* root = self->root;
  TaskCore* joiner = nursery.owner;
  if (self == nursery.here ? stack_pointer() < nursery.floor : !room_in_place(*joiner, *self)) [[unlikely]]
    return Ran::no;
  // A child starts with the default floating-point words; only switches change them. An interrupt is for who waits: a
  // join is a suspension point wherever the child runs.
  constexpr std::uint32_t not_here = young == Young::any ? alert_fp : alert_fp | alert_interrupt | alert_runtime;
  if (root->alert.load(std::memory_order_relaxed) & not_here) [[unlikely]]
    return Ran::no;
  WorkerCore* worker = root->worker;
  const Entry entry = worker->deque.pop();
  if (!entry) return Ran::no;
  TaskCore* child = young == Young::any ? entry.as<TaskCore>() : wanted;
  const bool ours = young == Young::any ? entry.kind() == entry_task && child->nursery == &nursery
                                        : entry == Entry(wanted, entry_task);
  if (!ours || (child->flags & task_own_stack)) [[unlikely]] {
    (void)worker->deque.push(entry);  // it came from there: there is room
    return Ran::no;
  }
  worker->count_tick();
  ++worker->ran_in_place;
  const TaskMoment joining = joiner->word.join_in_place();
  child->root = root;
  child->flags |= static_cast<std::uint16_t>(task_in_place | (young == Young::any ? 0 : task_held));
  child->word.start_on(worker->index + 1);
  root->task = child;
  root->interrupts = &child->interrupts;
  if (young != Young::last) seam::light_fence();  // pairs with the heavy fence of interrupt_task
  const std::uint32_t asked = child->life.load(std::memory_order_relaxed) & ~std::uint32_t{life_dropped};
  const ThreadEh* thread = root->thread_eh;
  const bool plain =
      self == root && self->bindings == nullptr && child->bindings == nullptr && asked == 0 &&
      thread->caught == nullptr && thread->uncaught == 0 &&
      nursery.scope.clean_epoch.load(std::memory_order_relaxed) == cancel_epoch.load(std::memory_order_acquire);
#if !defined(WEFT_CONTEXT_BOOST)
  if (plain) [[likely]] {
    _Unwind_Exception* exception = weft_guarded_call(child->code, child, TaskOp::run);
    // If it never parked nor yielded, nor a child of its own here, it is still on this worker, and has no timer; but it
    // may have registered, bound something, or have a name.
    constexpr std::uint16_t plain_end = task_in_place | task_held | (young == Young::any ? 0 : task_has_result);
    if (exception == nullptr && root->worker == worker && child->top == nullptr && (child->flags & ~plain_end) == 0 &&
        root->bindings == nullptr && end_plainly<young>(worker, nursery, child)) [[likely]] {
      root->task = joiner;
      root->interrupts = &joiner->interrupts;
      joiner->word.joined(joining);
      if (joiner->interrupts.load(std::memory_order_relaxed) != 0) [[unlikely]]
        root->alert.fetch_or(alert_interrupt, std::memory_order_relaxed);
      return Ran::plainly;
    }
    end_with(child, exception);
  } else
#endif
  {
    if (child->interrupts.load(std::memory_order_relaxed) != 0)
      root->alert.fetch_or(alert_interrupt, std::memory_order_relaxed);
    run_inside_boundary(self, child);
  }
  root->task = joiner;
  root->interrupts = &joiner->interrupts;
  if (joiner->interrupts.load(std::memory_order_relaxed) != 0) [[unlikely]]
    root->alert.fetch_or(alert_interrupt, std::memory_order_relaxed);
  if (root->worker == worker) [[likely]] {
    joiner->word.joined(joining);
  } else {
    (void)joiner->word.run_on(root->worker->index + 1);
  }
  return Ran::yes;
}

// The joiner's innermost scope is the child's nursery, so whatever cancels the joiner cancels the child: it may run
// here instead of being waited for.
template <Young young>
[[gnu::always_inline]] inline Ran join_by_running(TaskCore* task) {
  NurseryCore* nursery = task->nursery;
  if (nursery == nullptr) return Ran::no;
  FiberCore* self = current_core();
  const TaskCore* joiner = self->root->task;
  // By its address first: unless it is the scope that the joiner stands in, the nursery may be gone by now.
  if (joiner == nullptr || joiner->scope != &nursery->scope || nursery->owner != joiner) return Ran::no;
  return run_young<young>(*nursery, self, task);
}

[[gnu::noinline]] void join_by_waiting(TaskCore* task) {
  WakeReason reason;
  join_task(*task, seam::no_deadline, Raise::yes, reason);
}

}  // namespace

std::uintptr_t in_place_floor(const TaskCore& joiner, const FiberCore& self) {
  const WorkerCore* worker = self.root->worker;
  if (worker == nullptr || !worker->in_place || (joiner.flags & (task_pinned | task_big_stack | task_thread)) ||
      joiner.strand != nullptr)
    return ~std::uintptr_t{0};
  const std::uintptr_t floor = self.slot.floor();
  return floor + (reinterpret_cast<std::uintptr_t>(&self) - floor) / 2;
}

bool run_own_child(NurseryCore& nursery, FiberCore* self) {
  return run_young<Young::any>(nursery, self, nullptr) != Ran::no;
}

void join_handle(TaskCore* task) {
  if (join_by_running<Young::held>(task) == Ran::no) join_by_waiting(task);
}

WorkerCore* join_last_handle(TaskCore* task) {
  const Ran ran = join_by_running<Young::last>(task);
  if (ran == Ran::plainly) [[likely]]
    return task->root->worker;
  if (ran == Ran::no) join_by_waiting(task);
  return nullptr;
}

}  // namespace weft::inline v0::detail
