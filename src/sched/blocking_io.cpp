// SPDX-License-Identifier: MIT
// Relaxed: counters; a wait that begins looks at what its own thread has counted.
#include "weft/blocking_io.hpp"

#include <string>
#include <utility>

#include "fiber/bindings.hpp"
#include "fiber/virtual_core.hpp"
#include "sched/deadlock.hpp"
#include "sched/intercept.hpp"
#include "sched/io.hpp"
#include "sched/io_door.hpp"
#include "sched/task_end.hpp"
#include "weft/deadlock.hpp"
#include "weft/task.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace {

struct InlineTask {
  std::exception_ptr failure;
  std::source_location site;
};

struct Start {
  RawEntry entry;
  void* arg;
};

}  // namespace

BlockingIo::BlockingIo() : timers_(std::make_unique<ParkTimers>()) {}
BlockingIo::~BlockingIo() = default;

RawTask BlockingIo::spawn_raw(RawEntry entry, void* arg, const TaskOptions& options) {
  if (entry == nullptr) refuse_null_entry();
  std::unique_ptr<InlineTask> task;
  try {
    may_spawn();
    task = std::make_unique<InlineTask>(InlineTask{nullptr, options.site});
  } catch (...) {
    entry(arg, RawStart::cancelled);
    throw;
  }
  running_.fetch_add(1, std::memory_order_relaxed);
  {
    // As in a task of its own: signals end here, bindings are a layer over the caller's.
    const Boundary boundary(current_core(), snapshot_bindings());
    Start start{entry, arg};
    task->failure = guarded_run(
        [](void* context) {
          const Start& mine = *static_cast<Start*>(context);
          mine.entry(mine.arg, RawStart::run);
        },
        &start);
  }
  running_.fetch_sub(1, std::memory_order_relaxed);
  return {task.release()};
}

void BlockingIo::cancel_raw(RawTask, CancelReason) {}  // it has ended

void BlockingIo::release_raw(RawTask raw, bool, const std::exception_ptr& unobserved) noexcept {
  const std::unique_ptr<InlineTask> task(static_cast<InlineTask*>(raw.handle));
  for (const std::exception_ptr& failure : {task->failure, unobserved}) {
    if (failure == nullptr) continue;
    unobserved_.fetch_add(1, std::memory_order_relaxed);
    report_failure("detached task", task->site, failure);
  }
}

ParkToken BlockingIo::current_park() {
  return open_park();
}

WaitResult BlockingIo::suspend_raw(const ParkToken& park, const ParkWish& wish) {
  return wait_for_permit(park, wish, *timers_, nullptr);
}

void BlockingIo::ready(const ParkToken& park) noexcept {
  give_permit(park);
}

std::chrono::steady_clock::time_point BlockingIo::now() const {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(seam::monotonic_ns()));
}

TimerToken BlockingIo::arm_timer(std::chrono::steady_clock::time_point when, const ParkToken& park) {
  check_own(park, "arm_timer");
  return timers_->arm(deadline_at(when), park);
}

bool BlockingIo::cancel_timer(const TimerToken& timer) {
  return timers_->cancel(timer);
}

IoResult BlockingIo::submit(IoRequest& request) {
  return io_submit_here(request);
}

std::chrono::steady_clock::time_point BlockingIo::poll(std::chrono::steady_clock::time_point) {
  return std::chrono::steady_clock::time_point::max();
}

}  // namespace weft::inline v0
