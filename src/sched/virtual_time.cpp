// SPDX-License-Identifier: MIT
// Relaxed: a task's timer_place and deadline are written by itself, or under the lock; sizes are looked at while nobody
// runs.
#include "sched/virtual_time.hpp"

#include <algorithm>
#include <mutex>

#include "base/sys.hpp"
#include "sched/deadlock.hpp"
#include "sched/dispatch.hpp"
#include "sched/io.hpp"
#include "sched/records.hpp"
#include "sched/runtime_core.hpp"
#include "sched/runtimes.hpp"
#include "sched/search.hpp"
#include "weft/runtime.hpp"
#include "weft/time.hpp"

namespace weft::inline v0 {
namespace detail {

void VirtualTime::insert(TaskCore& task, std::int64_t deadline) {
  task.links.timer.deadline = deadline;
  TimerLink* before = head_.prev;  // most come last
  while (before != &head_ && static_cast<TimerNode*>(before)->deadline > deadline) before = before->prev;
  task.links.timer.prev = before;
  task.links.timer.next = before->next;
  before->next->prev = &task.links.timer;
  before->next = &task.links.timer;
  task.timer_place.store(place, std::memory_order_relaxed);
}

void VirtualTime::remove(TaskCore& task) {
  task.links.timer.prev->next = task.links.timer.next;
  task.links.timer.next->prev = task.links.timer.prev;
  task.links.timer.next = task.links.timer.prev = nullptr;
  task.timer_place.store(0, std::memory_order_release);  // the node is the task's again, and its room [TASK-4]
}

void VirtualTime::arm(TaskCore& task, std::int64_t deadline) {
  {
    const std::lock_guard guard(lock_);
    if (deadline > now_.load(std::memory_order_relaxed)) {
      if (task.timer_place.load(std::memory_order_relaxed) == place) {
        if (task.links.timer.deadline == deadline) return;
        remove(task);
      }
      return insert(task, deadline);
    }
  }
  (void)task.word.wake(task.word.look().ticket(), WakeReason::timeout);  // not left yet: it goes on by itself
}

void VirtualTime::forget(TaskCore& task) {
  if (task.timer_place.load(std::memory_order_acquire) != place) return;
  const std::lock_guard guard(lock_);
  if (task.timer_place.load(std::memory_order_relaxed) == place) remove(task);
}

TaskCore* VirtualTime::first() {
  while (head_.next != &head_) {
    TaskCore& task = *task_of_timer(static_cast<TimerNode&>(*head_.next));
    const TaskMoment now = task.word.look();
    const std::int64_t deadline = task.deadline.load(std::memory_order_relaxed);
    const bool waits = now.state() == TaskState::parking && now.reason() == WakeReason::none;
    if (waits && deadline == task.links.timer.deadline) return &task;
    remove(task);
    if (waits && deadline != seam::no_deadline) insert(task, deadline);
  }
  return nullptr;
}

std::int64_t VirtualTime::earliest() {
  const std::lock_guard guard(lock_);
  const TaskCore* task = first();
  return task != nullptr ? task->links.timer.deadline : seam::no_deadline;
}

bool VirtualTime::step(std::int64_t limit, Chain& into, std::size_t& count) {
  const std::lock_guard guard(lock_);
  const TaskCore* next = first();
  if (next == nullptr || next->links.timer.deadline > limit) return false;
  const std::int64_t now = std::max(next->links.timer.deadline, now_.load(std::memory_order_relaxed));
  now_.store(now, std::memory_order_release);
  for (TaskCore* task = first(); task != nullptr && task->links.timer.deadline <= now; task = first()) {
    remove(*task);
    if (task->word.wake(task->word.look().ticket(), WakeReason::timeout) != TaskWord::Wake::queue_it) continue;
    if ((task->flags & task_pinned) || task->strand != nullptr) {
      make_ready(task, WakeReason::timeout);
    } else {
      task->word.make_runnable();
      into.push_back(Entry(task, entry_task));
      ++count;
    }
  }
  return true;
}

void VirtualTime::hold(std::int64_t real_now) {
  held_.store(true, std::memory_order_relaxed);
  if (held_since_ == 0) held_since_ = real_now;
  if (told_ || real_now - held_since_ < 1'000'000'000) return;
  told_ = true;
  sys::write_all(
      2,
      "weft: virtual time has stood for a second: another runtime is busy, or a thread that has used a "
      "primitive of weft runs on. It moves when they have ended or wait in a primitive without a deadline\n");
}

std::int64_t time_of(const RuntimeCore& runtime) {
  return runtime.virtual_time != nullptr ? runtime.virtual_time->now() : seam::monotonic_ns();
}

std::int64_t time_here() {
  const WorkerCore* worker = this_worker();
  return worker != nullptr ? time_of(*worker->runtime) : seam::monotonic_ns();
}

namespace {

// Nobody runs or searches, nothing is queued: whoever asks has announced its own sleep.
bool is_quiet(RuntimeCore& runtime) {
  const IdleSet::Census census = runtime.idle.census();
  if (census.active != 0 || census.searchers != 0 || !runtime.global.empty()) return false;
  const unsigned count = runtime.worker_count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    const Worker& worker = runtime.worker(i);
    if (worker.deque.size() != 0 || !worker.ready.empty() || !worker.inbox.empty() || !worker.pinned.empty() ||
        worker.idle_node.wake.load(std::memory_order_relaxed) == IdleNode::token)
      return false;
  }
  return true;
}

// The looker is quiet and stays so while nobody else does anything [VT-3].
bool party_about(RuntimeCore& runtime) {
  if (thread_tasks() == 0 && !several_runtimes()) return false;
  const Parties before = parties_beside(runtime);
  if (!before.idle || !is_quiet(runtime)) return true;
  const Parties after = parties_beside(runtime);
  return !after.idle || after.print != before.print;
}

}  // namespace

bool move_on_if_quiet(RuntimeCore& runtime, Worker& worker, std::int64_t limit) {
  const std::lock_guard looking(runtime.settling.looking());
  if (!is_quiet(runtime)) return false;
  if (runtime.settling.anybody()) {
    for (const ParkToken& park : runtime.settling.take_all()) give_permit(park);
    return true;
  }
  if (runtime.virtual_time == nullptr) return false;
  VirtualTime& time = *runtime.virtual_time;
  const bool stands = runtime.outside.load(std::memory_order_acquire) != 0 || external_wait_about();  // its end tells
  if (stands || time.earliest() > limit || time.earliest() == seam::no_deadline) {
    time.let_go();
    return false;
  }
  if (party_about(runtime)) {
    time.hold(seam::monotonic_ns());
    return false;
  }
  time.let_go();
  Chain due;
  std::size_t count = 0;
  if (!time.step(limit, due, count)) return false;
  if (count != 0) queue_woken(worker, due, count);
  return true;
}

Outside::Outside(RuntimeCore& runtime) : runtime_(runtime) {
  runtime_.outside.fetch_add(1, std::memory_order_relaxed);
}
// release: the answer is there
Outside::~Outside() {
  runtime_.outside.fetch_sub(1, std::memory_order_release);
}

}  // namespace detail

using namespace detail;

std::chrono::steady_clock::time_point now() {
  return current_io().now();
}

void settle() {
  const WorkerCore* worker = this_worker();
  if (worker == nullptr)
    throw RuntimeError(RuntimeErrc::not_in_task, "weft::settle outside of a task: call it inside weft::run");
  RuntimeCore& runtime = *worker->runtime;
  ParkToken park;
  do {
    park = runtime.current_park();
    runtime.settling.add(park);
    (void)runtime.suspend_raw(park, {"settle"});
  } while (runtime.settling.remove(park));  // it was woken for nothing
}

void advance(std::chrono::nanoseconds span) {
  const WorkerCore* worker = this_worker();
  if (worker == nullptr || worker->runtime->virtual_time == nullptr)
    throw RuntimeError(RuntimeErrc::not_in_task,
                       "weft::advance needs a task of a runtime whose clock is RuntimeOptions::Clock::virtual_");
  sleep_until(now() + span);
  settle();
}

}  // namespace weft::inline v0
