// SPDX-License-Identifier: MIT
// What: from one stack of a worker to the next: what each park, yield and end of a task goes through, inlined where
// nanoseconds count. dispatch.hpp has the same for everybody else.
//
//   self: left = ...; next_of(); leave_here_for() ----switch----> next: arrive_here(): `left` becomes somebody else's
//
// Invariants
//   [LEAVE-1] A plain worker (Worker::plain) takes the short ways; whatever is watched, bound to a strand or a worker,
//             or under another policy goes by the functions of dispatch.cpp. Both do the same.
//   [LEAVE-2] A worker's `here` is another root, or none, before the one that it was is marked as left: who runs on the
//             stack of a worker's `here` runs on that worker.
// Threads: the worker's own.
// Relaxed: alerts are looked at again where they matter; the rest is this worker's own.
#pragma once

#include "fiber/fp_words.hpp"
#include "sched/dispatch.hpp"
#include "sched/runtime_core.hpp"

namespace weft::inline v0::detail {

// --- The long ways, dispatch.cpp.
void arrive_from(Worker& worker, Left left);
Entry next_unready(Worker& worker);
Entry next_in_turn(Worker& worker);
void* leave_for_other(Worker& worker, FiberCore* self, Entry entry);
void watch_departure(const Worker& worker, const TaskCore& task);

// The slot's task goes first, but at fifteen picks in a row of each 64 the oldest does.
inline bool slot_first(std::uint64_t pick) {
  return (pick & 48) != 0;
}

// What a task finds when it goes on: the worker that it is on by now, and why its wait ended.
class Arrival {
 public:
  Arrival(Worker& worker, WakeReason reason)
      : word_(reinterpret_cast<std::uintptr_t>(&worker) | static_cast<std::uintptr_t>(reason)) {}
  explicit Arrival(void* passed) : word_(reinterpret_cast<std::uintptr_t>(passed)) {}

  void* pass() const { return reinterpret_cast<void*>(word_); }
  Worker& worker() const { return *reinterpret_cast<Worker*>(word_ & ~reasons); }
  WakeReason reason() const { return static_cast<WakeReason>(word_ & reasons); }

 private:
  static constexpr std::uintptr_t reasons = 15;
  static_assert(alignof(Worker) > reasons);
  std::uintptr_t word_;
};

[[gnu::always_inline]] inline void arrive_here(Worker& worker) {
  const Left left = worker.left;
  if (!left) return;
  worker.left = {};
  if (TaskCore* task = left.plain_park()) [[likely]] {
    if (task->word.leave() == TaskWord::Queue::you) [[unlikely]]
      make_ready(task, WakeReason::none);
  } else if (left.plain()) {
    worker.ready.push_back<true>(Entry(left.task(), entry_task));
  } else {
    arrive_from(worker, left);
  }
}

template <bool Plain = false>
[[gnu::always_inline]] inline Entry next_of(Worker& worker) {
  const std::uint64_t pick = worker.picks += 1;
  if (worker.look_due(pick)) [[unlikely]]
    return {};
  if ((pick & 15) == 0) [[unlikely]]
    return next_in_turn(worker);
  if (const Entry entry = worker.ready.pop<Plain>(slot_first(pick))) [[likely]]
    return entry;
  return next_unready(worker);
}

// Returns when somebody comes back to `self`, with what they passed. Plain: on a plain worker, from a task to a task,
// and nothing is asked of self's chain, its FP words above all; then what is passed is an Arrival.
template <bool Plain = false>
[[gnu::always_inline]] inline void* change_to(Worker& worker, FiberCore* self, FiberCore* to, void* argument) {
  FiberCore* root = to->root;
  const bool away = Plain || to != worker.loop;
  worker.here.store(away ? root : nullptr, std::memory_order_relaxed);  // [LEAVE-2]
  if (away) {  // all three: a worker's place may have got another thread since
    root->thread_eh = worker.thread_eh;
    root->carrier = worker.carrier;
    root->worker = &worker;
  }
  std::uint32_t alerts = root->alert.load(std::memory_order_relaxed);
  if constexpr (!Plain) alerts |= self->root->alert.load(std::memory_order_relaxed);
  if (alerts & alert_fp) [[unlikely]]
    fp_words_change(self, to);
  void* back = switch_fiber(*self, *to, argument, worker.thread_eh);
  arrive_here(Plain ? Arrival(back).worker() : *static_cast<Worker*>(self->root->worker));
  return back;
}

template <bool Plain = false>
[[gnu::always_inline]] inline void* leave_here_for(Worker& worker, FiberCore* self, Entry entry) {
  if (entry && entry.kind() == entry_task) [[likely]] {
    static_assert(entry_task == 0);
    auto* task = static_cast<TaskCore*>(reinterpret_cast<QueueLink*>(entry.word()));
    if (task->top != nullptr) [[likely]] {
      if (!Plain && worker.watched) [[unlikely]]
        watch_departure(worker, *task);
      ++worker.counters.switches;
      const WakeReason reason = task->word.run_as(worker.running);
      return change_to<Plain>(worker, self, task->top, Arrival(worker, reason).pass());
    }
  }
  return leave_for_other(worker, self, entry);
}

}  // namespace weft::inline v0::detail
