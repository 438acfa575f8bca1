// SPDX-License-Identifier: MIT
// Relaxed: alerts are looked at again where they matter; interrupts are counted by their own protocol; the rest is
// this worker's own.
#include "sched/dispatch.hpp"

#include <algorithm>
#include <source_location>
#include <utility>

#include "fiber/bindings.hpp"
#include "fiber/fp_words.hpp"
#include "fiber/options.hpp"
#include "fiber/virtual_core.hpp"
#include "sched/director.hpp"
#include "sched/foreign_loop.hpp"
#include "sched/fork.hpp"
#include "sched/in_place.hpp"
#include "sched/job.hpp"
#include "sched/leave.hpp"
#include "sched/park.hpp"
#include "sched/records.hpp"
#include "sched/scope.hpp"
#include "sched/search.hpp"
#include "sched/stack_marks.hpp"
#include "sched/stack_owner.hpp"
#include "sched/task_end.hpp"
#include "sched/tracer.hpp"
#include "weft/detail/point.hpp"

namespace weft::inline v0::detail {
namespace {

// Its slices in the trace, how deep it went. The record may be gone, and the worker another one, when it has ended.
[[gnu::noinline, gnu::cold]] void run_watched(const FiberCore* core, Worker& worker, TaskCore* task) {
  const std::uint64_t id = task->id;
  const std::source_location site = task->site;
  if (worker.trace != nullptr) note_begin(*worker.trace, *task, true);
  run_body(task);
  if (option_watermark) note_stack_depth(*core, site);
  if (TraceRing* trace = static_cast<Worker*>(core->worker)->trace) note(*trace, TraceNote::ends, id);
}

// Runs one task on this virtual core.
void run_task(FiberCore* core, TaskCore* task) {
  Worker& worker = *static_cast<Worker*>(core->worker);
  core->base = core->task = task;
  core->flat_floor = flat_floor(*task, *core);
  core->bindings = std::exchange(task->bindings, nullptr);
  core->site = task->site;
  task->root = core;
  task->last_worker = static_cast<std::uint16_t>(worker.index);
  (void)task->word.run_on(worker.index + 1);
  count_begun(worker, *task);
  task->id.settle_by(&worker);
  seam::light_fence();  // pairs with the heavy fence of interrupt_task
  if (task->interrupts.load(std::memory_order_relaxed) != 0) [[unlikely]]
    core->alert.fetch_or(alert_interrupt, std::memory_order_relaxed);
  const bool bound = (task->flags & task_pinned) || task->strand != nullptr;
  if (bound) [[unlikely]]
    core->place |= above_bound;
  if (worker.watched) [[unlikely]]
    run_watched(core, worker, task);
  else
    run_body(task);
  if (core->alert.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    refuse_if_forked(*core);
    if (core->alert.load(std::memory_order_relaxed) & alert_fp) {
      fp_words_recall(static_cast<Worker*>(core->worker)->loop);  // of this thread, which may be another by now
      fp_words_default(core->fp_words);
    }
    core->alert.fetch_and(alert_directed | alert_runtime, std::memory_order_relaxed);
  }
  if (bound) [[unlikely]]
    core->place &= ~Place{above_bound};
  if (core->user_destroy != nullptr) [[unlikely]]
    std::exchange(core->user_destroy, nullptr)(std::exchange(core->user_slot, nullptr));
  core->base = core->task = nullptr;
}

// What a virtual core does all its life.
void core_loop(FiberCore* core) {
  for (;;) {
    Worker* worker = static_cast<Worker*>(core->worker);
    arrive(*worker);
    TaskCore* task = std::exchange(worker->assigned, nullptr);
    Entry next;
    while (task != nullptr) {
      run_task(core, task);
      worker = static_cast<Worker*>(core->worker);  // maybe another one than before
      task = nullptr;
      if (TaskCore* joiner = std::exchange(worker->handoff, nullptr)) {
        worker->count_tick();
        ++worker->counters.handoffs;
        next = Entry(joiner, entry_task);
      } else {
        next = next_local(*worker);
      }
      // The same hot stack for the next that has none.
      if (next) task = fresh_task_of(*worker, next);
    }
    worker->left = Left::core(*core);
    leave_for(*worker, core, next);
  }
}

FiberCore* take_core_of(Worker& worker) {
  if (worker.core_count > 0) [[likely]] {
    ++worker.counters.cores_reused;
    return worker.cores[--worker.core_count];
  }
  return nullptr;
}

void put_core(Worker& worker, FiberCore* core) {
  if (worker.checked) {
    check_left(*core);
    give_stack(*core);
  }
  if (worker.core_count < Worker::core_cache && core->slot.shift == worker.core_shift) [[likely]] {
    worker.cores[worker.core_count++] = core;
  } else {
    destroy_virtual_core(*worker.carrier, core);
  }
}

}  // namespace

namespace {

bool is_queueable(const TaskCore& task) {
  const TaskState state = task.word.look().state();
  return state == TaskState::fresh || state == TaskState::runnable;
}

// In the trace one slice ends before the next begins; its stack is left a moment later.
void note_leaving(const Worker& worker) {
  if (worker.trace == nullptr) return;
  if (const TaskCore* task = worker.left.task()) note_left(*worker.trace, *task, worker.left.yields());
}

[[gnu::noinline]] void put_back(Worker& worker, TaskCore* task, bool yields) {
  if (yields) return requeue_yielder(worker, task);
  StrandCore* strand = task->strand;  // before it may run elsewhere
  if (task->word.leave() == TaskWord::Queue::you) make_ready(task, task->word.look().reason());
  if (strand != nullptr) give_up_strand(worker, strand);
}

// The stack that was left is nobody's, before anybody may take it [OWN-1].
void check_departure(const TaskCore& task, bool yields) {
  check_left(*task.top);
  check_left(*task.top->root);
  if (yields) {
    WEFT_ASSERT(is_queueable(task), "only a RUNNABLE task is put back");
  } else {
    task.word.check_may_be_left();
  }
  give_stack(*task.top->root);
}

}  // namespace

void watch_departure(const Worker& worker, const TaskCore& task) {
  note_leaving(worker);
  if (worker.checked) {
    task.word.check_may_run();
    take_stack(*task.top->root, worker.index);
  }
  if (worker.trace != nullptr) note_begin(*worker.trace, task, false);
}

void arrive_from(Worker& worker, Left left) {
  if (FiberCore* core = left.core()) return put_core(worker, core);
  TaskCore* task = left.task();
  if (worker.checked) check_departure(*task, left.yields());
  put_back(worker, task, left.yields());
}

void arrive(Worker& worker) {
  arrive_here(worker);
}

namespace {

[[gnu::noinline]] Entry take_by_age(Worker& worker) {
  return worker.age.take(worker.deque, worker.picks);
}
// The newest, but for [AGE-1].
[[gnu::always_inline]] inline Entry next_unstarted(Worker& worker) {
  return worker.deque.pop_of(worker.age.patience(), [&] { return take_by_age(worker); });
}

}  // namespace

Entry next_unready(Worker& worker) {
  if (const Entry entry = next_unstarted(worker)) return entry;
  if (const Entry entry = worker.pinned.pop()) return entry;
  return worker.pop_inbox();
}

// Unstarted ones get a turn among those that only yield to each other.
Entry next_in_turn(Worker& worker) {
  if (const Entry entry = next_unstarted(worker)) return entry;
  if (const Entry entry = worker.ready.pop(true)) return entry;
  return next_unready(worker);
}

Entry next_local(Worker& worker) {
  return next_of(worker);
}

namespace {

// A job becomes a task by a record. Where there is none at hand it is made on the worker's own stack: who parks neither
// locks nor allocates, and has nobody to throw to.
bool lacks_record(const Worker& worker, Entry entry) {
  return entry.kind() == entry_job && worker.free_records == nullptr;
}
// False: there is none to be had, and its forker is told so.
[[gnu::noinline, gnu::cold]] bool find_record(Worker& worker, Entry entry) {
  try {
    give_record(&worker, take_record(&worker));
    return true;
  } catch (...) {
    fail_job(worker, entry.as<Job>(), std::current_exception());
    return false;
  }
}

// Of what is none before somebody begins it. Does not lack its record.
TaskCore* task_begun(Worker& worker, Entry entry) {
  if (entry.kind() == entry_job) return task_for_job(worker, entry.as<Job>());
  auto* child = entry.as<TaskCore>();
  fill_child(*child);
  return child;
}

}  // namespace

TaskCore* fresh_task_of(Worker& worker, Entry& entry) {
  if (lacks_record(worker, entry)) [[unlikely]]
    return nullptr;
  if (entry.kind() == entry_job || entry.kind() == entry_child) return task_begun(worker, std::exchange(entry, {}));
  if (entry.kind() == entry_strand) return nullptr;
  auto* task = entry.as<TaskCore>();
  if (task->top != nullptr || (task->flags & task_own_stack)) return nullptr;
  entry = {};
  return task;
}

void* leave_for_other(Worker& worker, FiberCore* self, Entry entry) {
  FiberCore* to = worker.loop;
  if (entry) {
    entry = unwrap_strand(worker, entry);
    auto* task = entry && entry.kind() == entry_task ? entry.as<TaskCore>() : nullptr;
    if (task != nullptr && task->top != nullptr) return leave_for(worker, self, entry);
    if (entry && worker.core_count > 0 && (task == nullptr || !(task->flags & task_own_stack)) &&
        !lacks_record(worker, entry)) {
      to = take_core_of(worker);
      if (worker.checked) take_stack(*to, worker.index);
      Entry fresh = entry;
      worker.assigned = fresh_task_of(worker, fresh);
    } else {
      worker.kept = entry;  // the loop finds a stack for it, and a record
    }
  }
  note_leaving(worker);
  if (to == self) {  // the loop itself, with nothing to run
    arrive(worker);
    return to;
  }
  return change_to(worker, self, to, to);
}

void* leave_for(Worker& worker, FiberCore* self, Entry entry) {
  return leave_here_for(worker, self, entry);
}

void run_entry(Worker& worker, Entry entry) {
  entry = unwrap_strand(worker, entry);
  if (!entry) return;
  if (lacks_record(worker, entry) && !find_record(worker, entry)) return;
  auto* task = entry.kind() == entry_task ? entry.as<TaskCore>() : nullptr;
  const bool fresh = task == nullptr || task->top == nullptr;
  if (fresh && (worker.core_count == 0 || (task != nullptr && (task->flags & task_own_stack)))) {
    try {
      const std::size_t size =
          task != nullptr && (task->flags & task_own_stack) ? stack_wish(*task) : worker.runtime->options.stack_size;
      FiberCore* core = create_virtual_core(*worker.carrier, size, core_loop);
      ++worker.counters.cores_made;
      if (worker.runtime->director != nullptr) core->alert.store(alert_directed, std::memory_order_relaxed);
      if (task != nullptr && (task->flags & task_own_stack)) {
        task->flags = static_cast<std::uint16_t>((task->flags & ~task_own_stack) | task_big_stack);
      } else {
        worker.core_shift = core->slot.shift;
      }
      if (worker.core_count == Worker::core_cache)
        destroy_virtual_core(*worker.carrier, worker.cores[--worker.core_count]);
      worker.cores[worker.core_count++] = core;
    } catch (...) {
      // No stack to be had: the task fails with the reason, as if its first instruction had thrown.
      if (task == nullptr) task = task_begun(worker, entry);
      (void)task->word.run_on(worker.index + 1);
      count_begun(worker, *task);
      fail_unstarted(task, std::current_exception());
      return;
    }
  }
  leave_for(worker, worker.loop, entry);
}

void directed_loop(Worker& worker) {
  worker.enter(WorkerState::active);
  while (const Entry entry = worker.runtime->director->next(worker)) {
    ++worker.counters.dispatches;
    run_entry(worker, entry);
  }
}

void push_pinned(RuntimeCore& runtime, const Worker* here, TaskCore* task) {
  Worker& home = runtime.worker(task->pinned_to);
  home.pinned.push(Entry(task, entry_task));
  if (&home != here) IdleSet::notify(home.idle_node);
  if (ForeignLoop* loop = runtime.foreign.load(std::memory_order_relaxed)) [[unlikely]]
    loop->ring();
}

namespace {

// `worker`: of this runtime, or null.
void queue_ready(RuntimeCore& runtime, Worker* worker, TaskCore* task) {
  const Entry entry(task, entry_task);
  if (task->strand != nullptr) return enter_strand(runtime, worker, task);  // [STR-3]
  if (task->flags & task_pinned) return push_pinned(runtime, worker, task);
  if (worker == nullptr) return wake_from_outside(runtime, task);
  ++worker->counters.wakes;
  if (worker->own_queues) {
    worker->ready.push_slot(entry);
  } else if (runtime.options.migration_check) {
    push_elsewhere(runtime, task);
  } else {
    inject(runtime, entry);
  }
}

}  // namespace

// Before it is queued: it may begin at once.
void note_wake(const TaskCore& task) {
  if (task.flags & task_thread) return;
  RuntimeCore& runtime = *runtime_of(task);
  if (runtime.tracer == nullptr) [[likely]]
    return;
  auto* worker = static_cast<Worker*>(this_worker());
  if (worker != nullptr && worker->runtime == &runtime) {
    note(*worker->trace, TraceNote::woken, task.id);
  } else {
    runtime.tracer->outside(TraceNote::woken, task.id);
  }
}

namespace {

// Is this that worker? By the stack that it is on, which costs less than to ask for the fiber here. False of inner
// fibers and larger stacks. relaxed: [LEAVE-2]
[[gnu::always_inline]] inline bool is_run_here(const Worker& worker) {
  return is_on_stack_of(worker.here.load(std::memory_order_relaxed));
}

[[gnu::noinline]] void deliver_elsewhere(TaskCore* task) {
  if (task->word.deliver() == TaskWord::Queue::you) make_ready(task, WakeReason::data);
}
[[gnu::noinline]] void displace_slot(ReadyQueue& ready, Entry entry) {
  ready.push_slot<true>(entry);
}

}  // namespace

// Ends with its calls, so that the usual way saves no register.
void deliver_wake(TaskCore* task) {
  const FiberCore* root = task->root;
  auto* worker = static_cast<Worker*>(root->worker);
  // The usual one: it ran here, and runs here again.
  if (worker == nullptr || !is_run_here(*worker) || !worker->plain || (root->above() & above_bound)) [[unlikely]]
    return deliver_elsewhere(task);
  if (task->word.deliver_runnable<false>() != TaskWord::Queue::you) [[unlikely]]
    return;
  ++worker->counters.wakes;
  if (!worker->ready.fill_slot(Entry(task, entry_task))) [[unlikely]]
    displace_slot(worker->ready, Entry(task, entry_task));
}

void make_ready(TaskCore* task, WakeReason) {
  if (WEFT_SPEC_ON()) task->word.check_may_be_queued();
  note_wake(*task);
  task->word.make_runnable();
  if (task->flags & task_thread) {
    task->futex().store(1, std::memory_order_release);
    seam::futex_wake(task->futex(), 1);
    return;
  }
  RuntimeCore& runtime = *runtime_of(*task);
  auto* worker = static_cast<Worker*>(this_worker());
  if (worker != nullptr && worker->runtime == &runtime) [[likely]]
    return queue_ready(runtime, worker, task);
  if (worker == nullptr && runtime.virtual_time != nullptr) know_this_thread();
  const Visit visit(runtime.visitors);
  queue_ready(runtime, nullptr, task);
}

bool gather_ready(RuntimeCore& runtime, TaskCore* task, Chain& into) {
  if ((task->flags & (task_pinned | task_thread)) || task->strand != nullptr || runtime.options.migration_check ||
      runtime_of(*task) != &runtime) {
    make_ready(task, WakeReason::data);
    return false;
  }
  if (WEFT_SPEC_ON()) task->word.check_may_be_queued();
  note_wake(*task);
  task->word.make_runnable();
  into.push_back(Entry(task, entry_task));
  return true;
}

bool stays_on(const Worker& worker, const TaskCore& task) {
  return worker.plain && !(task.flags & (task_pinned | task_thread)) && task.strand == nullptr &&
         runtime_of(task) == worker.runtime;
}

void queue_here(Worker& worker, Chain&& ready, std::size_t count, TaskCore* last) {
  worker.counters.wakes += count + 1;
  worker.ready.push_all(std::move(ready), count, Entry(last, entry_task));
}

void wake_joiner(Worker& worker, TaskCore* joiner, Ticket ticket) {
  if (joiner->word.wake(ticket, WakeReason::child) != TaskWord::Wake::queue_it) return;
  const FiberCore* here = current_core();
  if (worker.steals && here != worker.loop && here->user_destroy == nullptr &&
      !(joiner->flags & (task_pinned | task_thread)) && joiner->strand == nullptr &&
      runtime_of(*joiner) == worker.runtime) [[likely]] {
    ++worker.counters.wakes;
    if (worker.trace != nullptr) [[unlikely]]
      note(*worker.trace, TraceNote::woken, joiner->id);
    joiner->word.make_runnable();
    worker.handoff = joiner;
  } else {
    make_ready(joiner, WakeReason::child);
  }
}

void inject(RuntimeCore& runtime, Entry entry) {
  WEFT_SPEC(entry.kind() != entry_task || is_queueable(*entry.as<TaskCore>()),
            "only a new or a RUNNABLE task is queued");
  runtime.global.push(entry);
  seam::fence(std::memory_order_seq_cst);  // pairs with the sleeper's heavy fence
  if (runtime.idle.wants_wake()) {
    if (IdleNode* node = runtime.idle.wake_one(false)) IdleSet::notify(*node);
  }
  if (ForeignLoop* loop = runtime.foreign.load(std::memory_order_relaxed)) [[unlikely]]
    loop->ring();
}

void push_shared(WorkerCore* worker, Entry entry) {
  inject(*worker->runtime, entry);
  point("spawn");
}

void wake_searcher(WorkerCore* worker) {
  if (IdleNode* node = worker->runtime->idle.wake_one(false)) {
    ++static_cast<Worker*>(worker)->counters.futex_wakes;
    IdleSet::notify(*node);
  }
}

void requeue_yielder(Worker& worker, TaskCore* task) {
  const Entry entry(task, entry_task);
  if (Director* director = worker.runtime->director; director != nullptr && director->sent_away == task) [[unlikely]] {
    director->sent_away = nullptr;  // [DIR-2]
    return;
  }
  if (task->strand != nullptr) {
    StrandCore* strand = task->strand;
    enter_strand(*worker.runtime, &worker, task);
    give_up_strand(worker, strand);
  } else if (task->flags & task_pinned) {
    worker.pinned.push(entry);
  } else if (worker.own_queues) {
    worker.ready.push_back(entry);
  } else if (worker.runtime->options.migration_check) {
    task->last_worker = static_cast<std::uint16_t>(worker.index);
    push_elsewhere(*worker.runtime, task);
  } else {
    inject(*worker.runtime, entry);
  }
}

}  // namespace weft::inline v0::detail
