// SPDX-License-Identifier: MIT
// Relaxed: the alert is set by and for who runs on this root.
#include "weft/detail/cleanup.hpp"

#include "fiber/carrier.hpp"

namespace weft::inline v0::detail {

Cleanup::Cleanup() : fiber_(current_core()), outer_(fiber_->cleanup) {
  fiber_->cleanup = this;
  open();
}

Cleanup::~Cleanup() {
  close();
  fiber_->cleanup = outer_;
}

void Cleanup::open() {
  FiberCore& root = *fiber_->root;
  owner_ = who_runs_on(root);
  if (root.task != nullptr) {
    root.carrier->open_shield(root, scope_);
    has_scope_ = true;
  }
  if (!(fiber_->flags & flag_root)) root.alert.fetch_or(alert_scope, std::memory_order_relaxed);
}

void Cleanup::close() {
  if (!has_scope_) return;
  fiber_->root->carrier->close_shield(scope_);
  has_scope_ = false;
}

void put_cleanups_aside(FiberCore* fiber) {
  for (Cleanup* each = fiber->cleanup; each != nullptr; each = each->outer_) each->close();
  fiber->catches |= above_aside;
}

void take_up_cleanups(FiberCore* fiber) {
  fiber->catches &= static_cast<std::uint8_t>(~above_aside);
  // Outermost first.
  for (Cleanup* taken = nullptr; taken != fiber->cleanup;) {
    Cleanup* next = fiber->cleanup;
    while (next->outer_ != taken) next = next->outer_;
    next->open();
    taken = next;
  }
}

}  // namespace weft::inline v0::detail
