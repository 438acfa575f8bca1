// SPDX-License-Identifier: MIT
// Relaxed: a timer's place is read again under the wheel's lock.
#include "sched/waiters.hpp"

#include "sched/dispatch.hpp"
#include "sched/join_list.hpp"
#include "sched/park.hpp"
#include "sched/virtual_time.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr unsigned lock_count = 64;
struct alignas(cache_line) Padded {
  seam::SpinLock lock;
};
Padded locks[lock_count];

}  // namespace

seam::SpinLock& waiters_lock(const TaskCore& task) {
  return locks[reinterpret_cast<std::uintptr_t>(&task) / sizeof(TaskCore) % lock_count].lock;
}

void wake_waiters(TaskCore& ended) {
  JoinList::wake_all(ended.waiters, waiters_lock(ended), [](TaskCore* task) { make_ready(task, WakeReason::data); });
}

void join_task(TaskCore& target, std::int64_t deadline, Raise raise, WakeReason& reason) {
  const auto over = [&] { return target.word.look().state() >= TaskState::done; };
  reason = WakeReason::data;
  if (over()) return;
  TaskCore& self = *task_here();
  const WaitInfo info{"join", &target, &target};
  if (raise == Raise::yes) offer_wait(info, deadline);
  for (;;) {
    try {
      begin_wait(self, info, deadline, raise);
    } catch (const Cancelled&) {
      // Asked to stop because the target has failed: that failure is what the joiner gets, wherever the target ran.
      if (!over()) throw;
      reason = WakeReason::data;
      return;
    }
    TaskWaiter waiter;
    waiter.task = &self;
    JoinList::announce(target.waiters, waiter, waiters_lock(target));
    if (!over() && JoinList::publish(waiter, waiters_lock(target))) {
      reason = finish_wait(self, raise);
    } else {
      self.wait = nullptr;  // there is none
      reason = WakeReason::data;
    }
    JoinList::withdraw(target.waiters, waiter, waiters_lock(target));
    if (over()) {
      reason = WakeReason::data;
      return;
    }
    if (raise == Raise::yes && (reason == WakeReason::cancel || reason == WakeReason::timeout))
      raise_if_cancelled(self);
    if (raise == Raise::quietly && cancel_due(self)) {
      reason = WakeReason::cancel;
      return;
    }
    if (reason == WakeReason::timeout && deadline != seam::no_deadline && time_here() >= deadline) return;
  }
}

void forget_timer(TaskCore& task) {
  auto& here = static_cast<Worker&>(*this_worker());
  if (here.runtime->virtual_time != nullptr) [[unlikely]]
    return here.runtime->virtual_time->forget(task);
  while (const unsigned place = task.timer_place.load(std::memory_order_acquire)) {
    Worker& there = here.runtime->worker(place - 1);
    const bool own = &there == &here;
    own ? there.wheel_lock.lock_owner() : there.wheel_lock.lock_other();
    if (task.timer_place.load(std::memory_order_relaxed) == place) {  // else fired or handed over meanwhile
      there.wheel.remove(task.links.timer);
      task.timer_place.store(0, std::memory_order_relaxed);
    }
    own ? there.wheel_lock.unlock_owner() : there.wheel_lock.unlock_other();
  }
}

}  // namespace weft::inline v0::detail
