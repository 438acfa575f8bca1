// SPDX-License-Identifier: MIT
// Relaxed: the record belongs to its last user here; `life` is settled by the acquire and the acq_rel exchange that
// stand there; counters are statistics.
#include "sched/task_end.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "base/sys.hpp"
#include "fiber/bindings.hpp"
#include "fiber/thrown.hpp"
#include "fiber/virtual_core.hpp"
#include "sched/dispatch.hpp"
#include "sched/job.hpp"
#include "sched/join_list.hpp"
#include "sched/park.hpp"
#include "sched/records.hpp"
#include "sched/scope.hpp"
#include "sched/strand.hpp"
#include "sched/task_local.hpp"
#include "sched/waiters.hpp"
#include "weft/detail/nursery_core.hpp"
#include "weft/detail/payload_ops.hpp"
#include "weft/fiber_error.hpp"
#include "weft/task.hpp"
#include "weft/trace.hpp"

namespace weft::inline v0::detail {
namespace {

void drop_outcome(TaskCore* task) noexcept {
  const std::uint16_t flags = task->flags;
  task->flags &= static_cast<std::uint16_t>(~(task_failed | task_has_result));
  if (flags & task_failed) {
    auto* failure = reinterpret_cast<std::exception_ptr*>(task->room);
    const std::exception_ptr leaving = std::move(*failure);
    failure->~exception_ptr();
  } else if (flags & task_has_result) {
    task->code->drop_result(task, nullptr);
  }
}

}  // namespace

// Nobody will ever look at it: say so, with what is known.
void report_failure(const std::string& who, const std::source_location& site, const std::exception_ptr& failure) {
  std::string text = "weft: " + who;
  text += " failed: ";
  try {
    std::rethrow_exception(failure);
  } catch (...) {
    text += describe_exception(failure) + "\n" + to_string(trace());
  }
  text += std::string("  spawned at ") + site.file_name() + ":" + std::to_string(site.line()) + "\n";
  std::size_t done = 0;
  while (done < text.size()) {
    const long n = sys::write(2, text.data() + done, text.size() - done);
    if (sys::is_error(n)) break;
    done += static_cast<std::size_t>(n);
  }
}

void report_unobserved(const TaskCore& task, const std::exception_ptr& failure) {
  std::string who = "detached task " + std::to_string(task.id);
  if (task.name != nullptr) who += std::string(" \"") + task.name + "\"";
  report_failure(who, task.site, failure);
}

void nursery_failed(NurseryCore& nursery, std::exception_ptr failure) noexcept {
  bool first = false;
  // Stopped by this nursery itself, for what has failed before: no failure of its own, of a piece of par neither.
  const Cancelled* cancelled = thrown_as<Cancelled>(failure);
  const bool stopped = cancelled != nullptr && cancelled->scope() == &nursery.scope;
  {
    const std::lock_guard guard(nursery.scope.lock);
    if (nursery.first == nullptr) {
      nursery.first = std::move(failure);
      first = true;
    } else if (nursery.first != failure && !stopped) {
      try {
        // NOLINTNEXTLINE(bugprone-throw-keyword-missing): a list of exceptions, not one
        if (nursery.others == nullptr) nursery.others = new std::vector<std::exception_ptr>;
        // The body may have joined a child whose failure stands here already.
        if (std::find(nursery.others->begin(), nursery.others->end(), failure) == nursery.others->end())
          nursery.others->push_back(std::move(failure));
      } catch (...) {
        // No memory to keep it: the first failure stays.
      }
    }
  }
  if (first) request_scope(nursery.scope, CancelReason::sibling);
}

namespace {

// The last who touches the nursery; its owner may leave it at once [JOB-2].
[[gnu::always_inline]] inline void count_out(Worker& worker, NurseryCore& nursery, TaskCore* owner) {
  const std::uint32_t waits = nursery.count.finish_one();
  if (waits == 0) return;
  const TaskMoment now = owner->word.look();
  if (CountWord::matches(waits, now.ticket())) wake_joiner(worker, owner, now.ticket());
}

}  // namespace

void end_task(TaskCore* task, std::exception_ptr failure, TaskEnd how) {
  bool cancelled = how == TaskEnd::cancelled;
  RuntimeCore& runtime = *this_worker()->runtime;
  NurseryCore* nursery = task->nursery;
  unregister_task(*task);
  forget_timer(*task);
  if (failure != nullptr) [[unlikely]] {
    if (const auto* asked = thrown_as<Cancelled>(failure)) cancelled |= was_asked(*task, task->born_in(), *asked);
    new (task->room) std::exception_ptr(failure);
    task->flags |= task_failed;
    if (cancelled && !(task->flags & task_job)) failure = nullptr;  // nobody's concern; a job's forker needs to know
  }
  TaskCore* owner = nursery != nullptr ? nursery->owner : nullptr;
  StrandCore* strand = task->strand;
  const bool main = task->flags & task_main;
  const bool in_place = task->flags & task_in_place;
  const bool alone = how == TaskEnd::unstarted && (task->flags & task_apart);
  const bool held = task->flags & task_held;  // its joiner writes the flags once it sees the end
  task->word.finish(cancelled);
  // After its end is visible: a joiner that is woken by the request finds what ended the child, wherever that ran.
  if (failure != nullptr && nursery != nullptr && !alone) [[unlikely]]
    nursery_failed(*nursery, failure);
  if (JoinList::anybody(task->waiters)) [[unlikely]]
    wake_waiters(*task);
  // [TASK-2]
  std::uint32_t life = task->life.load(std::memory_order_acquire);
  if (held) {
    task->life.store(life | life_ended, std::memory_order_relaxed);
  } else if (!(life & life_dropped)) {
    life = task->life.fetch_or(life_ended, std::memory_order_acq_rel);
  }
  if (life & life_dropped) {
    if (failure != nullptr && nursery == nullptr && !(task->flags & task_observed)) [[unlikely]] {
      runtime.detached_failures.fetch_add(1, std::memory_order_relaxed);
      report_unobserved(*task, failure);
    }
    if (task->flags & (task_failed | task_has_result)) {
      // Nobody else knows the record any more; the destructor of what it holds is a part of the task, and may wait.
      task->word.make_fresh();
      (void)task->word.run_on(this_worker()->index + 1);
      failure = nullptr;  // what the room holds is the last
      drop_outcome(task);
      unregister_task(*task);
      forget_timer(*task);
      task->word.finish(cancelled);
    }
    free_record(task);
  } else if (life & (life_asking | life_interrupting)) [[unlikely]] {
    // Somebody who asked it to stop still looks at the scope it was born into, which may end with it.
    while (task->life.load(std::memory_order_acquire) & (life_asking | life_interrupting)) seam::yield_thread();
  }
  auto& worker = static_cast<Worker&>(*this_worker());  // the destructor of a result may have waited
  if (strand != nullptr) [[unlikely]] {
    give_up_strand(worker, strand);
    release_strand(strand);
  }
  runtime.live.finished(worker.index);
  seam::light_fence();  // pairs with the heavy fence of who drains, between its flag and its look at the count
  if (main) {
    runtime.run_done.store(1, std::memory_order_release);
    IdleSet::notify(runtime.worker(0).idle_node);
  } else if (runtime.draining.load(std::memory_order_relaxed)) [[unlikely]] {
    IdleSet::notify(runtime.worker(0).idle_node);
  }
  if (nursery == nullptr) return;
  if (in_place) {
    --nursery->plain;
  } else {
    count_out(worker, *nursery, owner);
  }
}

namespace {

// What a task bound dies before it has ended, and as that task.
void drop_bindings() {
  FiberCore* self = current_core();
  if (self->bindings != nullptr) [[unlikely]]
    release_bindings(std::exchange(self->bindings, nullptr));
}

}  // namespace

void run_body(TaskCore* task) {
  ScopeCore* birth = task->born_in();
  if ((birth != nullptr && is_cancelled(*birth)) || task->own_cancel() != CancelReason::none) [[unlikely]]
    return cancel_unstarted(task);
  end_body(task, guarded_call(task, nullptr, &task->code->run));
}

void vacate_room_slow(TaskCore* task) {
  if (task->flags & task_locals) drop_locals(current_core()->root, task);
  drop_bindings();
  if (task->flags & task_locals) drop_locals(current_core()->root, task);  // what a binding's destructor made
  unregister_task(*task);
  forget_timer(*task);
}

void end_body(TaskCore* task, std::exception_ptr failure) {
  if (task->flags & task_locals) [[unlikely]]
    drop_locals(current_core()->root, task);
  drop_bindings();
  end_task(task, std::move(failure), TaskEnd::over);
}

void cancel_unstarted(TaskCore* task) {
  const CancelView view = requested_for(*task);
  task->code->drop_closure(task, nullptr);
  drop_bindings();
  end_task(task, std::make_exception_ptr(Cancelled(view.scope, view.reason)), TaskEnd::cancelled);
}

void fail_unstarted(TaskCore* task, std::exception_ptr why) {
  task->code->drop_closure(task, nullptr);
  release_bindings(std::exchange(task->bindings, nullptr));
  end_task(task, std::move(why), TaskEnd::unstarted);
}

void abandon_task(TaskCore* task) {
  task->code->drop_closure(task, nullptr);
  if (task->strand != nullptr) release_strand(std::exchange(task->strand, nullptr));
  task->word.make_free();
  task->life.store(life_ended, std::memory_order_relaxed);
}

void drop_handle_slow(TaskCore* task) noexcept {
  const std::uint32_t life = task->life.load(std::memory_order_acquire);
  if ((life & life_ended) || (task->life.fetch_or(life_dropped, std::memory_order_acq_rel) & life_ended)) {
    if ((task->flags & task_failed) && task->nursery == nullptr && !(task->flags & task_observed) &&
        task->word.look().state() != TaskState::cancelled) [[unlikely]] {
      if (WorkerCore* here = this_worker()) here->runtime->detached_failures.fetch_add(1, std::memory_order_relaxed);
      report_unobserved(*task, task->failure());
    }
    drop_outcome(task);
    free_record(task);
  }
}

namespace {

void run_job(TaskCore* task, void* /*out*/) {
  Job* mine = *reinterpret_cast<Job**>(task->room);
  mine->run(mine);
}
// Its closure and its result are its forker's.
void leave_job(TaskCore* /*task*/, void* /*out*/) {}
constexpr TaskCode job_code{run_job, run_job, leave_job, leave_job, leave_job};

}  // namespace

TaskCore* task_for_job(Worker& worker, Job* job) {
  TaskCore* task = take_record(&worker);
  new (task->room) Job*(job);
  task->code = &job_code;
  task->top = nullptr;
  task->nursery = job->frame;
  task->scope = &job->frame->scope;
  task->bindings = retain_bindings(job->frame->bindings);
  task->life.store(life_dropped, std::memory_order_relaxed);
  task->flags = task_job;
  task->strand = nullptr;
  task->interrupts.store(0, std::memory_order_relaxed);
  task->id = worker.next_id != worker.end_id ? worker.next_id++ : fresh_task_ids(&worker);
  task->site = job->frame->owner->site;
  task->name = nullptr;
  task->word.make_fresh();
  return task;
}

void fail_job(Worker& worker, Job* job, std::exception_ptr why) {
  NurseryCore& frame = *job->frame;
  TaskCore* owner = frame.owner;
  nursery_failed(frame, std::move(why));
  count_out(worker, frame, owner);
}

}  // namespace weft::inline v0::detail
