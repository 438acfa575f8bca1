// SPDX-License-Identifier: MIT
// What: the runtime: workers that run tasks. And what a task can say to it: go, sleep, yield_now.
//
//   int main() { return weft::run([] { weft::sleep(10ms); }); }
//
// The caller of run is worker 0. Several runtimes may live in one process; run inside a task is refused.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/detail/wait_core.hpp"
#include "weft/io.hpp"
#include "weft/runtime_error.hpp"
#include "weft/runtime_options.hpp"
#include "weft/stall.hpp"
#include "weft/task.hpp"

namespace weft::inline v0 {

struct RuntimeStats {
  unsigned workers = 0;       // with a thread now
  std::uint64_t started = 0;  // tasks
  std::uint64_t finished = 0;
  std::uint64_t parks = 0;
  std::uint64_t parks_avoided = 0;  // the wake came before the stack was left
  std::uint64_t wakes = 0;
  std::uint64_t yields = 0;
  std::uint64_t switches = 0;
  std::uint64_t dispatches = 0;
  std::uint64_t in_place = 0;  // children run on their joiner's stack
  std::uint64_t steals = 0;
  std::uint64_t ready_steals = 0;
  std::uint64_t inbox_pops = 0;
  std::uint64_t global_pops = 0;
  std::uint64_t futex_wakes = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t timers_fired = 0;
  std::uint64_t timers_stale = 0;
  std::uint64_t cores_made = 0;
  std::uint64_t cores_reused = 0;
  std::uint64_t handoffs = 0;  // joiners that went on where their last child ended, without a queue
  std::uint64_t rescues = 0;   // entries taken from a worker that could not run them
  std::uint64_t stalls = 0;    // tasks that kept their worker for stall_after
  std::uint64_t promoted = 0;  // temporary workers added
  std::uint64_t retired = 0;   // and ended again
  std::uint64_t records = 0;   // ever made in this process
};

class Runtime {
 public:
  explicit Runtime(const RuntimeOptions& options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Runs f as a task, with the calling thread as worker 0, until it ends; gives its result or throws what ended it.
  template <class F>
  auto run(F&& f, const TaskOptions& options = {}) {
    using R = detail::TaskResult<F>;
    auto body = [&f]() -> R { return std::forward<F>(f)(); };
    detail::TaskCore* task = make(std::move(body), options);
    Task<R> handle = Task<R>::adopt(task);
    drive(task);
    return handle.join();
  }

  // Spawns from anywhere, also from outside. Nobody waits for it: a failure of a task whose handle was dropped is
  // printed, and makes weft::run exit non-zero.
  template <class F>
  auto go(F&& f, const TaskOptions& options = {}) {
    using R = detail::TaskResult<F>;
    detail::TaskCore* task = make(std::forward<F>(f), options);
    Task<R> handle = Task<R>::adopt(task);
    launch(task);
    return handle;
  }

  // Asks every task to stop and waits for their ends. False: some were still there at the deadline; they are named on
  // stderr. Called by the destructor, without a deadline.
  bool shutdown(std::chrono::nanoseconds limit = std::chrono::nanoseconds::max());

  // Raises one interrupt signal in one of its tasks: the first that comes to a suspension point, a resume, a cancel or
  // a checkpoint() with a fiber above that catches interrupts. N calls raise N. Until then it is pending: it wakes
  // nobody who waits. From any thread, but no signal handler: that has SignalBell (os_signals.hpp).
  void interrupt() noexcept;

  RuntimeStats stats() const;
  // The same and sysmon's pressure, one "name value" per line; written to stderr at the end with WEFT_STATS=1.
  std::string stats_text() const;
  std::vector<StallReport> stalls() const;  // the latest ones, oldest first; none without sysmon
  const RuntimeOptions& options() const;
  unsigned detached_failures() const;

  // Drives it by a loop of another library, with workers = 1: call poll whenever descriptor() is readable, and at the
  // time that the last call returned; see Io::poll. Not inside a task, and not while somebody is in run().
  std::chrono::steady_clock::time_point poll(
      std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::min());
  // Readable when poll has something to do. Made by the first call; -1: the system has none to give.
  int descriptor();
  // Until nothing can run any more and nobody waits for a time. What waits for the outside stays.
  void run_until_idle();

  // It is an Io itself: with_io(runtime, f) from anywhere.
  Io& io();
  operator Io&() { return io(); }  // NOLINT(google-explicit-constructor): it is one

  detail::RuntimeCore& core() { return *core_; }

 private:
  template <class F>
  detail::TaskCore* make(F&& f, const TaskOptions& options) {
    detail::TaskCore* task = take();
    try {
      detail::fill_task(task, std::forward<F>(f), options.site);
    } catch (...) {
      give_back(task);
      throw;
    }
    detail::apply_options(task, options);
    return task;
  }
  detail::TaskCore* take();
  void give_back(detail::TaskCore* task) noexcept;
  void launch(detail::TaskCore* task);
  void drive(detail::TaskCore* task);

  std::unique_ptr<detail::RuntimeCore> core_;
};

namespace detail {
TaskCore* take_detached_record();
void launch_detached(TaskCore* task);
int exit_code(const Runtime& runtime, int code);
[[noreturn]] void refuse_nested_run();
}  // namespace detail

// Runs f in a runtime of its own and shuts it down. Returns what f returns; void becomes an exit code: 0, or 1 if a
// detached task failed. An int 0 becomes 1 then, too.
template <class F>
auto run(const RuntimeOptions& options, F&& f, const TaskOptions& task = {}) {
  using R = detail::TaskResult<F>;
  if (detail::this_worker() != nullptr) detail::refuse_nested_run();
  Runtime runtime(options);
  if constexpr (std::is_void_v<R>) {
    runtime.run(std::forward<F>(f), task);
    runtime.shutdown();
    return detail::exit_code(runtime, 0);
  } else if constexpr (std::is_same_v<R, int>) {
    const int code = runtime.run(std::forward<F>(f), task);
    runtime.shutdown();
    return detail::exit_code(runtime, code);
  } else {
    R result = runtime.run(std::forward<F>(f), task);
    runtime.shutdown();
    return result;
  }
}
template <class F>
auto run(F&& f, const TaskOptions& task = {}) {
  return run(RuntimeOptions{}, std::forward<F>(f), task);
}

// A task of its own in the running task's runtime, in FIFO order; see Runtime::go.
template <class F>
auto go(F&& f, const TaskOptions& options = {}) {
  using R = detail::TaskResult<F>;
  detail::TaskCore* task = detail::take_detached_record();
  try {
    detail::fill_task(task, std::forward<F>(f), options.site);
  } catch (...) {
    detail::drop_handle(task);
    throw;
  }
  detail::apply_options(task, options);
  detail::launch_detached(task);
  return Task<R>::adopt(task);
}

// Zero or more; a negative span throws std::invalid_argument.
void sleep(std::chrono::nanoseconds span);
void sleep_until(std::chrono::steady_clock::time_point when);
// Never throws, for destructors and noexcept code. `cancelled`: asked to stop before its time; never `timed_out`.
WaitResult sleep_result(std::chrono::steady_clock::time_point when) noexcept;

// Lets others run; the caller goes to the back of the queue.
void yield_now();

// Tasks of which at most one runs at a time, on whatever worker. Given up at every wait.
class Strand {
 public:
  Strand();
  ~Strand();
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;
  detail::StrandCore* core() { return core_; }

 private:
  detail::StrandCore* core_;
};

}  // namespace weft::inline v0
