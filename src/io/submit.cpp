// SPDX-License-Identifier: MIT
// What: where a request goes: done right here, by the engine, or, on a plain thread, by waiting in poll(2).
// Relaxed: alerts are raised where they matter.
#include <algorithm>
#include <mutex>
#include <utility>

#include "base/sys.hpp"
#include "io/engine.hpp"
#include "io/kernel.hpp"
#include "io/lookup.hpp"
#include "io/thread_bell.hpp"
#include "sched/director.hpp"
#include "sched/fork.hpp"
#include "sched/io_door.hpp"
#include "sched/park.hpp"
#include "sched/scope.hpp"
#include "weft/fiber.hpp"

namespace weft::inline v0 {
namespace detail {
namespace {

constexpr unsigned most_at_once = 64;  // requests without a wait, before others get a turn

// Nobody enters any more, who waits is woken; the descriptor goes with the last user.
IoResult close_owned(const IoRequest& request) {
  FdEntry* entry = fd_entry(request.fd);
  if (entry == nullptr || !entry->enter(request.issue)) return IoResult::failed(EBADF);
  ClaimedOf<TaskCore> claimed;
  std::uint32_t threads = 0;
  const bool first = entry->begin_close(claimed, threads);
  deliver_all(claimed);
  ring_thread_bell(threads);
  if (entry->leave()) return IoResult(sys::close(request.fd));
  return first ? IoResult() : IoResult::failed(EBADF);
}

IoResult at_once(const IoRequest& request) {
  if (request.op == IoOp::close && request.issue != 0) return close_owned(request);
  if (request.op == IoOp::socket || request.op == IoOp::pair) return IoResult(call_kernel(request));
  const FdUse use(request);
  if (!use) return IoResult::failed(EBADF);
  const IoResult result(call_kernel(request));
  if (request.op == IoOp::close) {
    ClaimedOf<TaskCore> claimed;  // they ask again, and hear that it is gone
    use->claim(~std::uint32_t{0}, claimed);
    deliver_all(claimed);
  }
  return result;
}

// False: the request is not begun, the task is asked to stop.
bool may_begin(TaskCore& task, const FiberCore& root, bool quiet) {
  if (root.alert.load(std::memory_order_relaxed) == 0 && surely_unasked(task) &&
      task.scope->deadline_within == seam::no_deadline) [[likely]]
    return true;
  if (quiet) return !cancel_due(task);
  checkpoint();
  if (cancel_pending(task)) raise_if_cancelled(task);
  return true;
}

// Others get a turn in a long row of requests that did not have to wait.
void count_turn(Worker& worker) {
  if (worker.io_pick != worker.picks) {
    worker.io_pick = worker.picks;
    worker.io_streak = 0;
  } else if (++worker.io_streak == most_at_once) {
    worker.io_streak = 0;
    yield_task();
  }
}

bool needs_fd(IoOp op) {
  return op != IoOp::open && op != IoOp::remove && op != IoOp::rename && op != IoOp::make_dir && op != IoOp::spawn &&
         op != IoOp::resolve;
}

// A scope around a plain thread's request has asked it to stop: by a deadline, or before it began.
bool is_asked(TaskCore* task, bool quiet) {
  if (task == nullptr || !cancel_due(*task)) return false;
  if (!quiet) raise_if_cancelled(*task);
  return quiet;
}

IoResult wait_on_thread_around(const IoRequest& request, FdEntry& entry, bool owned, std::uint32_t want,
                               std::int64_t deadline) {
  TaskCore* task = this_task();
  const std::int64_t around = task != nullptr && task->scope != nullptr ? deadline_around(*task) : seam::no_deadline;
  const long ready = wait_on_thread(entry, request.fd, owned, want, std::min(deadline, around));
  if (ready == -ETIMEDOUT) {
    if (is_asked(task, request.quiet)) return IoResult::failed(ECANCELED);
    if (seam::monotonic_ns() < deadline) return IoResult();  // a shield's: look again
  }
  return IoResult(ready);
}

IoResult submit_on_thread(const IoRequest& request) {
  const IoWay way = way_of(request.op);
  if (way == IoWay::at_once) return at_once(request);
  if (is_asked(this_task(), request.quiet)) return IoResult::failed(ECANCELED);
  const std::int64_t deadline = deadline_at(request.deadline);
  if (request.op == IoOp::resolve) return resolve_by_system(nullptr, request);
  if (!needs_fd(request.op)) return IoResult(call_kernel(request));
  const FdUse use(request);
  if (!use) return IoResult::failed(EBADF);
  const std::uint32_t want = request.op == IoOp::poll ? request.flags
                             : way == IoWay::readable ? io_readable
                                                      : io_writable;
  bool connecting = false;
  for (;;) {
    long n = 0;
    // Who owns it may have left it blocking: then its time is kept by poll.
    const bool first_polls = !use.owned() && way != IoWay::file && deadline != seam::no_deadline &&
                             (request.op == IoOp::read || request.op == IoOp::write);
    if (!first_polls || (n = ready_now(request.fd, want)) >= 0)
      n = connecting ? connect_outcome(request.fd) : call_kernel(request);
    if (n == -EINTR || is_lost_client(request.op, n)) continue;
    if (n == -EINPROGRESS) connecting = true;
    if (n != -EAGAIN && n != -EINPROGRESS) return IoResult(n);
    if (request.op == IoOp::connect && !connecting) {
      if (seam::monotonic_ns() >= deadline) return IoResult::failed(ETIMEDOUT);
      seam::sleep_ns(1'000'000);  // a Unix listener whose queue is full
      continue;
    }
    const IoResult ready = wait_on_thread_around(request, *use, use.owned(), want, deadline);
    if (!ready.ok()) return ready;
  }
}

}  // namespace

IoResult io_submit(RuntimeCore& runtime, IoRequest& request) {
  const FiberCore& root = *current_core()->root;
  if (root.worker == nullptr) return submit_on_thread(request);
  const IoWay way = way_of(request.op);
  if (way == IoWay::at_once) return at_once(request);
  refuse_if_forked(root);  // its engine would be the parent's
  if (!may_begin(root.task != nullptr ? *root.task : *task_here(), root, request.quiet))
    return IoResult::failed(ECANCELED);
  if (request.op == IoOp::resolve) return resolve_by_system(&runtime, request);
  long error = 0;
  Engine* engine = engine_of(runtime, error);
  if (engine == nullptr) return IoResult(error);
  count_turn(static_cast<Worker&>(*root.worker));
  const std::int64_t deadline = deadline_at(request.deadline);
  const Raise raise = request.quiet ? Raise::quietly : Raise::yes;
  if (way == IoWay::file && !needs_fd(request.op)) return engine->perform(request, nullptr, deadline, raise);
  FdUse use(request);
  if (!use) return IoResult::failed(EBADF);
  return engine->perform(request, &use, deadline, raise);
}

IoResult io_block_on(RuntimeCore& runtime, int fd, std::uint32_t events, std::int64_t deadline) {
  IoRequest request;
  request.op = IoOp::poll;
  request.fd = fd;
  request.flags = events;
  if (deadline != seam::no_deadline)
    request.deadline = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline));
  return io_submit(runtime, request);
}

IoResult io_submit_here(IoRequest& request) {
  WorkerCore* worker = this_worker();
  if (worker == nullptr) return submit_on_thread(request);
  RuntimeCore& runtime = *worker->runtime;
  return runtime.director == nullptr ? io_submit(runtime, request) : runtime.director->submit(request);
}

}  // namespace detail
}  // namespace weft::inline v0
