// SPDX-License-Identifier: MIT
// What: the walks over cancel scopes; see include/weft/detail/scope_core.hpp for the rules.
// Relaxed: a clean epoch is compared with the process's, which is acquired.
#pragma once

#include "weft/detail/task_core.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0::detail {

// Who asks the task to stop: the outermost requested scope up to the first shield, or the handle of a task on the way.
struct CancelView {
  const void* scope = nullptr;  // null: nobody
  CancelReason reason = CancelReason::none;
  ScopeCore* core = nullptr;  // null: a task's handle
};
// Does not look at whether the task unwinds.
CancelView requested_for(const TaskCore& task);
// Is this what the task, in this scope, was asked itself? Else it comes from elsewhere: from a task that was joined,
// for instance, and is a failure like any other here.
bool was_asked(const TaskCore& task, const ScopeCore* scope, const Cancelled& cancelled);
// By its handle.
void request_task(TaskCore& task, CancelReason reason);
// The same for an unstarted child of this scope; costs a load and a compare while nothing is cancelled [SCP-4].
bool is_cancelled(ScopeCore& scope);
// A cheap look whether requested_for might find something; a deadline around the task counts as maybe.
inline bool cancel_pending(TaskCore& task) {
  return (task.scope != nullptr && (task.scope->deadline_within != seam::no_deadline || is_cancelled(*task.scope))) ||
         task.own_cancel() != CancelReason::none;
}
// Unwinding, anywhere in the chain of fibers that runs: nothing is raised then.
bool is_unwinding();

// Takes it out of its parent's list, if it is in it.
void unlink_scope(ScopeCore& scope);

// open_scope and close_scope, for who counts nanoseconds.
[[gnu::always_inline]] inline void open_scope_inline(ScopeCore& scope, TaskCore* task, FiberCore* self,
                                                     std::uint8_t flags, std::int64_t deadline) {
  ScopeCore* parent = task->scope;
  scope.parent = parent;
  scope.owner = task;
  scope.deadline = deadline;
  scope.deadline_within = deadline;
  if (parent != nullptr && !(flags & scope_shield)) {
    scope.clean_epoch.store(parent->clean_epoch.load(std::memory_order_relaxed), std::memory_order_relaxed);
    if (parent->deadline_within < deadline) scope.deadline_within = parent->deadline_within;
  } else {
    scope.clean_epoch.store(cancel_epoch.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  if (flags != 0) scope.flags.store(flags, std::memory_order_relaxed);
  task->scope = &scope;
  if (!(self->flags & flag_root)) [[unlikely]] {
    ++self->open_scopes;
    self->root->alert.fetch_or(alert_scope, std::memory_order_relaxed);
  }
}
[[gnu::always_inline]] inline void close_scope_inline(ScopeCore& scope, TaskCore* task, FiberCore* self) {
  task->scope = scope.parent;
  if (!(self->flags & flag_root)) [[unlikely]]
    --self->open_scopes;
  if (scope.is_linked()) [[unlikely]]
    unlink_scope(scope);
}

// Before a task's first park [SCP-2].
void register_task(TaskCore& task);
void unregister_task(TaskCore& task);

// Deadlines that have passed become requests. Returns whether one has.
bool expire_deadlines(TaskCore& task, std::int64_t now);
// The earliest deadline that a wait of the task must not outlive, up to the first shield: there it looks again.
std::int64_t deadline_around(const TaskCore& task);

// Of a cleanup: Carrier::open_shield and close_shield.
void open_cleanup_shield(const FiberCore& root, void* room);
void close_cleanup_shield(void* room);

[[noreturn]] void raise_cancelled(TaskCore& task, const CancelView& view);

}  // namespace weft::inline v0::detail
