// SPDX-License-Identifier: MIT
// What: the thread that watches a runtime's workers. Advisory: without it everything still happens, later.
//
//   each look   coarse time; timers that are due in the wheel of a worker which has not looked itself
//               heartbeats: no progress for stall_after while inside a task, and ...
//                 ... in the kernel   STUCK: its queues go to the shared one, wakes go elsewhere, one report, and if
//                                     the gate passes (work waits, nobody is idle) a temporary worker
//                 ... computing       one report, nothing else: a further thread would share its processor
//               work in the shared queue and nobody idle: busy workers look there after their slice
//               a poller that nobody has looked into for 10 ms is reaped [POLL-2]
//               everybody waits, and nobody for a limited time: a deadlock (deadlock.hpp)
//               stacks that nobody has needed for a second give their pages back
//               temporary workers retire: who slept for temp_idle_timeout, one of them if somebody was idle all
//               that time, who is stuck and was replaced
//
//   pace        fast     every sysmon_period, while one is stuck, or has a timer due within 10 ms and is awake
//               slow     a quarter of stall_after, while workers are awake; up to 10 ms once they all sleep
//               asleep   all have slept for a while: until somebody finds work, or a temporary worker is to retire
//
// Invariants
//   [SYSM-1] Who slows down says so, runs a heavy fence, and looks again. Who arms a timer that is due soon, or leaves
//            its search, runs a light fence and then reads the pace. So one of the two sees the other (pace.hpp).
//   [SYSM-2] Threads of temporary workers are started and joined here, and nowhere else while it runs.
//   [SYSM-3] It never waits for a worker, but for locks that are held a few instructions and, at most a few ms, for the
//            answer of a thread whose stack it wants.
//   [SYSM-4] Between a wheel and the shared queue tasks are in its hands only. carries() is true before next_timer says
//            that they have left the wheel (release), and false once they are queued: who looks at next_timer, at
//            carries() and at the queue, in this order, misses none.
// Threads: start, stop: who owns the runtime. ring: any. Texts and lists: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sched/deadlock.hpp"
#include "sched/pressure.hpp"
#include "sched/runtime_core.hpp"
#include "weft/stall.hpp"

namespace weft::inline v0::detail {

class Sysmon {
 public:
  explicit Sysmon(RuntimeCore& runtime);
  ~Sysmon();
  Sysmon(const Sysmon&) = delete;
  Sysmon& operator=(const Sysmon&) = delete;

  bool start();  // false: the system has no thread for it
  void stop();
  void ring();  // look at once
  // Has it a thread? False a little before that has gone. acquire: for nothing but itself
  bool is_watching() const { return !stopping_.load(std::memory_order_acquire); }

  bool carries() const { return carries_.load(std::memory_order_acquire); }  // [SYSM-4]

  const WorkerCounters& counters() const { return counters_; }
  PressureStats pressure() const;
  std::string pressure_text() const;
  std::vector<StallReport> stalls() const;  // the latest, oldest first
  std::uint64_t stall_count() const { return stall_count_; }
  std::uint64_t looks() const { return looks_; }
  std::uint64_t retired() const { return retired_; }

 private:
  struct Watch {
    std::uint64_t tick = ~std::uint64_t{0};
    std::int64_t since = 0;    // it has not moved
    std::int64_t busy_at = 0;  // it was last seen to do something
    std::int64_t now = 0;      // its coarse time as it was left
    std::int64_t next_probe = 0;
    unsigned in_kernel = 0;  // probes that said so, 0 to 2: stuck from 2 on, until 0
    bool told_blocked = false;
    bool told_computing = false;
    unsigned asked = 0;                 // for its stack, in vain
    std::unique_ptr<StallReport> open;  // waits for the stack
  };
  struct Site {
    const char* file;
    std::uint_least32_t line;
    unsigned reports;
  };

  void run();
  void look(std::int64_t now);
  void look_at(Worker& worker, std::int64_t now, PressureSample& sample);
  void look_at_empty(Worker& worker, std::int64_t now);
  void watch_progress(Worker& worker, Watch& seen, WorkerState state, std::int64_t now);
  void watch_timers(Worker& worker, Watch& seen, WorkerState state, std::int64_t now);
  void fire(Worker& owner, std::int64_t now);
  void reap(std::int64_t now);
  void add_worker(std::int64_t now);
  void retire(Worker& worker);
  void retire_surplus();
  void retire_one_replaced();
  void open_report(Worker& worker, Watch& seen, StallReport::Kind kind, std::int64_t span);
  void complete_report(Worker& worker, Watch& seen);
  void close_report(Watch& seen);
  Site& reports_of(const std::source_location& site);
  Pace::Rest plan(std::int64_t now) const;
  void rest(std::uint32_t heard);

  RuntimeCore& runtime_;
  const std::int64_t period_;
  const std::int64_t stall_after_;
  const std::int64_t temp_idle_;

  // Its own thread only.
  std::vector<Watch> watches_;
  unsigned stuck_ = 0;
  std::int64_t surplus_since_ = 0;  // at each look since then a worker was idle
  unsigned quiet_ = 0;              // looks in a row without anybody awake
  std::vector<Site> sites_;
  DeadlockWatch deadlock_{runtime_};

  WorkerCounters counters_;
  Tally looks_;
  Tally stall_count_;
  Tally retired_;

  mutable seam::Mutex mutex_;
  PressureGate gate_;               // guarded by mutex_
  std::deque<StallReport> stalls_;  // guarded by mutex_

  seam::Atomic<std::uint32_t> bell_{0};
  seam::Atomic<bool> stopping_{false};
  seam::Atomic<bool> carries_{false};  // it writes, poll reads [SYSM-4]
  seam::Thread thread_;
};

}  // namespace weft::inline v0::detail
