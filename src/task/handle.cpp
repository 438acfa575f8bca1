// SPDX-License-Identifier: MIT
// Relaxed: what a spawner writes before the task is pushed; the push publishes it.
#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "sched/dispatch.hpp"
#include "sched/park.hpp"
#include "sched/scope.hpp"
#include "sched/strand.hpp"
#include "sched/task_end.hpp"
#include "weft/detail/nursery_core.hpp"
#include "weft/runtime.hpp"
#include "weft/task.hpp"

namespace weft::inline v0 {

const char* to_string(TaskStatus status) {
  switch (status) {
    case TaskStatus::created:
      return "created";
    case TaskStatus::runnable:
      return "runnable";
    case TaskStatus::running:
      return "running";
    case TaskStatus::waiting:
      return "waiting";
    case TaskStatus::done:
      return "done";
    case TaskStatus::failed:
      return "failed";
    case TaskStatus::cancelled:
      return "cancelled";
  }
  return "?";
}

namespace detail {
namespace {

bool over(const TaskCore* task) {
  return task->word.look().state() >= TaskState::done;
}

}  // namespace

WaitEnd join_handle_by(TaskCore* task, std::int64_t deadline, Raise raise) {
  if (over(task)) return WaitEnd::done;
  if (raise == Raise::quietly && cancel_due(*task_here())) return WaitEnd::cancelled;
  WakeReason reason;
  join_task(*task, deadline, raise, reason);
  if (over(task)) return WaitEnd::done;
  return reason == WakeReason::cancel ? WaitEnd::cancelled : WaitEnd::timed_out;
}

std::exception_ptr outcome_of(TaskCore* task) {
  task->flags |= task_observed;
  return task->failure();
}

void throw_outcome(TaskCore* task) {
  std::rethrow_exception(outcome_of(task));
}

void cancel_task(TaskCore* task) {
  request_task(*task, CancelReason::user);
}

void interrupt_task(TaskCore* task) {
  // Not once it has ended: who ends it waits until nobody asks any more. relaxed: a first look
  std::uint32_t life = task->life.load(std::memory_order_relaxed);
  do {
    if (life & life_ended) return;
  } while (!task->life.compare_exchange_weak(life, life | life_interrupting | life_interrupted,
                                             std::memory_order_acq_rel, std::memory_order_relaxed));
  task->interrupts.fetch_add(1, std::memory_order_seq_cst);
  seam::heavy_fence();  // pairs with run_task's: it sees the interrupt, or this its root
  if (task->word.look().state() != TaskState::fresh)
    task->root->alert.fetch_or(alert_interrupt, std::memory_order_release);
  task->life.fetch_and(~std::uint32_t{life_interrupting}, std::memory_order_release);
}

TaskStatus status_of(const TaskCore* task) {
  switch (task->word.look().state()) {
    case TaskState::free:
    case TaskState::fresh:
      return TaskStatus::created;
    case TaskState::runnable:
      return TaskStatus::runnable;
    case TaskState::running:
    case TaskState::joining:
      return TaskStatus::running;
    case TaskState::parking:
    case TaskState::suspended:
      return TaskStatus::waiting;
    case TaskState::done:
      return task->flags & task_failed ? TaskStatus::failed : TaskStatus::done;
    case TaskState::cancelled:
      return TaskStatus::cancelled;
  }
  return TaskStatus::created;
}

std::string_view name_of(const TaskCore* task) {
  return task->name != nullptr ? task->name : std::string_view();
}

void apply_options(TaskCore* task, const TaskOptions& options) {
  // Without memory for its name a task has none.
  auto* copy =
      options.name.empty() ? nullptr : static_cast<char*>(::operator new(options.name.size() + 1, std::nothrow));
  if (copy != nullptr) {
    std::memcpy(copy, options.name.data(), options.name.size());
    copy[options.name.size()] = '\0';
    task->name = copy;
    task->flags |= task_named;
  }
  if (options.stack_size != 0) {
    task->flags |= task_own_stack;
    task->deadline.store(static_cast<std::int64_t>(options.stack_size), std::memory_order_relaxed);
  }
  if (options.fifo) task->flags |= task_fifo;
  if (options.apart) task->flags |= task_apart;
  if (options.pinned) task->flags |= task_pinned;
  if (options.strand != nullptr) {
    task->strand = options.strand->core();
    task->strand->refs.fetch_add(1, std::memory_order_relaxed);
  }
}

void refuse_empty_task() {
  throw std::logic_error("this Task handle is empty: it was moved from, or never had a task");
}

}  // namespace detail

using namespace detail;

std::uint64_t current_task_id() {
  const TaskCore* task = this_task();
  if (task == nullptr) return 0;
  task->id.settle_by(this_worker());
  return task->id;
}

std::string_view current_task_name() {
  const TaskCore* task = this_task();
  return task != nullptr ? name_of(task) : std::string_view();
}

Strand::Strand() : core_(new StrandCore) {}
Strand::~Strand() {
  release_strand(core_);
}

}  // namespace weft::inline v0
