// SPDX-License-Identifier: MIT
// What: a runtime: its workers, the queue they share, who sleeps, how many tasks live.
// Threads: as each part says.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/global_queue.hpp"
#include "sched/idle_set.hpp"
#include "sched/live_count.hpp"
#include "sched/pace.hpp"
#include "sched/park_timers.hpp"
#include "sched/poller.hpp"
#include "sched/settling.hpp"
#include "sched/virtual_time.hpp"
#include "sched/visitors.hpp"
#include "sched/worker.hpp"
#include "weft/runtime_options.hpp"

namespace weft::inline v0::detail {

class Sysmon;
class BlockingPool;
class DumpSignal;
class ForeignLoop;
class Director;
class Tracer;

struct RuntimeCore final : Io {  // NOLINT(clang-analyzer-optin.performance.Padding): in the order of a reader
  explicit RuntimeCore(const RuntimeOptions& resolved);
  ~RuntimeCore() override;

  // As Io: src/sched/io.cpp.
  RawTask spawn_raw(RawEntry entry, void* arg, const TaskOptions& options) override;
  void cancel_raw(RawTask task, CancelReason reason) override;
  void release_raw(RawTask task, bool wait, const std::exception_ptr& unobserved) noexcept override;
  ParkToken current_park() override;
  WaitResult suspend_raw(const ParkToken& park, const ParkWish& wish) override;
  void ready(const ParkToken& park) noexcept override;
  std::chrono::steady_clock::time_point now() const override;
  TimerToken arm_timer(std::chrono::steady_clock::time_point when, const ParkToken& park) override;
  bool cancel_timer(const TimerToken& timer) override;
  IoResult submit(IoRequest& request) override;
  std::chrono::steady_clock::time_point poll(std::chrono::steady_clock::time_point deadline) override;

  RuntimeOptions options;
  GlobalQueue global;
  IdleSet idle;
  LiveCount live;
  Visitors visitors;
  std::vector<std::unique_ptr<Worker>> workers;  // max_workers places; made at the start, threads come as needed
  seam::Atomic<unsigned> worker_count{0};        // places in use, from 0
  seam::Atomic<bool> stopping{false};            // workers end when they find nothing
  seam::Atomic<bool> closed{false};              // no more spawns from outside
  seam::Atomic<std::uint32_t> run_done{0};       // the main task of run() has ended
  seam::Atomic<bool> draining{false};            // worker 0 waits until nothing lives
  seam::Atomic<bool> running{false};             // somebody is in run()
  seam::Atomic<unsigned> next_home{0};           // of pinned tasks from outside
  std::int64_t drain_deadline = seam::no_deadline;
  ScopeCore root_scope;  // of everything
  RuntimeInterrupts interrupts;
  seam::Atomic<std::uint32_t> detached_failures{0};
  seam::Atomic<SysmonPace> sysmon_pace{SysmonPace::fast};
  seam::Atomic<TaskCore*> main_task{nullptr};  // of run(); changed under deadlock_mutex
  seam::Mutex deadlock_mutex;
  std::string deadlock_report;       // guarded by deadlock_mutex; of the present run
  bool deadlock_told_again = false;  // guarded by deadlock_mutex
  seam::Atomic<std::uint64_t> undelivered_told{
      0};  // undelivered_values() when it began, or was told of last; relaxed: a number
  std::unique_ptr<DumpSignal> dump_signal;
  seam::Mutex blocking_mutex;
  std::unique_ptr<BlockingPool> blocking;  // guarded by blocking_mutex; made on first use
  seam::Mutex poller_mutex;
  std::unique_ptr<Poller> poller_owner;   // guarded by poller_mutex; made on first use, stays
  seam::Atomic<Poller*> poller{nullptr};  // the same, for everybody
  ParkTimers timers;
  std::unique_ptr<VirtualTime> virtual_time;    // null: the clock is real
  Settling settling;                            // who waits until nothing can run
  seam::Atomic<std::uint32_t> outside{0};       // calls and requests that the world has yet to answer
  seam::Atomic<ForeignLoop*> foreign{nullptr};  // who is told of work while nobody polls
  std::unique_ptr<ForeignLoop> foreign_owner;   // guarded by blocking_mutex; made on first use, stays
  std::int64_t poll_deadline = seam::no_deadline;
  std::unique_ptr<Tracer> tracer;  // null: nobody wants to see
  Director* director = nullptr;    // of a simulation: decides everything; set before the first task starts
  std::unique_ptr<Sysmon> sysmon;  // null: switched off, or the system has no thread for it

  Worker& worker(unsigned index) { return *workers[index]; }
  const Worker& worker(unsigned index) const { return *workers[index]; }
  unsigned threads() const;  // places with a thread now
  BlockingPool& blocking_pool();
  // Under poller_mutex, once.
  void install(std::unique_ptr<Poller> engine) {
    poller_owner = std::move(engine);
    poller.store(poller_owner.get(), std::memory_order_release);
  }
  void start_thread(unsigned index);
  void stop_threads();
};

void wake_sysmon(RuntimeCore& runtime);

// A record for a task that is nobody's child, and its start; from anywhere. Throw RuntimeError, the second with the
// closure destroyed.
TaskCore* take_detached(RuntimeCore& runtime);
void launch_detached_in(RuntimeCore& runtime, TaskCore* task);

}  // namespace weft::inline v0::detail
