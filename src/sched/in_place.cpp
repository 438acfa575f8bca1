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
#include "sched/park.hpp"
#include "sched/scope.hpp"
#include "sched/task_end.hpp"
#include "weft/detail/nursery_core.hpp"
#include "weft/task.hpp"

namespace weft::inline v0::detail {
namespace {

// May tasks run on the stack at hand, below what stands there now? Half of it must be left.
[[gnu::always_inline]] inline bool room_in_place(const TaskCore& joiner, const FiberCore& self) {
  if ((joiner.flags & (task_pinned | task_big_stack | task_thread)) || joiner.strand != nullptr) return false;
  const std::uintptr_t floor = self.slot.floor();
  return stack_pointer() - floor >= (reinterpret_cast<std::uintptr_t>(&self) - floor) / 2;
}

// The child runs inside an inner fiber, or bindings are about.
[[gnu::noinline]] void run_inside_boundary(FiberCore* self, TaskCore* child) {
  const Boundary boundary(self, std::exchange(child->bindings, nullptr));
  run_body(child);
}

[[gnu::noinline, gnu::cold]] void end_with(TaskCore* child, _Unwind_Exception* exception) {
#if defined(WEFT_CONTEXT_BOOST)
  (void)exception;
  end_task(child, nullptr, false);
#else
  end_task(child, exception != nullptr ? take_exception(exception) : nullptr, false);
#endif
}

// The plain case: on a virtual core's own frames, without bindings.
template <bool held>
[[gnu::always_inline]] inline void run_here(WorkerCore* worker, FiberCore* root, NurseryCore& nursery, TaskCore* child,
                                            TaskMoment running) {
  FiberCore* const below = std::exchange(root->child, nullptr);
  ThreadEh* thread = root->thread_eh;
  const EhGlobals eh{thread->caught, thread->uncaught, 0};
  *thread = {nullptr, 0};
#if defined(WEFT_CONTEXT_BOOST)
  (void)worker;
  (void)nursery;
  (void)running;
  run_body(child);
#else
  _Unwind_Exception* exception = weft_guarded_call(child->code, child, TaskOp::run);
  bool ended = false;
  // It never parked nor yielded, so it is still on this worker; it has neither timer nor place in a list.
  if (held && exception == nullptr && child->word.still(running) && child->top == nullptr) [[likely]] {
    child->word.finish_from(running);
    seam::light_fence();  // [JOIN-1]
    if (child->waiters.load(std::memory_order_relaxed) == nullptr) [[likely]] {
      child->life.store(child->life.load(std::memory_order_relaxed) | life_ended, std::memory_order_relaxed);
      worker->finished->store(worker->finished->load(std::memory_order_relaxed) + 1, std::memory_order_release);
      --nursery.plain;
      ended = true;
    }
  }
  if (!ended) [[unlikely]]
    end_with(child, exception);
#endif
  root->child = below;
  thread = root->thread_eh;
  *thread = {eh.caught, eh.uncaught};
}

// `wanted`, or (null) whichever child of this nursery is the youngest. A wanted one is held by its handle.
template <bool any>
[[gnu::always_inline]] inline bool run_young(NurseryCore& nursery, FiberCore* self, TaskCore* wanted) {
  FiberCore* root = self->root;
  WorkerCore* worker = root->worker;
  TaskCore* joiner = nursery.owner;
  if (worker == nullptr || !worker->in_place || !room_in_place(*joiner, *self)) [[unlikely]]
    return false;
  // A child starts with the default floating-point words; only switches change them.
  if (root->alert.load(std::memory_order_relaxed) & alert_fp) [[unlikely]]
    return false;
  const Entry entry = worker->deque.pop();
  if (!entry) return false;
  TaskCore* child = any ? entry.as<TaskCore>() : wanted;
  const bool ours = any ? entry.kind() == entry_task && child->nursery == &nursery : entry == Entry(wanted, entry_task);
  if (!ours || (child->flags & task_own_stack)) [[unlikely]] {
    (void)worker->deque.push(entry);  // it came from there: there is room
    return false;
  }
  worker->count_tick();
  ++worker->ran_in_place;
  const TaskMoment joining = joiner->word.join_in_place();
  child->root = root;
  child->flags |= static_cast<std::uint16_t>(task_in_place | (any ? 0 : task_held));
  const TaskMoment running = child->word.start_on(worker->index + 1);
  root->task = child;
  root->interrupts = &child->interrupts;
  seam::light_fence();  // pairs with the heavy fence of interrupt_task
  const bool plain =
      self == root && self->bindings == nullptr && child->bindings == nullptr &&
      child->interrupts.load(std::memory_order_relaxed) == 0 &&
      nursery.scope.clean_epoch.load(std::memory_order_relaxed) == cancel_epoch.load(std::memory_order_acquire) &&
      child->own_cancel() == CancelReason::none;
  if (plain) [[likely]] {
    run_here<!any>(worker, root, nursery, child, running);
  } else {
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
  return true;
}

}  // namespace

bool run_own_child(NurseryCore& nursery, FiberCore* self) {
  return run_young<true>(nursery, self, nullptr);
}

// The joiner's innermost scope is the child's nursery, so whatever cancels the joiner cancels the child: it may run
// here instead of being waited for.
void join_handle(TaskCore* task) {
  if (NurseryCore* nursery = task->nursery) [[likely]] {
    FiberCore* self = current_core_near(nursery->here);
    const TaskCore* joiner = self->root->task;
    if (joiner != nullptr && nursery->owner == joiner && joiner->scope == &nursery->scope &&
        run_young<false>(*nursery, self, task))
      return;
  }
  WakeReason reason;
  join_task(*task, seam::no_deadline, Raise::yes, reason);
}

}  // namespace weft::inline v0::detail
