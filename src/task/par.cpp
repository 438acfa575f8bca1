// SPDX-License-Identifier: MIT
// Relaxed: who is idle is a hint; flags of a scope that only its opener and, under the parent's lock, its linker write.
#include "weft/par.hpp"

#include "fiber/bindings.hpp"
#include "sched/dispatch.hpp"
#include "sched/intercept.hpp"
#include "sched/scope.hpp"

namespace weft::inline v0::detail {

void par_open_slow(ParFrame& frame) {
  FiberCore* here = frame.here;
  may_spawn();
  if (!(here->flags & flag_root)) {
    ++here->open_scopes;
    here->root->alert.fetch_or(alert_scope, std::memory_order_relaxed);
  }
  frame.bindings = inherited_bindings(here);
  frame.scope.flags.fetch_or(scope_extras, std::memory_order_relaxed);
}

void par_close_slow(ParFrame& frame) {
  ScopeCore& scope = frame.scope;
  if (scope.is(scope_extras)) {
    if (!(frame.here->flags & flag_root)) --frame.here->open_scopes;
    release_bindings(frame.bindings);
  }
  unlink_scope(scope);
  if (frame.first == nullptr) return;
  throw_failures(frame);
}

// To whoever has nothing to do, if nothing waits for him yet; else it stays here for the forker, or for this worker
// once the forker waits. All of them into the shared queue would be run breadth first: each level of a recursion would
// leave its stacks parked.
void offer_shared(WorkerCore* worker, Entry job) {
  constexpr std::uint64_t searchers_and_sleepers = 0xffffffff;  // IdleSet's layout
  const bool somebody = (worker->idle->load(std::memory_order_relaxed) & searchers_and_sleepers) != 0;
  if ((somebody && worker->runtime->global.empty()) || !worker->deque.push(job)) push_shared(worker, job);
}

void par_wait(ParFrame& frame) {
  frame.plain = 1;
  join_children(frame);
}

void par_failed(ParFrame& frame) noexcept {
  nursery_failed(frame, std::current_exception());
}

std::size_t automatic_grain(std::size_t size) {
  const auto* worker = static_cast<const Worker*>(this_worker());
  const std::size_t workers = worker != nullptr ? worker->runtime->options.workers : 1;
  return std::max<std::size_t>(1, size / (8 * workers));
}

}  // namespace weft::inline v0::detail
