// SPDX-License-Identifier: MIT
// The waiting half of weft::blocking.
//
// Invariants
//   [BLK-1] `done`, `waiting` and `ticket` are guarded by `lock`. The pool's thread sets `done` and claims the wait, if
//           there is one, under it; then it touches the frame only if it won the claim, and nothing after deliver().
//   [BLK-2] A wait that something else ended is begun again.
//   [BLK-3] A cancel takes a call that has not begun out of the queue. One that runs is sent a signal every 10 ms until
//           it returns: the first may come just before it enters the kernel. The signal is sent under the lock, so that
//           it meets this call and not the thread's next.
#include "weft/blocking.hpp"

#include <sys/syscall.h>

#include <mutex>

#include "base/sys.hpp"
#include "fiber/carrier.hpp"
#include "sched/blocking_pool.hpp"
#include "sched/dispatch.hpp"
#include "sched/disturb.hpp"
#include "sched/park.hpp"
#include "sched/records.hpp"
#include "sched/run_blocking.hpp"
#include "sched/runtime_core.hpp"
#include "sched/scope.hpp"
#include "weft/detail/point.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr std::int64_t again_ns = 10'000'000;

struct PoolCall : BlockingPool::Job {
  BlockingCall* call = nullptr;
  TaskCore* task = nullptr;
  seam::SpinLock lock;
  // Guarded by lock.
  bool done = false;
  bool waiting = false;
  long thread = 0;  // that runs it
  Ticket ticket;
};

void run_on_pool(BlockingPool::Job* job) {
  auto& mine = static_cast<PoolCall&>(*job);
  TaskCore* task = mine.task;
  const TaskCore*& behalf = current_core()->root->carrier->behalf;
  behalf = task;
  {
    const std::lock_guard guard(mine.lock);
    mine.thread = sys::gettid();
  }
  mine.call->run(mine.call);
  behalf = nullptr;
  bool won = false;
  {
    const std::lock_guard guard(mine.lock);
    mine.done = true;
    won = mine.waiting && task->word.claim(mine.ticket, WakeReason::data) == TaskWord::Claimed::yes;
  }
  if (won && task->word.deliver(mine.ticket) == TaskWord::Queue::you) make_ready(task, WakeReason::data);
  drop_thread_task();  // it has nothing to do until the next job
}

// Until it is done, is told to stop (with Raise::quietly), or it is time.
void wait_for(PoolCall& job, std::int64_t deadline, Raise raise) {
  TaskCore& self = *job.task;
  WaitInfo info{"blocking", job.call, nullptr};
  info.outside = true;
  begin_wait(self, info, deadline, raise);
  {
    const std::lock_guard guard(job.lock);
    if (job.done) {
      self.wait = nullptr;
      return;
    }
    job.ticket = self.word.begin_park();
    job.waiting = true;
  }
  (void)finish_wait(self, raise);
  const std::lock_guard guard(job.lock);
  job.waiting = false;  // [BLK-2]
}

bool is_done(PoolCall& job) {
  const std::lock_guard guard(job.lock);
  return job.done;
}

// A signal that ends a system call with EINTR, if the thread is in one [BLK-3].
void disturb(PoolCall& job) {
  const int signal = disturbing_signal();
  const std::lock_guard guard(job.lock);
  if (signal != 0 && !job.done && job.thread != 0) (void)sys::invoke(SYS_tgkill, sys::getpid(), job.thread, signal);
}

}  // namespace

BlockingPool& RuntimeCore::blocking_pool() {
  const std::lock_guard guard(blocking_mutex);
  if (blocking == nullptr) blocking = std::make_unique<BlockingPool>(options.blocking_threads);
  return *blocking;
}

void run_blocking(BlockingCall& call) {
  run_blocking(call, Raise::yes);
}

void run_blocking(BlockingCall& call, Raise raise) {
  auto* worker = static_cast<Worker*>(this_worker());
  if (worker == nullptr) return call.run(&call);
  if (points_are_on) [[unlikely]]
    come_to_point("blocking");
  TaskCore& self = *task_here();
  WaitInfo info{"blocking", &call, nullptr};
  info.outside = true;
  begin_wait(self, info, seam::no_deadline, raise);  // a cancelled task does not begin
  self.wait = nullptr;
  if (worker->runtime->director != nullptr) return call.run(&call);  // one step: a simulation has no other threads
  const Outside outside(*worker->runtime);
  PoolCall job;
  job.run = run_on_pool;
  job.call = &call;
  job.task = &self;
  BlockingPool& pool = worker->runtime->blocking_pool();
  if (!pool.submit(job)) return call.run(&call);
  const bool obeys = raise != Raise::no && (raise == Raise::quietly || !is_unwinding());
  bool asked = false;
  while (!is_done(job)) {
    if (!asked) {
      wait_for(job, seam::no_deadline, obeys ? Raise::quietly : Raise::no);
      asked = obeys && cancel_due(self);
      if (!asked) continue;
      if (pool.withdraw(job)) {
        if (raise == Raise::yes) raise_if_cancelled(self);
        call.withdrawn = raise == Raise::quietly;
        return call.withdrawn ? void() : call.run(&call);
      }
    } else {
      wait_for(job, seam::monotonic_ns() + again_ns, Raise::no);
    }
    disturb(job);
  }
}

}  // namespace weft::inline v0::detail
