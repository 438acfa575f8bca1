// SPDX-License-Identifier: MIT
// The waiting half of weft::blocking.
//
// Invariants
//   [BLK-1] `done`, `waiting` and `ticket` are guarded by `lock`. The pool's thread sets `done` and claims the wait, if
//           there is one, under it; then it touches the frame only if it won the claim, and nothing after deliver().
//   [BLK-2] A wait that something else ended (a cancel, that this call does not obey) is begun again.
#include "weft/blocking.hpp"

#include <mutex>

#include "sched/blocking_pool.hpp"
#include "sched/dispatch.hpp"
#include "sched/park.hpp"
#include "sched/run_blocking.hpp"
#include "sched/runtime_core.hpp"

namespace weft::inline v0::detail {
namespace {

struct PoolCall : BlockingPool::Job {
  BlockingCall* call = nullptr;
  TaskCore* task = nullptr;
  seam::SpinLock lock;
  bool done = false;
  bool waiting = false;
  Ticket ticket;
};

void run_on_pool(BlockingPool::Job* job) {
  auto& mine = static_cast<PoolCall&>(*job);
  mine.call->run(mine.call);
  TaskCore* task = mine.task;
  bool won = false;
  {
    const std::lock_guard guard(mine.lock);
    mine.done = true;
    won = mine.waiting && task->word.claim(mine.ticket, WakeReason::data) == TaskWord::Claimed::yes;
  }
  if (won && task->word.deliver(mine.ticket) == TaskWord::Queue::you) make_ready(task, WakeReason::data);
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
  TaskCore& self = *task_here();
  WaitInfo info{"blocking", &call, nullptr};
  info.outside = true;
  begin_wait(self, info, seam::no_deadline, raise);  // a cancelled task does not begin
  self.wait = nullptr;
  PoolCall job;
  job.run = run_on_pool;
  job.call = &call;
  job.task = &self;
  if (!worker->runtime->blocking_pool().submit(job)) return call.run(&call);
  for (;;) {
    begin_wait(self, info, seam::no_deadline, Raise::no);
    {
      const std::lock_guard guard(job.lock);
      if (job.done) {
        self.wait = nullptr;
        return;
      }
      job.ticket = self.word.begin_park();
      job.waiting = true;
    }
    (void)finish_wait(self, Raise::no);
    const std::lock_guard guard(job.lock);
    if (job.done) return;
    job.waiting = false;  // [BLK-2]
  }
}

}  // namespace weft::inline v0::detail
