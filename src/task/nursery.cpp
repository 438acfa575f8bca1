// SPDX-License-Identifier: MIT
// Relaxed: a record that no other thread knows yet.
#include "weft/nursery.hpp"

#include <utility>

#include "fiber/bindings.hpp"
#include "fiber/thrown.hpp"
#include "sched/dispatch.hpp"
#include "sched/intercept.hpp"
#include "sched/park.hpp"
#include "sched/records.hpp"
#include "sched/scope.hpp"
#include "sched/task_end.hpp"
#include "weft/runtime_error.hpp"

namespace weft::inline v0::detail {
namespace {

// The Cancelled that this nursery's own scope asked for ends here.
bool is_own_cancel(const NurseryCore& nursery, const Cancelled& cancelled) {
  return cancelled.scope() == &nursery.scope && is_requested(nursery.scope);
}

// The others stay beside the one that is thrown: weft::other_errors() in its handler.
std::exception_ptr take_failures(NurseryCore& nursery) {
  if (nursery.others != nullptr) {
    keep_beside(nursery.first, *nursery.others);
    delete std::exchange(nursery.others, nullptr);
  }
  return std::move(nursery.first);
}

// From now on whoever spawns in it, the owner too, comes by spawn_apart and is refused there.
void end_nursery(NurseryCore& nursery) {
  close_scope_inline(nursery.scope, std::exchange(nursery.owner, nullptr), nursery.here);
}

// The body, or a task below it? So it is as long as this answers yes. Only what is around the spawner is looked at, and
// of the nursery its address: it may be gone.
bool stands_in(const TaskCore& spawner, const NurseryCore& nursery) {
  for (const ScopeCore* scope = spawner.scope; scope != nullptr; scope = scope->parent)
    if (scope == &nursery.scope) return true;
  return false;
}

// A thread outside is around nothing: for it the body must wait. That one has ended is seen for as long as its place on
// the stack is nobody else's; a Nursery lies there itself, so that its user reads what is gone before we do.
bool takes_children(const TaskCore* spawner, const NurseryCore& nursery) {
  if (spawner != nullptr && !(spawner->flags & task_thread)) return stands_in(*spawner, nursery);
  return nursery.owner != nullptr;
}

[[noreturn]] void refuse_child(TaskCore* task, const char* why) {
  abandon_task(task);
  drop_handle(task);
  throw RuntimeError(RuntimeErrc::not_in_task, why);
}

[[gnu::always_inline]] inline void open(NurseryCore& nursery, std::uint8_t flags, std::int64_t deadline) {
  FiberCore* self = current_core();
  TaskCore* task = self->root->task != nullptr ? self->root->task : task_here();
  nursery.owner = task;
  nursery.here = self;
  if (const WorkerCore* worker = self->root->worker) {
    nursery.runtime = worker->runtime;
    if (self->root == self && worker->unseen) nursery.root = self;
  }
  open_scope_inline(nursery.scope, task, self, flags, deadline);
}

[[noreturn, gnu::noinline]] void throw_closing(NurseryCore& nursery) {
  std::rethrow_exception(close_nursery(nursery, nullptr));
}

}  // namespace

void open_nursery(NurseryCore& nursery) {
  open(nursery, scope_nursery, seam::no_deadline);
}

void open_nursery(NurseryCore& nursery, const NurseryOptions& options) {
  const bool ends = options.deadline != std::chrono::nanoseconds::max();
  open(nursery, static_cast<std::uint8_t>(scope_nursery | (options.lazy ? scope_lazy : 0)),
       ends ? deadline_after(options.deadline) : seam::no_deadline);
}

void throw_failures(NurseryCore& nursery) {
  std::rethrow_exception(take_failures(nursery));
}

std::exception_ptr close_nursery(NurseryCore& nursery, std::exception_ptr failure) {
  if (failure != nullptr) {
    const Cancelled* cancelled = thrown_as<Cancelled>(failure);
    if (cancelled != nullptr && is_own_cancel(nursery, *cancelled)) {
      failure = nullptr;
    } else if (cancelled != nullptr && was_asked(*nursery.owner, nursery.scope.parent, *cancelled)) {
      request_scope(nursery.scope, CancelReason::user);  // from further out: the children have it already, or soon
    } else {
      nursery_failed(nursery, failure);
    }
  }
  join_children(nursery);
  end_nursery(nursery);
  return nursery.first != nullptr ? take_failures(nursery) : failure;
}

void close_quiet_nursery(NurseryCore& nursery) {
  if (!nursery.count.none_left(nursery.plain) &&
      !(run_own_children(nursery, current_core_near(nursery.here)) && nursery.count.none_left(nursery.plain)))
    join_children(nursery);
  if (nursery.first == nullptr) [[likely]]
    return end_nursery(nursery);
  throw_closing(nursery);
}

TaskCore* take_child_record() {
  WorkerCore* worker = this_worker();
  return worker != nullptr ? take_record(worker) : take_shared_record();
}

Binding* snapshot_bindings() {
  return inherited_bindings(current_core());
}

void spawn_child(NurseryCore& nursery, TaskCore* task) {
  const FiberCore* here = current_core_near(nursery.here);
  WorkerCore* worker = here->root->worker;
  // Bindings to be inherited, or somebody above who catches I/O.
  const bool inherits = here->bindings != nullptr || here->shared_with != nullptr || (here->above() & above_io);
  if (worker == nullptr || here->root->task != nursery.owner || inherits) return spawn_apart(nursery, task);
  ++nursery.plain;  // [NUR-1] [NUR-2]
  task->root = here->root;
  task->id = task_id_for(worker);
  push_young(worker, Entry(task, entry_task));
}

void spawn_apart(NurseryCore& nursery, TaskCore* task) {
  may_spawn(task);
  if (!takes_children(this_task(), nursery))
    refuse_child(task,
                 "spawn in a nursery that has ended, or that is not around the task that spawns: a child is spawned by "
                 "the body, by another child or what that spawned, or by a thread for which the body waits");
  // Not by way of the owner, which may be moving to another worker just now.
  RuntimeCore* runtime = nursery.runtime;
  auto* worker = static_cast<Worker*>(this_worker());
  if (worker != nullptr && worker->runtime != runtime) worker = nullptr;  // of another runtime: a thread outside
  if (runtime == nullptr)
    refuse_child(task,
                 "spawn in a nursery of a plain thread: nobody would run the child; open the nursery inside weft::run");
  task->bindings = snapshot_bindings();
  task->root = worker != nullptr ? worker->loop : nullptr;  // until it starts: which runtime it belongs to
  if (task->flags != 0 || task->bindings != nullptr)
    task->life.store(task->life.load(std::memory_order_relaxed) | life_uncommon, std::memory_order_relaxed);
  task->id = worker != nullptr ? task_id_for(worker) : fresh_task_ids(nullptr);
  // [NUR-2]
  if (this_task() == nursery.owner) {
    ++nursery.plain;
  } else {
    nursery.count.add(1);
  }
  launch(*runtime, worker, task, !(task->flags & task_fifo));
}

}  // namespace weft::inline v0::detail
