// SPDX-License-Identifier: MIT
// What: a worker: an OS thread that runs tasks, and everything that belongs to it alone.
//
//   own stack (`loop`): searches, sleeps, looks at timers          virtual cores: run the tasks
//
//     loop --switch--> virtual core --task parks, next is ready--> another task's stack --nothing left--> loop
//
// A stack that is left cannot be marked as left from itself: whoever runs next does it (arrive()).
//
// Invariants
//   [WKR-1] `left` is set by the stack that is about to be left and taken by the next thing that runs on this worker,
//           before anything else happens there.
//   [WKR-2] `assigned` is set by who switches to an idle virtual core, and taken by that core.
//   [WKR-3] A worker ends by itself, on its own stack: it says DRAINING, runs a heavy fence, and moves what it has to
//           the shared queue. Who pushes into an inbox looks at the state afterwards, behind a fence, and takes the
//           inbox back if it is DRAINING or DEAD. So nothing stays behind.
//   [WKR-4] Pinned tasks live on the first `workers` places only. The others are temporary: they may end any time.
// Threads: its own, but for what others may touch: deque, ready (steal), inbox, pinned, wheel (rescue), state, tick.
// Relaxed: a size that only makes a waker choose another place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/inbox.hpp"
#include "base/random.hpp"
#include "fiber/carrier.hpp"
#include "sched/deque_age.hpp"
#include "sched/idle_set.hpp"
#include "sched/late_push.hpp"
#include "sched/ready_queue.hpp"
#include "sched/timer_wheel.hpp"
#include "weft/detail/worker_core.hpp"

namespace weft::inline v0::detail {

inline constexpr unsigned worker_states = 6;
const char* to_string(WorkerState state);

class TraceRing;

struct WorkerCounters {
  Tally dispatches;
  Tally switches;
  Tally parks;
  Tally parks_avoided;  // delivered before the stack was left
  Tally wakes;          // claims won by this worker
  Tally yields;
  Tally steals;
  Tally ready_steals;
  Tally inbox_pops;
  Tally global_pops;
  Tally futex_wakes;
  Tally sleeps;
  Tally timers_fired;
  Tally timers_stale;
  Tally cores_made;
  Tally cores_reused;
  Tally stood_out;  // children in place that were more than a call [PLACE-2]
  Tally handoffs;   // joiners that went on right where their child ended
  Tally rescues;
  Tally entered[worker_states];  // how often it came into each state
};

// A stack that is about to be left: of a task that parks, of one that yields, or a virtual core with nothing to run.
// `plain`: of a task that is not bound, on a plain worker: whoever arrives takes the short way [LEAVE-1].
class Left {
 public:
  Left() = default;
  static Left parks(TaskCore& task, bool plain) { return Left(&task, plain ? 0 : 4); }
  static Left yields(TaskCore& task, bool plain) { return Left(&task, plain ? 1 : 1 | 4); }
  static Left core(FiberCore& core) { return Left(&core, 2); }

  explicit operator bool() const { return word_ != 0; }
  // Null: it is a core.
  TaskCore* task() const { return is_core() ? nullptr : static_cast<TaskCore*>(place()); }
  FiberCore* core() const { return is_core() ? static_cast<FiberCore*>(place()) : nullptr; }
  bool yields() const { return word_ & 1; }
  bool is_core() const { return word_ & 2; }
  bool plain() const { return (word_ & (2 | 4)) == 0; }
  // Null: it is no plain park.
  TaskCore* plain_park() const { return (word_ & 7) == 0 ? reinterpret_cast<TaskCore*>(word_) : nullptr; }

 private:
  Left(void* place, std::uintptr_t kind) : word_(reinterpret_cast<std::uintptr_t>(place) | kind) {}
  void* place() const { return reinterpret_cast<void*>(word_ & ~std::uintptr_t{7}); }

  std::uintptr_t word_ = 0;  // 0: none
};

struct Worker : WorkerCore {
  static constexpr unsigned core_cache = 64;
  static constexpr std::uint64_t usual_look_mask = 63;

  // What each dispatch touches.
  bool plain = false;                      // own_queues, not watched, fences asymmetric: the short ways are right
  bool own_queues = true;                  // what it wakes stays here: the policy steals, and nothing checks migration
  bool checked = false;                    // the runtime wants spec assertions
  bool watched = false;                    // those, or a trace: somebody wants to see each switch
  Left left;                               // [WKR-1]
  seam::Guessed<std::uint64_t> picks = 0;  // calls of next_local
  seam::Atomic<std::uint64_t> look_mask{usual_look_mask};  // at picks with none of these bits a full look is due
  seam::Atomic<std::int64_t> now{0};                       // coarse, refreshed at every full look
  seam::Atomic<FiberCore*> here{nullptr};                  // the root on whose stack it is [LEAVE-2]; null: its own
  FiberCore* loop = nullptr;
  ThreadEh* thread_eh = nullptr;
  Carrier* carrier = nullptr;
  ReadyQueue ready;
  WorkerCounters counters;

  Inbox inbox;  // wakes by others, and what a stuck neighbour could not run
  seam::Atomic<std::uint32_t> inbox_size{0};
  Inbox pinned;  // tasks that may run nowhere else
  IdleNode idle_node;
  seam::Atomic<WorkerState> state{WorkerState::unborn};
  seam::Atomic<bool> stuck{false};     // by sysmon: no progress, and in the kernel; wakes go elsewhere
  seam::Atomic<bool> retiring{false};  // by sysmon: ends after its current slice

  TraceRing* trace = nullptr;  // null: nobody wants one

  TaskCore* assigned = nullptr;  // [WKR-2]
  TaskCore* handoff = nullptr;   // parked for the task that just ended here, and claimed: it is next, without a queue
  Entry kept;                    // picked on a parking stack that had no virtual core, or no record, for it

  DequeAge age;             // of `deque`
  std::uint64_t looks = 0;  // full ones: whose turn it is

  FiberCore* cores[core_cache] = {};
  unsigned core_count = 0;
  unsigned core_shift = 0;  // log2 of the slots of the cached ones

  bool owes_ring = false;     // to sysmon, by the loop: a task that parks makes no call of the system
  std::uint64_t io_pick = 0;  // at which pick the last request was begun, and how many without a wait since
  unsigned io_streak = 0;
  Random random{0};

  OwnerLock wheel_lock;
  TimerWheel wheel;                                          // guarded by wheel_lock
  seam::Atomic<std::int64_t> next_timer{seam::no_deadline};  // a hint: when to advance the wheel
  seam::Atomic<long> thread_id{0};
  bool temporary = false;
  seam::Thread thread;

  // [WRK-2]
  std::uint64_t moves() const { return picks + ran_in_place + tick; }
  bool look_due(std::uint64_t pick) const { return (pick & look_mask.load(std::memory_order_relaxed)) == 0; }
  // By sysmon: come back to the loop after this slice. The loop takes it back.
  void want_look() { look_mask.store(0, std::memory_order_relaxed); }
  void enter(WorkerState next) {
    ++counters.entered[static_cast<unsigned>(next)];
    state.store(next, std::memory_order_relaxed);
  }
  void push_inbox(Entry entry) {
    inbox_size.fetch_add(1, std::memory_order_relaxed);
    inbox.push(entry);
  }
  Entry pop_inbox() {
    const Entry entry = inbox.pop();
    if (entry) {
      inbox_size.fetch_sub(1, std::memory_order_relaxed);
      ++counters.inbox_pops;
    }
    return entry;
  }
};

}  // namespace weft::inline v0::detail
