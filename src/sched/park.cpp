// SPDX-License-Identifier: MIT
// Relaxed: the word, the deadline and the timer's place of a task are written by the task itself while it runs; `now`
// and `tick` are hints.
#include "sched/park.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>

#include "sched/deadlock.hpp"
#include "sched/director.hpp"
#include "sched/dispatch.hpp"
#include "sched/fork.hpp"
#include "sched/in_place.hpp"
#include "sched/leave.hpp"
#include "sched/lock_check.hpp"
#include "sched/records.hpp"
#include "sched/scope.hpp"
#include "sched/thread_worker.hpp"
#include "sched/virtual_time.hpp"
#include "weft/fiber.hpp"
#include "weft/wait.hpp"

namespace weft::inline v0::detail {
namespace {

Worker& worker_here() {
  return *static_cast<Worker*>(this_worker());
}

// The timer of the present wait. One node per task: left armed after a wait, moved only to an earlier time. Whose wheel
// it stands in is told by timer_place, which the task sets and who fires it clears; the node is touched under that
// wheel's lock only.
void arm_timer(TaskCore& task, std::int64_t deadline) {
  Worker& here = worker_here();
  if (here.runtime->virtual_time != nullptr) [[unlikely]]
    return here.runtime->virtual_time->arm(task, deadline);
  while (const unsigned place = task.timer_place.load(std::memory_order_acquire)) {
    Worker& there = here.runtime->worker(place - 1);
    const bool own = &there == &here;
    own ? there.wheel_lock.lock_owner() : there.wheel_lock.lock_other();
    const bool still_there =
        task.timer_place.load(std::memory_order_relaxed) == place;  // neither fired nor handed over
    const bool keep = still_there && task.links.timer.deadline <= deadline;
    if (still_there && !keep) there.wheel.remove(task.links.timer);
    own ? there.wheel_lock.unlock_owner() : there.wheel_lock.unlock_other();
    if (keep) return;
    if (still_there) break;
  }
  here.wheel_lock.lock_owner();
  task.timer_place.store(static_cast<std::uint16_t>(here.index + 1), std::memory_order_relaxed);
  task.links.timer.next = nullptr;  // in no wheel, whatever lay in the room before [TASK-4]
  here.wheel.insert(task.links.timer, deadline);
  if (deadline < here.next_timer.load(std::memory_order_relaxed))  // under the lock: heirs of timers write it, too
    here.next_timer.store(deadline, std::memory_order_relaxed);
  here.wheel_lock.unlock_owner();
  // What is due later is seen by sysmon's next look in time.
  if (deadline < here.now.load(std::memory_order_relaxed) + Pace::soon &&
      Pace::too_slow(here.runtime->sysmon_pace, SysmonPace::slow)) {
    here.owes_ring = true;
    here.want_look();
  }
}

// What is said of a task before its stack is left.
[[gnu::always_inline]] inline void note_park(Worker& worker, TaskCore& task, FiberCore* self, bool plain) {
  ++worker.counters.parks;
  task.top = self;
  task.parked_at = static_cast<std::uint32_t>(worker.now.load(std::memory_order_relaxed) >> 20);
  task.last_worker = static_cast<std::uint16_t>(worker.index);
  worker.left = Left::parks(task, plain);
}

WakeReason park_thread(TaskCore& task, std::int64_t deadline) {
  if (task.word.leave() == TaskWord::Queue::you) {
    task.word.make_runnable();
    task.futex().store(1, std::memory_order_release);
  }
  while (task.futex().load(std::memory_order_acquire) == 0) {
    if (seam::futex_wait(task.futex(), 0, deadline) == seam::WaitResult::timed_out) {
      deadline = seam::no_deadline;
      const TaskMoment now = task.word.look();
      if (task.word.wake(now.ticket(), WakeReason::timeout) == TaskWord::Wake::queue_it) {
        task.word.make_runnable();
        task.futex().store(1, std::memory_order_release);
      }
    }
  }
  task.futex().store(0, std::memory_order_relaxed);
  return task.word.run_on(0);
}

}  // namespace

TaskCore* task_here() {
  FiberCore* root = current_core()->root;
  if (root->task != nullptr) [[likely]]
    return root->task;
  return make_thread_task(root);
}

namespace {

[[gnu::noinline]] void emit_wait(FiberCore* self, const WaitInfo& info, std::int64_t deadline) {
  const auto when = deadline == seam::no_deadline
                        ? std::chrono::steady_clock::time_point::max()
                        : std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline));
  (void)emit_slow(self, sig::wait | sig::await, Payload(WaitRequest{info.kind, info.object, when}), true);
}

}  // namespace

void offer_wait(const WaitInfo& info, std::int64_t deadline) {
  FiberCore* self = current_core();
  if (!(self->above() & above_wait)) [[likely]]
    return;
  emit_wait(self, info, deadline);
}

void begin_wait(TaskCore& task, const WaitInfo& info, std::int64_t deadline, Raise raise) {
  if (raise != Raise::no && (task.root->alert.load(std::memory_order_relaxed) & alert_directed)) [[unlikely]]
    come_to_suspension(task, info.kind);
  if (raise == Raise::yes) {
    checkpoint();
    if (cancel_pending(task)) raise_if_cancelled(task);
    if ((task.flags & task_thread) && deadline == seam::no_deadline) refuse_lonely_wait(info);
  }
  refuse_if_forked(*task.root);
  if (!(task.flags & (task_registered | task_thread))) {
    register_task(task);
    stand_out(task);
  }
  if (!(task.flags & task_thread) && (task.root->alert.load(std::memory_order_relaxed) & alert_held)) [[unlikely]]
    report_held(task);
  task.wait = &info;
  // While it unwinds a deadline around it ends nothing, and one that has passed would only make it spin.
  if (raise != Raise::no && task.scope != nullptr && task.scope->deadline_within < deadline &&
      (raise == Raise::quietly || !is_unwinding()))
    deadline = std::min(deadline, deadline_around(task));
  task.deadline.store(deadline, std::memory_order_relaxed);  // before the ticket
}

void call_off_wait(TaskCore& task) {
  if (task.word.claim_own(WakeReason::flag) != TaskWord::Claimed::yes) {
    // Somebody ends this wait in one step or is between claim and deliver; either is a few instructions.
    while (!task.word.delivered()) seam::pause();
  }
  (void)task.word.stay();
  task.wait = nullptr;
}

WakeReason finish_wait(TaskCore& task, Raise raise) {
  seam::light_fence();  // PARKING before the look at the flags; pairs with the heavy fence of who sets them
  // The epoch grows before that heavy fence, so an old one says as much as a walk.
  if (raise != Raise::no && !surely_unasked(task) && requested_for(task).scope != nullptr &&
      (raise == Raise::quietly || !is_unwinding()) &&
      task.word.claim_own(WakeReason::cancel) == TaskWord::Claimed::yes) {
    task.wait = nullptr;
    return task.word.stay();
  }
  const std::int64_t deadline = task.deadline.load(std::memory_order_relaxed);
  WakeReason reason;
  if (task.flags & task_thread) {
    reason = park_thread(task, deadline);
  } else {
    if (deadline != seam::no_deadline) arm_timer(task, deadline);
    FiberCore* self = current_core();
    Worker& worker = static_cast<Worker&>(*self->root->worker);
    if (task.word.delivered()) {
      ++worker.counters.parks_avoided;
      reason = task.word.stay();
      if (worker.runtime->options.migration_check) [[unlikely]]
        yield_task();  // it was spared the wait, not the move
    } else {
      note_park(worker, task, self, false);
      const Entry next = next_local(worker);
      reason = Arrival(leave_for(worker, self, next)).reason();
    }
  }
  task.wait = nullptr;
  return reason;
}

namespace {

// By plain_wait(), on a plain worker. PARKING before the looks, as in finish_wait, which has the uncommon cases.
[[gnu::always_inline]] inline WakeReason park_here(Worker& worker, TaskCore& task, FiberCore* self, Raise raise) {
  seam::free_light_fence();
  if (!surely_unasked(task, *task.scope) || task.word.delivered()) [[unlikely]]
    return finish_wait(task, raise);
  note_park(worker, task, self, true);
  const Arrival arrival(leave_here_for<true>(worker, self, next_of<true>(worker)));
  task.wait = nullptr;
  return arrival.reason();
}

}  // namespace

WakeReason park_plain(TaskCore& task, FiberCore* self, Raise raise) {
  auto& worker = static_cast<Worker&>(*self->root->worker);
  return worker.plain ? park_here(worker, task, self, raise) : finish_wait(task, raise);
}

bool lies_ahead(const FiberCore& self, std::int64_t deadline) {
  const auto& worker = static_cast<const Worker&>(*self.root->worker);
  return worker.plain && worker.now.load(std::memory_order_relaxed) < deadline &&
         worker.runtime->virtual_time == nullptr;
}

WakeReason park_plain_until(TaskCore& task, FiberCore* self, Raise raise, std::int64_t deadline) {
  arm_timer(task, deadline);
  return park_plain(task, self, raise);
}

namespace {

// Who runs on this worker, and on which root: see thread_worker.hpp. relaxed: the worker's own [LEAVE-2]
struct Here {
  [[gnu::always_inline]] explicit Here(const Worker& worker) : root(worker.here.load(std::memory_order_relaxed)) {
    self = root;
    if (is_on_stack_of(root)) [[likely]]
      return;
    self = current_core();
    root = self->root;
  }
  FiberCore* self;
  FiberCore* root;
};
[[gnu::always_inline]] inline PlainWait plain_wait_on(const Worker& worker) {
  const Here here(worker);
  return plain_wait(here.self, here.root);
}

// Apart, so that the usual way keeps little over the switch.
[[gnu::noinline]] void ended_otherwise(const ParkSide& side, void* object, WaitNode& node, WakeReason reason) {
  if (reason != WakeReason::closed) {
    side.withdraw(object, node);
    if (reason == WakeReason::cancel || reason == WakeReason::timeout) raise_if_cancelled(*node.task);
  }
  side.otherwise(object, node.slot, reason);
}

}  // namespace

void park_locked(WaitList& list, seam::SpinLock& lock, void* slot, const ParkSide& side, void* object,
                 const TaskCore* last_seen) {
  Worker* const here = thread_worker();
  const PlainWait plain = here != nullptr && here->plain ? plain_wait_on(*here) : PlainWait{};
  if (plain.task == nullptr) [[unlikely]] {
    lock.unlock();
    return side.otherwise(object, slot, WakeReason::none);
  }
  Worker& worker = *here;
  TaskCore& task = *plain.task;
  const WaitInfo info{.kind = side.kind, .object = object, .last_seen = last_seen};
  task.wait = &info;
  task.deadline.store(seam::no_deadline, std::memory_order_relaxed);  // before the ticket
  alignas(WaitNode) std::byte room[sizeof(WaitNode)];                 // not cleared first: park_new writes it all
  auto& node = *std::launder(reinterpret_cast<WaitNode*>(room));
  list.park_new(node, task, slot);
  lock.unlock();
  const WakeReason reason = park_here(worker, task, plain.self, Raise::yes);
  if (reason != WakeReason::data) [[unlikely]]
    ended_otherwise(side, object, node, reason);
}

bool cancel_due(TaskCore& task) {
  if (task.scope != nullptr && task.scope->deadline_within != seam::no_deadline) expire_deadlines(task, time_here());
  return requested_for(task).scope != nullptr;
}

void raise_if_cancelled(TaskCore& task) {
  if (!cancel_due(task)) return;
  if (!is_unwinding()) raise_cancelled(task, requested_for(task));
}

bool wake_task(TaskCore* task, Ticket ticket, WakeReason reason) {
  const TaskWord::Wake outcome = task->word.wake(ticket, reason);
  if (outcome == TaskWord::Wake::queue_it) make_ready(task, reason);
  return outcome != TaskWord::Wake::lost;
}

namespace {

// Plain: on a plain worker, and nothing is asked of its chain.
template <bool Plain>
[[gnu::always_inline]] inline void yield_on(Worker& worker, FiberCore* self, TaskCore* task) {
  ++worker.counters.yields;
  const Entry next = next_of<Plain>(worker);
  if (!next && (Plain || task->strand == nullptr) &&  // in whose line others may stand [STR-2]
      !worker.look_due(worker.picks) && !worker.runtime->options.migration_check &&
      (worker.steals || worker.runtime->global.empty()))  // under the global policy all others stand there
    return;                                               // nobody else, no full look due
  if (task->top == nullptr) [[unlikely]]
    stand_out(*task);
  task->top = self;
  task->word.make_runnable();
  worker.left = Left::yields(*task, Plain);
  leave_here_for<Plain>(worker, self, next);
}

// Of a worker: what dies there, because there was no stack for it, may have destructors that yield.
bool is_own_stack(const FiberCore& root) {
  return root.worker != nullptr && root.base == nullptr;
}

// What is pending is raised, and where there is no worker the thread yields.
[[gnu::noinline]] void yield_slow(FiberCore* self) {
  if (is_own_stack(*self->root)) return seam::yield_thread();
  TaskCore& task = *task_here();
  refuse_if_forked(*self->root);
  look_here("yield");
  if (self->root->worker == nullptr) return seam::yield_thread();
  if (self->root->alert.load(std::memory_order_relaxed) & alert_held) [[unlikely]]
    report_held(task);
  yield_on<false>(static_cast<Worker&>(*self->root->worker), self, &task);
}

}  // namespace

void look_here(const char* kind) {
  TaskCore& task = *task_here();
  if (task.root != nullptr && (task.root->alert.load(std::memory_order_relaxed) & alert_directed))
    come_to_suspension(task, kind);
  checkpoint();
  if (cancel_pending(task)) raise_if_cancelled(task);
}

void yield_task() {
  FiberCore* self = current_core();
  FiberCore* root = self->root;
  if (root->worker == nullptr || is_own_stack(*root)) return seam::yield_thread();
  yield_on<false>(static_cast<Worker&>(*root->worker), self, root->task);
}

// By the worker, not by the stack: see thread_worker.hpp.
void yield_and_look() {
  Worker* worker = thread_worker();
  if (worker == nullptr || !worker->plain) [[unlikely]]
    return yield_slow(current_core());
  const Here here(*worker);
  if (!is_own_stack(*here.root) && here.root->alert.load(std::memory_order_relaxed) == 0 &&
      !(here.self->above() & above_bound)) [[likely]] {
    TaskCore& task = *here.root->task;
    if (task.scope->deadline_within == seam::no_deadline && surely_unasked(task, *task.scope)) [[likely]]
      return yield_on<true>(*worker, here.self, &task);
  }
  yield_slow(here.self);
}

WaitEnd sleep_until_ns(std::int64_t deadline, Raise raise) {
  TaskCore& task = *task_here();
  const WaitInfo info{"sleep", nullptr, nullptr};
  if (raise == Raise::yes) offer_wait(info, deadline);
  for (;;) {
    if (raise == Raise::quietly && cancel_due(task)) return WaitEnd::cancelled;
    begin_wait(task, info, deadline, raise);
    (void)task.word.begin_park();
    const WakeReason reason = finish_wait(task, raise);
    if (raise == Raise::yes && (reason == WakeReason::cancel || reason == WakeReason::timeout))
      raise_if_cancelled(task);
    if (time_here() >= deadline) return WaitEnd::done;
  }
}

}  // namespace weft::inline v0::detail
