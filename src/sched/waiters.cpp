// SPDX-License-Identifier: MIT
// Relaxed: lists are written under their lock; the ender's look at the list comes after its light fence [JOIN-1]; a
// timer's place is read again under the wheel's lock.
#include "sched/waiters.hpp"

#include <mutex>

#include "sched/dispatch.hpp"
#include "sched/park.hpp"
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
  TaskWaiter* claimed = nullptr;
  {
    const std::lock_guard guard(waiters_lock(ended));
    TaskWaiter* next = ended.waiters.load(std::memory_order_relaxed);
    ended.waiters.store(nullptr, std::memory_order_relaxed);
    while (next != nullptr) {
      TaskWaiter* waiter = next;
      next = waiter->next;
      waiter->linked = false;
      if (waiter->task->word.claim(waiter->ticket, WakeReason::data) != TaskWord::Claimed::yes) continue;
      waiter->next = claimed;
      claimed = waiter;
    }
  }
  while (claimed != nullptr) {
    TaskCore* task = claimed->task;
    claimed = claimed->next;  // its frame is gone once it is delivered
    if (task->word.deliver() == TaskWord::Queue::you) make_ready(task, WakeReason::data);
  }
}

void join_task(TaskCore& target, std::int64_t deadline, Raise raise, WakeReason& reason) {
  const auto over = [&] { return target.word.look().state() >= TaskState::done; };
  reason = WakeReason::data;
  if (over()) return;
  TaskCore& self = *task_here();
  const WaitInfo info{"join", &target, &target};
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
    {
      const std::lock_guard guard(waiters_lock(target));
      // [LP waiter published, W-110] PARKING and the link under the lock of the list; unlocking releases both to
      // whoever locks it next
      waiter.ticket = self.word.begin_park();
      waiter.next = target.waiters.load(std::memory_order_relaxed);
      waiter.linked = true;
      target.waiters.store(&waiter, std::memory_order_relaxed);
    }
    seam::heavy_fence();  // [JOIN-1]
    if (over()) {
      call_off_wait(self);
      reason = WakeReason::data;
    } else {
      reason = finish_wait(self, raise);
    }
    {
      const std::lock_guard guard(waiters_lock(target));
      if (waiter.linked) {
        seam::Atomic<TaskWaiter*>& head = target.waiters;
        if (head.load(std::memory_order_relaxed) == &waiter) {
          head.store(waiter.next, std::memory_order_relaxed);
        } else {
          TaskWaiter* at = head.load(std::memory_order_relaxed);
          while (at->next != &waiter) at = at->next;
          at->next = waiter.next;
        }
      }
    }
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
    if (reason == WakeReason::timeout && deadline != seam::no_deadline && seam::monotonic_ns() >= deadline) return;
  }
}

void forget_timer(TaskCore& task) {
  auto& here = static_cast<Worker&>(*this_worker());
  while (const unsigned place = task.timer_place.load(std::memory_order_acquire)) {
    Worker& there = here.runtime->worker(place - 1);
    const bool own = &there == &here;
    own ? there.wheel_lock.lock_owner() : there.wheel_lock.lock_other();
    if (task.timer_place.load(std::memory_order_relaxed) == place) {  // else fired or handed over meanwhile
      there.wheel.remove(task.timer);
      task.timer_place.store(0, std::memory_order_relaxed);
    }
    own ? there.wheel_lock.unlock_owner() : there.wheel_lock.unlock_other();
  }
}

}  // namespace weft::inline v0::detail
