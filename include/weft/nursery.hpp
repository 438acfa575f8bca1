// SPDX-License-Identifier: MIT
// What: structured concurrency. Children cannot outlive their nursery; the first failure asks the others to stop, all
// are waited for, and the original exception comes out, the others beside it (weft::other_errors()).
//
//   weft::with_nursery([&](weft::Nursery& n) {
//     auto a = n.spawn([] { return left(); });
//     auto b = n.spawn([] { return right(); });
//     use(a.join(), b.join());
//   });
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <source_location>
#include <type_traits>
#include <utility>

#include "weft/detail/nursery_core.hpp"
#include "weft/task.hpp"

namespace weft::inline v0 {

struct NurseryOptions {
  std::chrono::nanoseconds deadline = std::chrono::nanoseconds::max();  // from now; then everything in it is cancelled
  bool lazy = false;  // cancel() wakes nobody: children notice at their next suspension point
};

namespace detail {
void open_nursery(NurseryCore& nursery, const NurseryOptions& options);
// Joins all, closes the scope. `failure`: of the body, or null. Returns what is to be rethrown, or null.
std::exception_ptr close_nursery(NurseryCore& nursery, std::exception_ptr failure);
void close_quiet_nursery(NurseryCore& nursery);  // the same when the body returned; throws what is to be thrown
TaskCore* take_child_record();
void spawn_apart(NurseryCore& nursery, TaskCore* task);  // not by the owner, or not into the deque
}  // namespace detail

class Nursery {
 public:
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;

  // A child, newest first. By the body and by every task below it, also by a thread for which the body waits; refused
  // to other tasks (not_in_task): they race with its end. Throws RuntimeError (no_memory) when there
  // is no memory for its record, std::bad_alloc when there is none for its closure. For its stack there may be none
  // when it begins: then it has failed (TaskOptions::apart).
  template <class F>
  auto spawn(F&& body, const std::source_location& site = std::source_location::current()) {
    return Task<detail::TaskResult<F>>::adopt(make(std::forward<F>(body), site, 0));
  }
  template <class F>
  auto spawn(F&& body, const TaskOptions& options) {
    detail::TaskCore* task = prepare(detail::this_worker(), std::forward<F>(body), options.site, 0);
    detail::apply_options(task, options);
    detail::spawn_apart(core_, task);
    return Task<detail::TaskResult<F>>::adopt(task);
  }
  // The same without a handle.
  template <class F>
  void start(F&& body, const std::source_location& site = std::source_location::current()) {
    (void)make(std::forward<F>(body), site, detail::life_dropped);
  }

  // Asks everything in it to stop, the body included.
  void cancel() { detail::request_scope(core_.scope, CancelReason::user); }
  bool cancelled() const { return core_.scope.requested.load(std::memory_order_relaxed) != 0; }
  // When everything in it is cancelled, by its own deadline; max(): never. How long is left, by any around the caller:
  // time_left(). To limit how many run at a time: map_limited, or a Semaphore.
  std::chrono::steady_clock::time_point deadline() const {
    if (core_.scope.deadline == seam::no_deadline) return std::chrono::steady_clock::time_point::max();
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(core_.scope.deadline));
  }

  // For the library's own floors.
  explicit Nursery(detail::NurseryCore& core) : core_(core) {}
  detail::NurseryCore& core() { return core_; }

 private:
  template <class F>
  [[gnu::always_inline]] detail::TaskCore* prepare(detail::WorkerCore* worker, F&& body,
                                                   const std::source_location& site, std::uint32_t life) {
    detail::TaskCore* task = worker != nullptr ? detail::take_record(worker) : detail::take_child_record();
    if constexpr (std::is_nothrow_constructible_v<std::decay_t<F>, F> && detail::fits_room<std::decay_t<F>>) {
      detail::fill_task(task, std::forward<F>(body), site);
    } else {
      try {
        detail::fill_task(task, std::forward<F>(body), site);
      } catch (...) {
        task->flags = 0;
        task->life.store(detail::life_ended, std::memory_order_relaxed);
        detail::drop_handle(task);
        throw;
      }
    }
    task->nursery = &core_;
    task->scope = task->birth = &core_.scope;
    task->life.store(life, std::memory_order_relaxed);
    return task;
  }
  template <class F>
  [[gnu::always_inline]] detail::TaskCore* make(F&& body, const std::source_location& site, std::uint32_t life) {
    detail::FiberCore* here = detail::current_core_near(core_.here);
    detail::WorkerCore* worker = here->root->worker;
    detail::TaskCore* task = prepare(worker, std::forward<F>(body), site, life);
    // To copy a closure is anybody's code, which may wait and come back on another worker.
    if constexpr (!std::is_trivially_copyable_v<std::decay_t<F>>) worker = here->root->worker;
    // Bindings to be inherited, or somebody above who catches I/O.
    const bool inherits = (reinterpret_cast<std::uintptr_t>(here->bindings) |
                           reinterpret_cast<std::uintptr_t>(here->shared_with) | (here->place & detail::above_io)) != 0;
    if (worker == nullptr || here->root->task != core_.owner || inherits) [[unlikely]] {
      detail::spawn_apart(core_, task);
      return task;
    }
    ++core_.plain;  // [NUR-1] [NUR-2]
    task->bindings = nullptr;
    task->id = detail::task_id_for(worker);
    detail::count_started(worker);
    detail::push_young(worker, detail::Entry(task, detail::entry_task));
    return task;
  }

  detail::NurseryCore& core_;
};

// Runs body(nursery) and waits for all its children. Gives what the body returns.
template <class F>
decltype(auto) with_nursery(const NurseryOptions& options, F&& body) {
  using R = std::invoke_result_t<F, Nursery&>;
  detail::NurseryCore core;
  detail::open_nursery(core, options);
  Nursery nursery(core);
  std::exception_ptr failure;
  if constexpr (std::is_void_v<R>) {
    try {
      std::forward<F>(body)(nursery);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure == nullptr) [[likely]]
      return detail::close_quiet_nursery(core);
    if ((failure = detail::close_nursery(core, std::move(failure))) != nullptr) std::rethrow_exception(failure);
  } else {
    std::optional<R> result;
    try {
      result.emplace(std::forward<F>(body)(nursery));
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure == nullptr) [[likely]] {
      detail::close_quiet_nursery(core);
      return R(std::move(*result));
    }
    if ((failure = detail::close_nursery(core, failure)) == nullptr) {
      // Cancelled by itself, and there is nothing to return.
      throw Cancelled(&core.scope, static_cast<CancelReason>(core.scope.requested.load(std::memory_order_relaxed)));
    }
    std::rethrow_exception(failure);
  }
}
template <class F>
decltype(auto) with_nursery(F&& body) {
  return with_nursery(NurseryOptions{}, std::forward<F>(body));
}

}  // namespace weft::inline v0
