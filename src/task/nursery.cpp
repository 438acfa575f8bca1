// SPDX-License-Identifier: MIT
// Relaxed: a record that no other thread knows yet.
#include "weft/nursery.hpp"

#include <typeinfo>

#include "fiber/bindings.hpp"
#include "fiber/failure.hpp"
#include "sched/dispatch.hpp"
#include "sched/park.hpp"
#include "sched/records.hpp"
#include "sched/scope.hpp"
#include "sched/task_end.hpp"
#include "weft/runtime_error.hpp"

namespace weft::inline v0::detail {
namespace {

// The Cancelled that this nursery's own scope asked for ends here.
bool is_own_cancel(const NurseryCore& nursery, const std::exception_ptr& failure) {
  if (*failure.__cxa_exception_type() != typeid(Cancelled)) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const Cancelled& cancelled) {
    return cancelled.scope() == &nursery.scope && is_requested(nursery.scope);
  }
}

// The others stay beside the one that is thrown: weft::other_errors() in its handler.
void attach_others(const std::exception_ptr& first, std::vector<std::exception_ptr>&& others) {
  Carrier& carrier = *current_core()->root->carrier;
  if (carrier.failure == nullptr) carrier.failure = new Failure;
  if (carrier.failure->exception != first) {
    carrier.failure->exception = first;
    carrier.failure->trace.parts.clear();
  }
  carrier.failure->others = std::move(others);
}

}  // namespace

void open_nursery(NurseryCore& nursery, const NurseryOptions& options) {
  TaskCore* task = task_here();
  nursery.owner = task;
  nursery.here = current_core();
  std::int64_t deadline = seam::no_deadline;
  if (options.deadline != std::chrono::nanoseconds::max()) deadline = deadline_after(options.deadline);
  open_scope(nursery.scope, task, static_cast<std::uint8_t>(scope_nursery | (options.lazy ? scope_lazy : 0)), deadline);
}

void throw_failures(NurseryCore& nursery) {
  std::exception_ptr first = std::move(nursery.first);
  if (nursery.others != nullptr) {
    attach_others(first, std::move(*nursery.others));
    delete nursery.others;
  }
  std::rethrow_exception(std::move(first));
}

std::exception_ptr close_nursery(NurseryCore& nursery, std::exception_ptr failure) {
  if (failure != nullptr) {
    if (is_own_cancel(nursery, failure)) {
      failure = nullptr;
    } else if (*failure.__cxa_exception_type() == typeid(Cancelled)) {
      request_scope(nursery.scope, CancelReason::user);  // from further out: the children have it already, or soon
    } else {
      nursery_failed(nursery, failure);
    }
  }
  join_children(nursery);
  close_scope(nursery.scope, nursery.owner);
  std::exception_ptr first = nursery.first != nullptr ? std::move(nursery.first) : std::move(failure);
  if (nursery.others != nullptr) {
    attach_others(first, std::move(*nursery.others));
    delete nursery.others;
  }
  return first;
}

void close_quiet_nursery(NurseryCore& nursery) {
  if (!nursery.count.none_left(nursery.plain)) join_children(nursery);
  if (nursery.first == nullptr) [[likely]]
    return close_scope(nursery.scope, nursery.owner);
  std::rethrow_exception(close_nursery(nursery, nullptr));
}

TaskCore* take_child_record() {
  return take_shared_record();
}

Binding* snapshot_bindings() {
  return retain_bindings(bindings_holder(current_core())->bindings);
}

void spawn_apart(NurseryCore& nursery, TaskCore* task) {
  auto* worker = static_cast<Worker*>(this_worker());
  RuntimeCore* runtime = nullptr;
  if (worker != nullptr) {
    runtime = worker->runtime;
  } else if (nursery.owner->root->worker != nullptr) {
    runtime = nursery.owner->root->worker->runtime;
  }
  if (runtime == nullptr) {
    abandon_task(task);
    drop_handle(task);
    throw RuntimeError(
        RuntimeErrc::not_in_task,
        "spawn in a nursery of a plain thread: nobody would run the child; open the nursery inside weft::run");
  }
  task->bindings = snapshot_bindings();
  task->id = worker != nullptr ? task_id_for(worker) : fresh_task_ids(nullptr);
  // [NUR-2]
  if (this_task() == nursery.owner) {
    ++nursery.plain;
  } else {
    nursery.count.add(1);
  }
  runtime->live.started(worker != nullptr ? worker->index : runtime->live.outside());
  launch(*runtime, worker, task, true);
}

}  // namespace weft::inline v0::detail
