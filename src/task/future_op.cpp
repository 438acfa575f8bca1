// SPDX-License-Identifier: MIT
#include "weft/future_op.hpp"

#include "sched/runtime_core.hpp"

namespace weft::inline v0::detail {

void FutureCase::join() {
  if (joined_) return;
  joined_ = true;
  retain_future(state_);
  future_node_.gathering = &gathering_;
  (void)gathering_.take_or([&] { return FuturePermit{nullptr, ParkToken{&gate_, 0}}; });
  state_->core.join(future_node_);
  if (state_->core.is_over()) gate_.open();  // it may have been over before
}

void FutureCase::withdraw() noexcept {
  if (!joined_) return;
  joined_ = false;
  state_->core.leave(future_node_);
  release_future(state_);
}

FutureCase::About FutureCase::about() const {
  // Whose end would end it is known of futures of this runtime only.
  const WorkerCore* worker = this_worker();
  const bool ours = worker != nullptr && state_->io == static_cast<Io*>(worker->runtime);
  return {"await", state_, ours ? static_cast<const TaskCore*>(state_->raw.handle) : nullptr, nullptr};
}

}  // namespace weft::inline v0::detail
