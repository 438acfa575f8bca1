// SPDX-License-Identifier: MIT
// What: from one stack of a worker to the next: what each park, yield and end of a task goes through, inlined where
// nanoseconds count. dispatch.hpp has the same for everybody else.
//
//   self: left = ...; next_of(); leave_here_for() ----switch----> next: arrive_here(): `left` becomes somebody else's
//
// Invariants
//   [LEAVE-1] A plain worker (Worker::plain) takes the short ways; whatever is watched, bound to a strand or a worker,
//             or under another policy goes by the functions of dispatch.cpp. Both do the same.
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

inline constexpr unsigned longest_slot_streak = 16;  // dispatches from the slot before the FIFO gets a turn

// Goes back where it belongs, whoever wakes it.
[[gnu::always_inline]] inline bool is_bound(const TaskCore& task) {
  return (task.flags & task_pinned) || task.strand != nullptr;
}

[[gnu::always_inline]] inline void arrive_here(Worker& worker) {
  const Left left = worker.left;
  if (!left) return;
  worker.left = {};
  if (worker.plain && !left.is_core()) [[likely]] {
    TaskCore* task = left.task();
    if (!is_bound(*task)) [[likely]] {
      if (left.yields()) {
        worker.ready.push_back<true>(Entry(task, entry_task));
      } else if (task->word.leave() == TaskWord::Queue::you) [[unlikely]] {
        make_ready(task, WakeReason::none);
      }
      return;
    }
  }
  arrive_from(worker, left);
}

template <bool Plain = false>
[[gnu::always_inline]] inline Entry next_of(Worker& worker) {
  worker.count_tick();
  const std::uint64_t pick = ++worker.picks;
  if (worker.look_due(pick)) [[unlikely]]
    return {};
  if (worker.ready.empty()) return next_unready(worker);
  if ((pick & 15) == 0) [[unlikely]]
    return next_in_turn(worker);
  const bool slot_first = worker.slot_streak < longest_slot_streak;
  const Entry entry = worker.ready.pop<Plain>(slot_first);
  if (!entry) [[unlikely]]
    return next_unready(worker);
  ++worker.slot_streak;
  return entry;
}

// Returns when somebody comes back to `self`, with what they passed. Plain: on a plain worker, and nothing is asked of
// self's chain, its FP words above all.
template <bool Plain = false>
[[gnu::always_inline]] inline void* change_to(Worker& worker, FiberCore* self, FiberCore* to, void* argument) {
  FiberCore* root = to->root;
  if (to != worker.loop) {  // all three: a worker's place may have got another thread since
    root->thread_eh = worker.thread_eh;
    root->carrier = worker.carrier;
    root->worker = &worker;
  }
  std::uint32_t alerts = root->alert.load(std::memory_order_relaxed);
  if constexpr (!Plain) alerts |= self->root->alert.load(std::memory_order_relaxed);
  if (alerts & alert_fp) [[unlikely]]
    fp_words_change(self, to);
  void* back = switch_fiber(*self, *to, argument);
  arrive_here(*static_cast<Worker*>(self->root->worker));
  return back;
}

template <bool Plain = false>
[[gnu::always_inline]] inline void* leave_here_for(Worker& worker, FiberCore* self, Entry entry) {
  if (entry && entry.kind() == entry_task) [[likely]] {
    auto* task = entry.as<TaskCore>();
    if (task->top != nullptr) [[likely]] {
      if (!Plain && worker.watched) [[unlikely]]
        watch_departure(worker, *task);
      ++worker.counters.switches;
      record_current(worker, task);
      const WakeReason reason = task->word.run_on(worker.index + 1);
      return change_to<Plain>(worker, self, task->top, reinterpret_cast<void*>(static_cast<std::uintptr_t>(reason)));
    }
  }
  return leave_for_other(worker, self, entry);
}

}  // namespace weft::inline v0::detail
