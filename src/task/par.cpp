// SPDX-License-Identifier: MIT
// Relaxed: flags of a scope that only its opener and, under the parent's lock, its linker write.
#include "weft/par.hpp"

#include "fiber/bindings.hpp"
#include "sched/dispatch.hpp"
#include "sched/scope.hpp"

namespace weft::inline v0::detail {

void par_open_slow(ParFrame& frame) {
  FiberCore* here = frame.here;
  if (!(here->flags & flag_root)) {
    ++here->open_scopes;
    here->root->alert.fetch_or(alert_scope, std::memory_order_relaxed);
  }
  frame.bindings = retain_bindings(bindings_holder(here)->bindings);
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
