// SPDX-License-Identifier: MIT
// Relaxed: requested flags and life bits are looked at after the fence that pairs with the requester's heavy one
// [SCP-2]; lists are written under their lock; the epoch only makes a walk unnecessary [SCP-4].
#include "sched/scope.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "base/clock.hpp"
#include "base/text_writer.hpp"
#include "fiber/carrier.hpp"
#include "fiber/terminate.hpp"
#include "sched/cancel_epoch.hpp"
#include "sched/dispatch.hpp"
#include "sched/park.hpp"
#include "sched/scope_tree.hpp"
#include "sched/virtual_time.hpp"
#include "weft/detail/cleanup.hpp"

namespace weft::inline v0 {

const char* to_string(CancelReason reason) {
  switch (reason) {
    case CancelReason::none:
      return "not cancelled";
    case CancelReason::user:
      return "cancelled: asked to stop";
    case CancelReason::deadline:
      return "cancelled: deadline passed";
    case CancelReason::sibling:
      return "cancelled: a sibling failed";
    case CancelReason::shutdown:
      return "cancelled: the runtime shuts down";
    case CancelReason::deadlock:
      return "cancelled: nothing could run any more";
    case CancelReason::race_lost:
      return "cancelled: lost a race";
  }
  return "?";
}

Cancelled::Cancelled(const void* scope, CancelReason reason)
    : scope_(scope), reason_(reason), text_(to_string(reason)) {}

namespace detail {

seam::Atomic<std::uint32_t> cancel_epoch{1};

namespace {

// `task`: whose scopes these are; null when the walk starts at a scope that nobody runs in yet.
CancelView requested_from(ScopeCore* scope, const TaskCore* task) {
  CancelView outermost;
  for (; scope != nullptr; scope = scope->parent) {
    if (task != nullptr && scope == task->born_in()) {
      if (const CancelReason own = task->own_cancel(); own != CancelReason::none) outermost = {task, own, nullptr};
      task = nullptr;
    }
    if (const std::uint32_t reason = scope->requested.load(std::memory_order_relaxed))
      outermost = {scope, static_cast<CancelReason>(reason), scope};
    if (scope->is_shield()) break;
    if (task == nullptr) task = scope->owner;
  }
  return outermost;
}

// Ends the wait of each task it is given, and keeps those that are to be queued: without memory, since a claimed task
// that cannot be kept would be lost. What will stand in this worker's own queue is made ready on the spot, while its
// record is at hand: of a million tasks each comes into the cache once.
class CancelWakes {
 public:
  // Under the lock of its scope.
  void operator()(TaskCore& task) {
    const TaskMoment now = task.word.look();
    if (now.state() != TaskState::parking) return;
    if (task.word.wake(now.ticket(), WakeReason::cancel) != TaskWord::Wake::queue_it) return;
    if (worker_ == nullptr || !stays_on(*worker_, task)) return claimed_.push_back(Entry(&task, entry_task));
    task.word.make_runnable();
    if (last_ != nullptr) {
      woken_.push_back(Entry(last_, entry_task));
      ++woken_count_;
    }
    last_ = &task;
  }
  // After it.
  void queue_all() {
    if (TaskCore* last = std::exchange(last_, nullptr))
      queue_here(*worker_, std::move(woken_), std::exchange(woken_count_, 0), last);
    while (const Entry entry = claimed_.pop_front()) make_ready(entry.as<TaskCore>(), WakeReason::cancel);
  }

 private:
  Worker* const worker_ = static_cast<Worker*>(this_worker());
  Chain claimed_;  // ours alone, as the next: claimed, delivered and left
  Chain woken_;
  std::size_t woken_count_ = 0;
  TaskCore* last_ = nullptr;  // ready, too
};

}  // namespace

// relaxed loads: who must not miss a request has run a fence [SCP-2].
CancelView requested_for(const TaskCore& task) {
  CancelView view = requested_from(task.scope, &task);
  if (task.born_in() == nullptr && view.scope == nullptr && task.own_cancel() != CancelReason::none)
    view = {&task, task.own_cancel(), nullptr};
  return view;
}

bool was_asked(const TaskCore& task, const ScopeCore* scope, const Cancelled& cancelled) {
  const void* const name = cancelled.scope();
  if (name == &task) return task.own_cancel() != CancelReason::none;
  for (; scope != nullptr; scope = scope->parent) {
    if (name == scope) return is_requested(*scope);
    if (scope->owner != nullptr && name == scope->owner) return scope->owner->own_cancel() != CancelReason::none;
    if (scope->is_shield()) break;
  }
  return false;
}

bool is_cancelled(ScopeCore& scope) {
  return CancelEpoch::look(cancel_epoch, scope, [&] { return requested_from(&scope, nullptr).scope != nullptr; });
}

bool is_unwinding() {
  FiberCore* self = current_core();
  if (self->root->thread_eh->uncaught != 0) return true;
  for (FiberCore* fiber = self->parent; fiber != nullptr; fiber = fiber->parent)
    if (fiber->eh.uncaught != 0) return true;
  return false;
}

void request_scope(ScopeCore& scope, CancelReason reason) {
  CancelWakes wakes;
  {
    const std::lock_guard guard(scope.lock);
    std::uint32_t none = 0;
    if (!scope.requested.compare_exchange_strong(none, static_cast<std::uint32_t>(reason), std::memory_order_release,
                                                 std::memory_order_relaxed))
      return;  // the first reason stays
    if (scope.is(scope_lazy)) return CancelEpoch::grow(cancel_epoch);
    CancelEpoch::grow_before_walk(cancel_epoch);
    ScopeTree::walk(scope, wakes);
  }
  wakes.queue_all();
}

void request_task(TaskCore& task, CancelReason reason) {
  std::uint32_t life = task.life.load(std::memory_order_relaxed);
  do {
    if ((life & life_ended) || cancel_in(life) != CancelReason::none) return;  // over, or asked before
  } while (!task.life.compare_exchange_weak(
      life, life | life_asking | static_cast<std::uint32_t>(reason) << life_cancel_shift, std::memory_order_acq_rel,
      std::memory_order_relaxed));
  CancelEpoch::grow_before_walk(cancel_epoch);
  CancelWakes wakes;
  wakes(task);
  if (ScopeCore* birth = task.born_in()) {
    const std::lock_guard guard(birth->lock);
    for (ScopeCore* scope = birth->children; scope != nullptr; scope = scope->next) {
      if (scope->owner != &task || scope->is_shield()) continue;
      const std::lock_guard inner(scope->lock);
      ScopeTree::walk(*scope, wakes);
    }
  }
  task.life.fetch_and(~std::uint32_t{life_asking}, std::memory_order_release);
  wakes.queue_all();
}

void register_task(TaskCore& task) {
  // The scope it was born into: those it opened itself name it as their owner.
  ScopeCore* birth = task.born_in();
  if (birth == nullptr || (task.flags & task_registered)) return;
  WEFT_ASSERT(!(task.flags & task_has_result), "a task has returned its result; what is left of that may not wait");
  ScopeTree::add_task(*birth, task);
  task.flags |= task_registered;
  ScopeTree::link(*birth);
}

void unregister_task(TaskCore& task) {
  if (!(task.flags & task_registered)) return;
  ScopeTree::remove_task(*task.born_in(), task);
  task.flags &= static_cast<std::uint16_t>(~task_registered);
}

bool expire_deadlines(TaskCore& task, std::int64_t now) {
  if (task.scope == nullptr || task.scope->deadline_within > now) return false;
  ScopeCore* expired = nullptr;
  for (ScopeCore* scope = task.scope; scope != nullptr; scope = scope->parent) {
    if (!scope->is(scope_shield)) {
      if (scope->deadline <= now) expired = scope;
    } else if (!scope->is(scope_unlimited)) {
      if (scope->is_shield() && scope->deadline > now) break;
      scope->flags.fetch_or(scope_lapsed, std::memory_order_release);  // [SCP-5]
      CancelEpoch::grow(cancel_epoch);                                 // what was clean behind it may not be any more
      scope->flags.fetch_or(scope_unlimited, std::memory_order_release);
    }
  }
  if (expired != nullptr) request_scope(*expired, CancelReason::deadline);
  return expired != nullptr;
}

std::int64_t deadline_around(const TaskCore& task) {
  std::int64_t earliest = seam::no_deadline;
  for (const ScopeCore* scope = task.scope; scope != nullptr; scope = scope->parent) {
    // acquire: who goes by it no more sees the epoch that has grown [SCP-5]
    const bool unlimited = scope->flags.load(std::memory_order_acquire) & scope_unlimited;
    if (!unlimited && scope->deadline < earliest) earliest = scope->deadline;
    if (scope->is_shield()) break;
  }
  return earliest;
}

namespace {

constexpr unsigned raised_bits = 2;
constexpr std::uint32_t most_raised = 3;

// Who asks a task from outside, as a number that is nobody else's as long as it lives: how far out it stands.
std::uint32_t place_of(const TaskCore& task, const CancelView& view) {
  constexpr std::uint32_t farthest = 0xffff >> raised_bits;
  if (view.scope == &task) return 0;
  std::uint32_t place = 1;
  for (const ScopeCore* scope = task.born_in(); scope != nullptr && scope != view.core; scope = scope->parent) {
    if (scope->owner == view.scope) return std::min(place + 1, farthest);  // by its handle
    place += 2;
  }
  return std::min(place, farthest);
}

// How often Cancelled was raised in this task by who asks it now, up to 4. Only the outermost asker is heard, and each
// asks until the task has ended: so there is never one to go back to.
unsigned count_raised(TaskCore& task, const CancelView& view) {
  const std::uint32_t place = place_of(task, view);
  std::uint32_t life = task.life.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t before = life >> life_raised_shift;
    const std::uint32_t times = before >> raised_bits == place ? (before & most_raised) : 0;
    const std::uint32_t now = place << raised_bits | std::min(times + 1, most_raised);
    const std::uint32_t rest = life & ((1U << life_raised_shift) - 1);
    // relaxed: a number by and for this task
    if (task.life.compare_exchange_weak(life, now << life_raised_shift | rest, std::memory_order_relaxed))
      return times + 1;
  }
}

void name_task(TextWriter& out, const TaskCore& task) {
  out.text("task ").unsigned_decimal(task.id);
  if (task.name != nullptr) out.text(" \"").text(task.name).text("\"");
}

// Where Cancelled left a noexcept function.
bool tell_cancelled(const std::type_info* type) {
  TaskCore* task = this_task();
  if (task == nullptr ||
      (type != nullptr ? *type != typeid(Cancelled) : requested_for(*task).reason == CancelReason::none))
    return false;
  char buffer[1024];
  TextWriter out(buffer);
  out.text("weft: ");
  name_task(out, *task);
  out.text(": Cancelled raised inside noexcept: use a shield or the Result form; it was spawned at ");
  out.text(task->site.file_name()).text(":").unsigned_decimal(task->site.line()).text("\n");
  out.write_to(2);
  return true;
}

}  // namespace

void raise_cancelled(TaskCore& task, const CancelView& view) {
  set_error_teller(tell_cancelled);
  const bool own = view.core != nullptr && view.core->owner == &task;
  if ((own ? ++view.core->raised : count_raised(task, view)) == 3) {
    char buffer[512];
    TextWriter out(buffer);
    out.text("weft: ");
    name_task(out, task);
    out.text(" has swallowed Cancelled three times in one scope; it was spawned at ");
    out.text(task.site.file_name()).text(":").unsigned_decimal(task.site.line()).text("\n");
    out.write_to(2);
  }
  // A scheduling point, so that a loop around a swallowed Cancelled does not hold its worker.
  yield_task();
  throw Cancelled(view.scope, view.reason);
}

void open_scope(ScopeCore& scope, TaskCore* task, FiberCore* self, std::uint8_t flags, std::int64_t deadline) {
  open_scope_inline(scope, task, self, flags, deadline);
}

void close_scope(ScopeCore& scope, TaskCore* task, FiberCore* self) {
  close_scope_inline(scope, task, self);
}

void unlink_scope(ScopeCore& scope) {
  ScopeTree::unlink(scope);
}

// Not counted by the fiber: one that is suspended puts it aside [CLN-2].
void open_cleanup_shield(const FiberCore& root, void* room) {
  static_assert(sizeof(ScopeCore) <= Cleanup::room && std::is_trivially_destructible_v<ScopeCore>);
  open_scope(*::new (room) ScopeCore, root.task, root.root, scope_shield, seam::no_deadline);
}

void close_cleanup_shield(void* room) {
  auto& scope = *static_cast<ScopeCore*>(room);
  close_scope(scope, scope.owner, scope.owner->root);
}

ScopeGuard::ScopeGuard(std::uint8_t flags, std::int64_t deadline) : task_(task_here()) {
  open_scope(core_, task_, current_core(), flags, deadline);
}

ScopeGuard::~ScopeGuard() {
  close_scope(core_, task_, current_core());
}

std::int64_t deadline_after(std::chrono::nanoseconds span) {
  if (span < std::chrono::nanoseconds::zero())
    throw std::invalid_argument("a negative time span: sleeps and timeouts take zero or more");
  return (Instant::from_ns(time_here()) + Duration(span)).ns();
}

}  // namespace detail

using namespace detail;

bool cancel_requested() {
  return cancel_reason() != CancelReason::none;
}

CancelReason cancel_reason() {
  // A thread that makes a blocking call for a task, which waits and has looked at its deadlines.
  if (const TaskCore* caller = current_core()->root->carrier->behalf) return requested_for(*caller).reason;
  TaskCore* task = this_task();
  if (task == nullptr) return CancelReason::none;
  if (task->scope != nullptr && task->scope->deadline_within != seam::no_deadline) expire_deadlines(*task, time_here());
  return requested_for(*task).reason;
}

void cancel_scope() {
  TaskCore* task = task_here();
  if (task->scope == nullptr) throw std::logic_error("cancel_scope: no scope is open around the caller");
  request_scope(*task->scope, CancelReason::user);
}

std::chrono::nanoseconds time_left() {
  const TaskCore* task = this_task();
  if (task == nullptr || task->scope == nullptr || task->scope->deadline_within == seam::no_deadline)
    return std::chrono::nanoseconds::max();
  // Of a shield it is not the end of anything inside, but what is around it counts from then on.
  const std::int64_t deadline = deadline_around(*task);
  if (deadline == seam::no_deadline) return std::chrono::nanoseconds::max();
  return std::chrono::nanoseconds(std::max<std::int64_t>(0, deadline - time_here()));
}

}  // namespace weft::inline v0
