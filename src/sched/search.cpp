// SPDX-License-Identifier: MIT
// Relaxed: ticks, sizes, states and the coarse clock are hints about other workers; what is then taken is taken by a
// queue's own protocol, and what a look missed the sleeper's fence or the watch makes good. A task's deadline is read
// after its word (acquire), which was stored after it.
#include "sched/search.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "sched/director.hpp"
#include "sched/hand_over.hpp"
#include "sched/park.hpp"
#include "sched/tracer.hpp"
#include "sched/warm.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr std::int64_t spin_ns = 20'000;    // a searcher looks that long before it sleeps
constexpr std::int64_t watch_ns = 100'000;  // the watch looks that often
constexpr std::int64_t longest_watch_ns = 2'000'000;
constexpr std::int64_t held_ns = 1'000'000;      // who steers looks that often for those who hold virtual time
constexpr std::int64_t steal_ready_ns = 10'000;  // ready tasks are stolen when they would wait this long
constexpr std::size_t steal_limit = 32;

// What a thief remembers of a neighbour, to see whether it moves.
struct Glimpse {
  std::uint64_t tick = 0;
  std::int64_t at = 0;
};

class Search {
 public:
  explicit Search(Worker& worker)
      : worker_(worker), runtime_(*worker.runtime), glimpses_(worker.runtime->workers.size()) {}

  // Everything that may be run now, the own things first, in an order that lets nothing starve.
  Entry look() {
    if (worker_.kept) return std::exchange(worker_.kept, {});
    refresh_clock();
    worker_.age.look(worker_.deque, worker_.now.load(std::memory_order_relaxed));
    // Any of these queues may never become empty: at every second look the oldest of the unstarted goes first, then and
    // at the others one of the three after the other.
    const std::uint64_t turn = worker_.looks++;
    if (turn & 1) {
      if (const Entry entry = take_oldest()) return entry;
    }
    for (std::uint64_t i = 0; i < 3; ++i)
      if (const Entry entry = take_from((turn / 2 + i) % 3)) return entry;
    if (const Entry entry = worker_.ready.pop_front()) return entry;
    if (const Entry entry = worker_.ready.pop_slot()) return entry;
    return take_oldest();
  }

  // `patient`: a neighbour's only entry is left to it; after a doze it is not, if it has not moved.
  Entry steal(bool patient) {
    if (!worker_.steals) return {};
    const unsigned count = runtime_.worker_count.load(std::memory_order_acquire);
    const unsigned first = count > 1 ? static_cast<unsigned>(worker_.random.below(count)) : 0;
    for (unsigned i = 0; i < count; ++i) {
      Worker& victim = runtime_.worker((first + i) % count);
      if (&victim == &worker_) continue;
      if (const Entry entry = steal_from(victim, patient)) return entry;
    }
    return {};
  }

  // Is there anything that this worker could run or steal? For the recheck before sleeping.
  bool something() {
    if (!runtime_.global.empty() || !worker_.inbox.empty() || !worker_.pinned.empty()) return true;
    if (!worker_.steals) return false;
    const unsigned count = runtime_.worker_count.load(std::memory_order_acquire);
    for (unsigned i = 0; i < count; ++i)
      if (runtime_.worker(i).deque.size() >= 2 && &runtime_.worker(i) != &worker_) return true;
    return false;
  }

  void refresh_clock() {
    const std::int64_t now = seam::monotonic_ns();
    worker_.now.store(now, std::memory_order_relaxed);
    if (worker_.next_timer.load(std::memory_order_relaxed) <= now) fire_timers(worker_, now);
    Poller* poller = runtime_.poller.load(std::memory_order_acquire);
    if (poller == nullptr) return;
    poller->flush();
    if (poller->role.try_pass()) {
      reap(*poller, now);
      (void)poller->role.leave();  // it comes by before it sleeps [POLL-1]
    }
  }

  // Inside the poller.
  void reap(Poller& poller, std::int64_t now) {
    poller.reaped_at.store(now, std::memory_order_relaxed);
    Chain woken;
    const std::size_t count = poller.reap(woken);
    if (count == 0) return;
    warm(woken);
    queue_woken(worker_, woken, count);
  }

  void glimpse_all() {
    const unsigned count = runtime_.worker_count.load(std::memory_order_acquire);
    const std::int64_t now = seam::monotonic_ns();
    for (unsigned i = 0; i < count; ++i) glimpses_[i] = {runtime_.worker(i).moves(), now};
  }

 private:
  Entry take_oldest() { return worker_.age.take_oldest(worker_.deque, worker_.picks); }
  // What came from elsewhere, of three kinds.
  Entry take_from(std::uint64_t kind) {
    if (kind == 1) return worker_.pinned.pop();
    if (kind == 2) return worker_.pop_inbox();
    const Entry entry = runtime_.global.pop();
    if (entry) ++worker_.counters.global_pops;
    return entry;
  }

  Entry steal_from(Worker& victim, bool patient) {
    const Glimpse seen = glimpses_[victim.index];
    const std::uint64_t tick = victim.moves();
    const bool still = !patient && seen.at != 0 && seen.tick == tick;
    const std::size_t unstarted = victim.deque.size();
    if (unstarted >= 2 || (unstarted == 1 && still)) {
      const std::size_t limit = unstarted >= 2048 ? 256 : unstarted >= 64 ? 32 : unstarted >= 8 ? 4 : 1;
      const Deque::Stolen stolen = victim.deque.steal_batch(worker_.deque, limit);
      if (stolen.outcome == Deque::Theft::taken) {
        ++worker_.counters.steals;
        return stolen.entry;
      }
    }
    const std::size_t ready = victim.ready.size();
    if (ready == 0 || seen.at == 0) return {};
    const std::int64_t elapsed = seam::monotonic_ns() - seen.at;
    const std::uint64_t moved = tick - seen.tick;
    const bool old =
        moved == 0 ? elapsed >= steal_ready_ns
                   : static_cast<std::int64_t>(ready) * elapsed / static_cast<std::int64_t>(moved) >= steal_ready_ns;
    if (!old) return {};
    Chain taken;
    const std::size_t count = victim.ready.steal(taken, ready >= 2048 ? 4 * steal_limit : steal_limit, false);
    if (count == 0) return {};
    worker_.counters.ready_steals += count;
    const Entry first = taken.pop_front();
    if (count > 1) worker_.ready.append(std::move(taken), count - 1);
    return first;
  }

  Worker& worker_;
  RuntimeCore& runtime_;
  std::vector<Glimpse> glimpses_;  // of each worker
};

// searching -> ACTIVE.
void leave_search(Worker& worker) {
  RuntimeCore& runtime = *worker.runtime;
  if (IdleNode* node = runtime.idle.found_work()) {
    ++worker.counters.futex_wakes;
    IdleSet::notify(*node);
  }
  if (Pace::too_slow(runtime.sysmon_pace, SysmonPace::asleep)) wake_sysmon(runtime);
}

}  // namespace

void queue_woken(Worker& worker, Chain& woken, std::size_t count) {
  if (worker.steals) {
    worker.ready.append(std::move(woken), count);
  } else {
    while (const Entry entry = woken.pop_front()) worker.runtime->global.push(entry);
  }
  if (count > 1 && worker.runtime->idle.wants_wake()) wake_searcher(&worker);
}

TaskCore* task_of_timer(TimerNode& node) {
  return reinterpret_cast<TaskCore*>(reinterpret_cast<std::byte*>(&node) - TaskCore::timer_offset);
}

std::size_t fire_wheel(Worker& owner, bool own, std::int64_t now, WorkerCounters& counters, Chain& into) {
  std::size_t woken_count = 0;
  own ? owner.wheel_lock.lock_owner() : owner.wheel_lock.lock_other();
  TaskCore* late_list = nullptr;
  owner.wheel.advance(now, [&](TimerNode& node) {
    TaskCore* task = task_of_timer(node);
    const TaskMoment moment = task->word.look();
    const std::int64_t deadline = task->deadline.load(std::memory_order_relaxed);
    if (moment.state() == TaskState::parking && deadline > now && deadline != seam::no_deadline) {
      // Armed for an earlier wait; the present one ends later.
      node.next = reinterpret_cast<TimerLink*>(late_list);
      late_list = task;
      return;
    }
    task->timer_place.store(0, std::memory_order_release);
    if (moment.state() != TaskState::parking || deadline > now) {
      ++counters.timers_stale;
      return;
    }
    const TaskWord::Wake outcome = task->word.wake(moment.ticket(), WakeReason::timeout);
    ++(outcome == TaskWord::Wake::lost ? counters.timers_stale : counters.timers_fired);
    if (outcome != TaskWord::Wake::queue_it) return;
    if (task->flags & task_pinned || task->strand != nullptr || owner.runtime->options.migration_check) {
      make_ready(task, WakeReason::timeout);
    } else {
      note_wake(*task);
      task->word.make_runnable();
      into.push_back(Entry(task, entry_task));
      ++woken_count;
    }
  });
  while (late_list != nullptr) {
    TaskCore* task = late_list;
    late_list = reinterpret_cast<TaskCore*>(task->links.timer.next);
    task->links.timer.next = nullptr;
    owner.wheel.insert(task->links.timer, task->deadline.load(std::memory_order_relaxed));
  }
  owner.next_timer.store(owner.wheel.next_deadline(), std::memory_order_release);  // [SYSM-4]
  own ? owner.wheel_lock.unlock_owner() : owner.wheel_lock.unlock_other();
  return woken_count;
}

void fire_timers(Worker& worker, std::int64_t now) {
  Chain woken;
  const std::size_t count = fire_wheel(worker, true, now, worker.counters, woken);
  if (count != 0) queue_woken(worker, woken, count);
}

namespace {

void push_into(RuntimeCore& runtime, Worker& worker, Entry entry) {
  switch (LatePush::push(worker, entry)) {
    case LatePush::Then::nothing:
      return;
    case LatePush::Then::notify:
      return IdleSet::notify(worker.idle_node);
    case LatePush::Then::rescue:
      (void)rescue_inbox(runtime, worker);
  }
}

}  // namespace

void push_elsewhere(RuntimeCore& runtime, TaskCore* task) {
  const Entry entry(task, entry_task);
  const unsigned count = runtime.options.workers;
  for (unsigned i = 1; i <= count; ++i) {
    Worker& worker = runtime.worker((task->last_worker + i) % count);
    const WorkerState state = worker.state.load(std::memory_order_relaxed);
    // Place 0 has no thread while nobody is in run(); those of the other base workers come.
    const bool lives = state != WorkerState::draining && state != WorkerState::dead &&
                       (state != WorkerState::unborn || worker.index != 0);
    if (lives && worker.index != task->last_worker) return push_into(runtime, worker, entry);
  }
  inject(runtime, entry);  // there is nobody else
}

void wake_from_outside(RuntimeCore& runtime, TaskCore* task) {
  const Entry entry(task, entry_task);
  if (runtime.director != nullptr) [[unlikely]]
    runtime.director->woken_from_outside();
  if (runtime.options.migration_check) return push_elsewhere(runtime, task);
  Worker& last = runtime.worker(task->last_worker);
  // Towards the worker it ran on, if that one is awake and keeps up; else whoever has time.
  if (last.state.load(std::memory_order_relaxed) == WorkerState::active &&
      !last.stuck.load(std::memory_order_relaxed) && last.inbox_size.load(std::memory_order_relaxed) < 64 &&
      runtime.options.policy == RuntimeOptions::Policy::steal) {
    return push_into(runtime, last, entry);
  }
  inject(runtime, entry);
}

void worker_loop(Worker& worker, Until until) {
  RuntimeCore& runtime = *worker.runtime;
  Search search(worker);
  worker.enter(WorkerState::active);
  const bool steers = runtime.virtual_time != nullptr;
  // It may have joined while others sleep without a watch: one of them becomes it [IDLE-1].
  runtime.idle.begin_search();
  leave_search(worker);
  bool polled = false;  // Until::polled: something has run, or its time is over
  bool poll_over = false;
  const auto over = [&] {
    switch (until) {
      case Until::stopped:
        return runtime.stopping.load(std::memory_order_acquire) || worker.retiring.load(std::memory_order_relaxed);
      case Until::main_done:
        return runtime.run_done.load(std::memory_order_acquire) != 0;
      case Until::drained:
        return runtime.live.none_alive() || seam::monotonic_ns() >= runtime.drain_deadline;
      case Until::polled:
        return poll_over;
    }
    return true;
  };
  while (!over()) {
    if (worker.look_mask.load(std::memory_order_relaxed) == 0) [[unlikely]] {
      worker.look_mask.store(Worker::usual_look_mask, std::memory_order_relaxed);
      if (std::exchange(worker.owes_ring, false)) wake_sysmon(runtime);
    }
    if (const Entry entry = search.look()) {
      ++worker.counters.dispatches;
      run_entry(worker, entry);
      polled = true;
      continue;
    }
    // Nothing of its own.
    runtime.idle.begin_search();
    worker.enter(WorkerState::idle_spin);
    Entry found;
    std::int64_t started = seam::monotonic_ns();
    std::int64_t watch = watch_ns;
    bool patient = true;
    search.glimpse_all();
    for (;;) {
      found = search.look();
      if (!found) found = search.steal(patient);
      if (found || over()) break;
      if (patient && !steers && until != Until::polled && seam::monotonic_ns() - started < spin_ns) {
        for (int i = 0; i < 32; ++i) seam::pause();
        continue;
      }
      // To sleep.
      const bool watches = runtime.idle.announce(worker.idle_node) == IdleSet::Sleep::watch;
      worker.enter(WorkerState::sleep);
      seam::heavy_fence();       // announced before the look; pairs with every pusher's
      Poller* poller = nullptr;  // that it is in
      const std::int64_t limit = until == Until::polled ? runtime.poll_deadline : seam::no_deadline;
      const bool goes_on = search.something() || over() ||
                           ((steers || runtime.settling.anybody()) && move_on_if_quiet(runtime, worker, limit));
      if (!goes_on && until == Until::polled && (polled || time_of(runtime) >= limit)) {
        poll_over = true;
      } else if (!goes_on) {
        ++worker.counters.sleeps;
        poller = runtime.poller.load(std::memory_order_acquire);
        if (poller != nullptr && !poller->role.try_enter()) poller = nullptr;
        const auto doze = [&](std::int64_t until_when) {
          return poller != nullptr ? IdleSet::sleep_in(*poller, worker.idle_node, until_when)
                                   : IdleSet::sleep(worker.idle_node, until_when);
        };
        std::int64_t deadline = worker.next_timer.load(std::memory_order_relaxed);
        if (watches) deadline = std::min(deadline, seam::monotonic_ns() + watch);
        if (until == Until::drained) deadline = std::min(deadline, runtime.drain_deadline);
        if (until == Until::polled && !steers) deadline = std::min(deadline, limit);
        if (steers && runtime.virtual_time->held()) deadline = std::min(deadline, seam::monotonic_ns() + held_ns);
        search.glimpse_all();
        if (worker.trace != nullptr) note(*worker.trace, TraceNote::sleeps, 0);
        seam::WaitResult result = doze(deadline);
        if (result == seam::WaitResult::timed_out && watches && !runtime.idle.keep_watch(worker.idle_node)) {
          // Nobody is active any more: on without a watch, but for timers.
          deadline = worker.next_timer.load(std::memory_order_relaxed);
          if (until == Until::drained) deadline = std::min(deadline, runtime.drain_deadline);
          if (until == Until::polled && !steers) deadline = std::min(deadline, limit);
          result = doze(deadline);
        }
        if (worker.trace != nullptr) note(*worker.trace, TraceNote::rises, 0);
        if (result != seam::WaitResult::timed_out) {
          patient = true;
          started = seam::monotonic_ns();
          watch = watch_ns;
        } else {
          patient = false;
          watch = std::min(watch * 2, longest_watch_ns);
        }
      }
      if (!runtime.idle.retract(worker.idle_node)) {
        // A waker has moved it: the token is there or on its way.
        if (worker.idle_node.wake.load(std::memory_order_acquire) != 0)
          worker.idle_node.wake.store(0, std::memory_order_relaxed);
      }
      if (poller != nullptr) {
        search.reap(*poller, seam::monotonic_ns());
        (void)poller->role.leave();
      }
      worker.enter(WorkerState::idle_spin);
    }
    worker.enter(WorkerState::active);
    leave_search(worker);
    if (found) {
      ++worker.counters.dispatches;
      run_entry(worker, found);
      polled = true;
    }
  }
}

}  // namespace weft::inline v0::detail
