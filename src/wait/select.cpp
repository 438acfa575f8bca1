// SPDX-License-Identifier: MIT
// Relaxed: a number that only varies where to begin; the head of a list of waiters, under its lock.
#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>

#include "sched/dispatch.hpp"
#include "sched/join_list.hpp"
#include "sched/park.hpp"
#include "sched/waiters.hpp"
#include "weft/detail/channel_wait.hpp"
#include "weft/detail/point.hpp"
#include "weft/detail/select_case.hpp"

namespace weft::inline v0::detail {
namespace {

std::size_t random_below(std::size_t count) {
  if (auto* worker = static_cast<Worker*>(this_worker())) return worker->random.below(count);
  static seam::Atomic<std::size_t> turn{0};  // plain threads take turns
  return turn.fetch_add(1, std::memory_order_relaxed) % count;
}

class SelectWait {
 public:
  SelectWait(const SelectPlan& plan, bool flags)
      : select_(plan.cases, plan.locks, plan.count), plan_(plan), flags_(flags) {}

  // Its first cases, one behind the other.
  WaitInfo info() {
    const WaitInfo* next = nullptr;
    for (std::size_t i = std::min(plan_.count, told); i-- > 0;) {
      const SelectCase::About about = plan_.cases[i]->about();
      next = std::construct_at(&told_.infos[i], WaitInfo{.kind = about.kind,
                                                         .object = about.object,
                                                         .holder = about.holder,
                                                         .last_seen = about.last_seen,
                                                         .next = next});
    }
    return {.kind = "select", .object = &plan_, .next = next};
  }
  bool try_complete() {
    TaskCore* woken = nullptr;
    const bool done = select_.look_one_by_one(random_below, woken);
    deliver_one(woken);
    return done;
  }
  Published publish(TaskCore& task) {
    TaskCore* woken = nullptr;
    if (select_.look_or_park(task, 0, woken)) {
      deliver_one(woken);
      return Published::done;
    }
    if (!flags_) [[likely]]
      return Published::parking;
    seam::heavy_fence();  // [SEL-7], pairs with the light fence of who ends
    if (flag_that_is_over() == select_.nobody) return Published::parking;
    call_off_wait(task);
    unpublish();
    return Published::done;
  }
  void unpublish() {
    select_.unlink_losers();
    // Woken by the end of a task, which names no winner, or called off for it.
    if (flags_ && select_.won() == select_.nobody) select_.set_won(flag_that_is_over());
  }
  std::size_t won() const { return select_.won(); }

 private:
  std::size_t flag_that_is_over() const {
    for (std::size_t i = 0; i < plan_.count; ++i)
      if (plan_.cases[i]->kind() == CaseKind::flag && static_cast<const JoinCase*>(plan_.cases[i])->over()) return i;
    return SelectOf<TaskCore>::nobody;
  }

  static constexpr std::size_t told = 4;  // in a report

  SelectOf<TaskCore> select_;
  const SelectPlan& plan_;
  const bool flags_;
  union Told {
    Told() {}  // NOLINT(modernize-use-equals-default): filled when it parks, not before
    WaitInfo infos[told];
  } told_;
};

TaskWaiter& as_waiter(std::byte* room) {
  return *std::launder(reinterpret_cast<TaskWaiter*>(room));
}

}  // namespace

SelectEnd run_select(const SelectPlan& plan) {
  if (plan.count == 0) throw std::invalid_argument("select: over nothing it would wait for ever");
  std::int64_t deadline = plan.deadline;
  std::size_t at_deadline = SelectOf<TaskCore>::nobody;
  std::size_t otherwise = SelectOf<TaskCore>::nobody;
  bool flags = false;
  for (std::size_t i = 0; i < plan.count; ++i) {
    const SelectCase& one = *plan.cases[i];
    if (one.kind() == CaseKind::object) [[likely]]
      continue;
    if (one.kind() == CaseKind::flag) flags = true;
    if (one.kind() == CaseKind::otherwise) otherwise = i;
    if (one.kind() == CaseKind::deadline) {
      const std::int64_t when = static_cast<const DeadlineCase&>(one).deadline();
      if (when < deadline) {
        deadline = when;
        at_deadline = i;
      }
    }
  }
  point("select");
  SelectWait wait(plan, flags);
  if (wait.try_complete()) return {wait.won(), WaitEnd::done};
  if (otherwise != SelectOf<TaskCore>::nobody) return {otherwise, WaitEnd::done};
  const WaitEnd end = park_on(wait, deadline, plan.raise);
  if (end == WaitEnd::timed_out && at_deadline != SelectOf<TaskCore>::nobody) return {at_deadline, WaitEnd::done};
  return {wait.won(), end};
}

DeadlineCase DeadlineCase::after(std::chrono::nanoseconds span) {
  if (span < std::chrono::nanoseconds::zero()) throw std::invalid_argument("op::timeout: a negative span");
  DeadlineCase one;
  one.span_ = span.count();
  return one;
}

DeadlineCase DeadlineCase::at(std::chrono::steady_clock::time_point when) {
  DeadlineCase one;
  one.when_ = deadline_at(when);
  return one;
}

std::int64_t DeadlineCase::deadline() const {
  return span_ < 0 ? when_ : deadline_after(std::chrono::nanoseconds(span_));
}

seam::SpinLock* JoinCase::lock() {
  return &waiters_lock(*target_);
}

void JoinCase::link(TaskCore& task) {
  static_assert(sizeof(TaskWaiter) <= sizeof waiter_ && alignof(TaskWaiter) <= 8);
  auto* waiter = new (waiter_) TaskWaiter;
  waiter->task = &task;
  waiter->ticket = node.ticket;
  JoinList::link(target_->waiters, *waiter);
}

void JoinCase::unlink() {
  JoinList::unlink(target_->waiters, as_waiter(waiter_));
}

}  // namespace weft::inline v0::detail
