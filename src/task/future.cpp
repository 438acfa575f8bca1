// SPDX-License-Identifier: MIT
// Relaxed: marks that carry nothing; counts whose last one acquires.
#include "weft/future.hpp"

#include <stdexcept>

#include "base/clock.hpp"
#include "fiber/thrown.hpp"
#include "fiber/virtual_core.hpp"
#include "sched/park.hpp"
#include "sched/scope.hpp"
#include "weft/deadlock.hpp"
#include "weft/detail/gate_wait.hpp"
#include "weft/detail/worker_core.hpp"

namespace weft::inline v0 {

const char* to_string(FutureStatus status) {
  switch (status) {
    case FutureStatus::pending:
      return "pending";
    case FutureStatus::done:
      return "done";
    case FutureStatus::failed:
      return "failed";
    case FutureStatus::cancelled:
      return "cancelled";
  }
  return "?";
}

namespace {
seam::Atomic<bool> only_one_awaiter{false};
}

void one_awaiter(bool on) {
  only_one_awaiter.store(on, std::memory_order_relaxed);
}

namespace detail {

void retain_future(FutureState* state) noexcept {
  state->refs.fetch_add(1, std::memory_order_relaxed);
}

void release_future(FutureState* state) noexcept {
  if (state->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) state->destroy(state);
}

namespace {

// The Cancelled that this very task was asked to raise.
bool is_own_cancel(const std::exception_ptr& failure) {
  const auto* cancelled = thrown_as<Cancelled>(failure);
  if (cancelled == nullptr) return false;
  const TaskCore* task = this_task();
  return task != nullptr && was_asked(*task, task->scope, *cancelled);
}

}  // namespace

void run_future(FutureState* state, const FutureBody& body, RawStart start) {
  std::exception_ptr failure;
  bool cancelled = false;
  if (start == RawStart::run) {
    failure = guarded_run(body.run, state);
    cancelled = failure != nullptr && is_own_cancel(failure);
  } else {
    const CancelReason reason = cancel_reason();
    failure = std::make_exception_ptr(Cancelled(state, reason != CancelReason::none ? reason : CancelReason::shutdown));
    cancelled = true;
  }
  body.drop(state);
  state->failure = failure;
  if (cancelled) state->flags.fetch_or(future_cancelled, std::memory_order_relaxed);
  const Io* io = state->io;
  state->core.end(
      [](const FuturePermit& permit) {
        if (permit.io != nullptr) {
          permit.io->ready(permit.park);
        } else if (permit.park) {
          static_cast<GateCore*>(permit.park.task)->open();  // of a select's case [FOP-1]
        }
      },
      [io](const FuturePermit& permit) { return permit.io != io && (permit.io != nullptr || permit.park); });
  // acq_rel, with detach_future's: one of the two sees the other, and tells of the failure.
  const bool alone = state->flags.fetch_or(future_over, std::memory_order_acq_rel) & future_detached;
  release_future(state);
  if (alone && failure != nullptr && !cancelled) std::rethrow_exception(std::move(failure));
}

namespace {

// Counts who awaits, and keeps the state for them.
class Awaiting {
 public:
  Awaiting(FutureState& state, bool may_throw) : state_(state) {
    retain_future(&state_);
    const std::uint32_t before = state_.awaiters.fetch_add(1, std::memory_order_relaxed);
    if (before != 0 && may_throw && only_one_awaiter.load(std::memory_order_relaxed)) {
      leave();
      throw std::logic_error("a second task awaits a future that another one awaits (weft::one_awaiter is on)");
    }
  }
  ~Awaiting() { leave(); }
  Awaiting(const Awaiting&) = delete;
  Awaiting& operator=(const Awaiting&) = delete;

 private:
  void leave() {
    state_.awaiters.fetch_sub(1, std::memory_order_relaxed);
    release_future(&state_);
  }
  FutureState& state_;
};

class Joined {
 public:
  Joined(FutureState& state, FutureNode& node) : state_(state), node_(node) { state_.core.join(node_); }
  ~Joined() { state_.core.leave(node_); }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

 private:
  FutureState& state_;
  FutureNode& node_;
};

}  // namespace

WaitResult await_future(FutureState& state, std::chrono::steady_clock::time_point deadline, OnCancel on_cancel) {
  if (state.core.is_over()) return WaitResult::done;
  Io& io = current_io();
  if (io.runs_inline() && state.io == &io && on_cancel == OnCancel::raise)
    throw Deadlock("deadlock: under a BlockingIo a task awaits a future that ends only after it");
  const Awaiting awaiting(state, on_cancel == OnCancel::raise);
  Gathering gathering;
  FutureNode node;
  node.gathering = &gathering;
  const Joined joined(state, node);
  return gather_next(io, gathering, {"await", &state, state.io == &io ? state.raw : RawTask{}, deadline, on_cancel})
      .second;
}

std::pair<FutureNode*, WaitResult> gather_next(Io& io, Gathering& gathering, const ParkWish& wish) {
  for (;;) {
    ParkToken park;
    const auto make = [&] {
      park = io.current_park();
      return FuturePermit{&io, park};
    };
    if (FutureNode* arrived = gathering.take_or(make)) return {arrived, WaitResult::done};
    const WaitResult result = io.suspend_raw(park, wish);
    if (result == WaitResult::done) continue;
    // It may have arrived at the same time: then that is the answer [WAIT-4].
    if (FutureNode* arrived = gathering.take_or([] { return FuturePermit{}; })) return {arrived, WaitResult::done};
    return {nullptr, result};
  }
}

void cancel_future(FutureState& state, CancelReason reason) {
  if (!state.core.is_over()) state.io->cancel_raw(state.raw, reason);
}

void join_future(FutureState& state) noexcept {
  (void)await_future(state, std::chrono::steady_clock::time_point::max(), OnCancel::ignore);
}

void drop_future(FutureState* state) noexcept {
  cancel_future(*state, CancelReason::user);
  join_future(*state);
  const std::uint32_t flags = state->flags.load(std::memory_order_relaxed);
  const bool unseen = state->failure != nullptr && !(flags & (future_observed | future_cancelled));
  state->io->release_raw(state->raw, true, unseen ? state->failure : nullptr);
  release_future(state);
}

void detach_future(FutureState* state) noexcept {
  std::exception_ptr unseen;
  const std::uint32_t flags = state->flags.fetch_or(future_detached, std::memory_order_acq_rel);
  if ((flags & future_over) && state->failure != nullptr && !(flags & (future_observed | future_cancelled)))
    unseen = state->failure;
  state->io->release_raw(state->raw, false, unseen);
  release_future(state);
}

FutureStatus status_of(const FutureState& state) {
  if (!state.core.is_over()) return FutureStatus::pending;
  if (state.failure == nullptr) return FutureStatus::done;
  return state.flags.load(std::memory_order_relaxed) & future_cancelled ? FutureStatus::cancelled
                                                                        : FutureStatus::failed;
}

void throw_failure(FutureState& state) {
  state.flags.fetch_or(future_observed, std::memory_order_relaxed);
  std::rethrow_exception(state.failure);
}

void refuse_empty_future() {
  throw std::logic_error("this Future is empty: it was moved from, detached, or never had a task");
}

std::chrono::steady_clock::time_point time_after(std::chrono::nanoseconds span) {
  if (span == std::chrono::nanoseconds::max()) return std::chrono::steady_clock::time_point::max();
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_after(span)));
}

}  // namespace detail
}  // namespace weft::inline v0
