// SPDX-License-Identifier: MIT
// What: the part of a worker that spawn and par touch inline: its deque of unstarted children, its free records, its
// tick. The rest is src/sched/worker.hpp.
// Invariants
//   [WRK-1] The deque holds what has not started: nursery children and jobs of par. What has started and is ready
//           stands in the ready queue. So a thief of the deque never takes a warm stack.
//   [WRK-2] moves() grows with each dispatch and each child run in place: who looks twice and sees the same number
//           knows that this worker has not moved.
// Threads: the worker; `deque` and `tick` may be looked at, and stolen from, by others.
// Relaxed: tallies, the tick and the idle summary are hints and statistics; the started count is ordered before its
// task by the push that publishes the task.
#pragma once

#include <cstdint>

#include "weft/detail/cache_line.hpp"
#include "weft/detail/deque.hpp"
#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {

struct RuntimeCore;

// Written by one thread; others read it for statistics, never for decisions that matter.
class Tally {
 public:
  void operator++() { *this += 1; }
  void operator+=(std::uint64_t n) { count_ += n; }
  operator std::uint64_t() const { return count_; }  // NOLINT: reads as a number

 private:
  seam::Guessed<std::uint64_t> count_ = 0;
};

struct WorkerCore {
  Deque deque;
  alignas(cache_line) seam::Guessed<std::uint64_t> tick = 0;  // of the moves that nothing else counts
  TaskCore* free_records = nullptr;                           // linked through `links.scope_next`
  unsigned free_count = 0;
  unsigned index = 0;
  RuntimeCore* runtime = nullptr;
  std::uint64_t next_id = 0;
  std::uint64_t end_id = 0;
  const seam::Atomic<std::uint64_t>* idle = nullptr;  // IdleSet's summary
  bool in_place = true;                               // children may run on their joiner's stack
  bool steals = true;                                 // the policy: false puts everything into the shared queue
  bool flat = false;                                  // in_place, and fences are asymmetric: the short way is right
  bool unseen = true;                                 // the policy steals, and nobody wants to be told of each birth
  TaskMoment running{0};                              // what the word of who runs here says, without its ticket
  Tally ran_in_place;                                 // children, from their beginning to their end [PLACE-1]

  static constexpr unsigned most_free = 512;
  void count_tick() { tick += 1; }
};

[[gnu::always_inline]] inline WorkerCore* this_worker() {
  return current_core()->root->worker;
}
// Null on a plain thread that has never waited.
[[gnu::always_inline]] inline TaskCore* this_task() {
  return current_core()->root->task;
}

// Slow halves, src/sched.
TaskCore* take_record_slow(WorkerCore* worker);
void give_record_slow(WorkerCore* worker, TaskCore* task) noexcept;
void wake_searcher(WorkerCore* worker);  // the deque holds two or more: somebody might help
void push_shared(WorkerCore* worker, Entry entry);
std::uint64_t fresh_task_ids(WorkerCore* worker);

// Somebody sleeps, nobody searches (IdleSet's layout), and there is more here than the owner will take next.
[[gnu::always_inline]] inline bool wants_helper(const WorkerCore* worker) {
  const auto now = static_cast<std::uint32_t>(worker->idle->load(std::memory_order_relaxed));
  return now != 0 && (now & 0xffff) == 0 && worker->deque.size() >= 2;
}

[[gnu::always_inline]] inline TaskCore* take_record(WorkerCore* worker) {
  TaskCore* task = worker->free_records;
  if (task == nullptr) [[unlikely]]
    return take_record_slow(worker);
  worker->free_records = task->links.scope_next;
  --worker->free_count;
  return task;
}

[[gnu::always_inline]] inline void give_record(WorkerCore* worker, TaskCore* task) noexcept {
  WEFT_DEBUG(is_clean(*task), "a record goes back as it was");
  if (worker->free_count >= WorkerCore::most_free) [[unlikely]]
    return give_record_slow(worker, task);
  task->links.scope_next = worker->free_records;
  worker->free_records = task;
  ++worker->free_count;
}

// To the young end of the deque, where its joiner looks first; where the policy steals.
[[gnu::always_inline]] inline void push_own(WorkerCore* worker, Entry entry) {
  if (!worker->deque.push(entry)) [[unlikely]]
    return push_shared(worker, entry);
  if (wants_helper(worker)) [[unlikely]]
    wake_searcher(worker);
}
[[gnu::always_inline]] inline void push_young(WorkerCore* worker, Entry entry) {
  worker->steals ? push_own(worker, entry) : push_shared(worker, entry);
}

}  // namespace weft::inline v0::detail
