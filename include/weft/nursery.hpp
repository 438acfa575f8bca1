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
void open_nursery(NurseryCore& nursery);  // with none
// Joins all, closes the scope. `failure`: of the body, or null. Returns what is to be rethrown, or null.
std::exception_ptr close_nursery(NurseryCore& nursery, std::exception_ptr failure);
void close_quiet_nursery(NurseryCore& nursery);  // the same when the body returned; throws what is to be thrown
TaskCore* take_child_record();
void spawn_child(NurseryCore& nursery, TaskCore* task);  // wherever the caller stands
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
    return Task<detail::TaskResult<F>>::adopt(make(core_, std::forward<F>(body), site));
  }
  template <class F>
  auto spawn(F&& body, const TaskOptions& options) {
    detail::TaskCore* task = prepare(core_, detail::take_child_record(), std::forward<F>(body), options.site, 0);
    detail::apply_options(task, options);
    detail::spawn_apart(core_, task);
    return Task<detail::TaskResult<F>>::adopt(task);
  }
  // The same without a handle: the cheapest, if the nursery's end is where it is waited for. What it returns is
  // destroyed as a part of it.
  template <class F>
  void start(F&& body, const std::source_location& site = std::source_location::current()) {
    detail::NurseryCore& core = core_;
    detail::FiberCore* root = core.root;
    if (!is_short(core, root)) [[unlikely]]
      return (void)make_apart<F>(core, std::forward<F>(body), site, detail::life_dropped);
    detail::TaskCore* task = detail::take_record(root->worker);
    put<void>(task, std::forward<F>(body), site);
    task->nursery = &core;
    if constexpr (!std::is_trivially_copyable_v<std::decay_t<F>>) {
      if (root->bindings != nullptr) [[unlikely]] {  // as in make
        detail::fill_child(*task);
        return detail::spawn_child(core, task);
      }
    }
    ++core.plain;  // [NUR-1] [NUR-2]
    detail::push_own(root->worker, detail::Entry(task, detail::entry_child));
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
  // By the core and not by `this`, here and below: a Nursery whose address nobody asks for lies in registers.
  // By its owner, on his own stack, and with nothing to be inherited.
  [[gnu::always_inline]] static bool is_short(const detail::NurseryCore& core, const detail::FiberCore* root) {
    return detail::is_on_stack_of(root) && root->task == core.owner && root->bindings == nullptr;
  }
  template <class R, class F>
  [[gnu::always_inline]] static void put(detail::TaskCore* task, F&& body, const std::source_location& site) {
    if constexpr (std::is_nothrow_constructible_v<std::decay_t<F>, F> && detail::fits_room<std::decay_t<F>>) {
      detail::put_closure<R>(task, std::forward<F>(body), site);
    } else {
      try {
        detail::put_closure<R>(task, std::forward<F>(body), site);
      } catch (...) {
        task->life.store(detail::life_ended, std::memory_order_relaxed);
        detail::drop_handle(task);
        throw;
      }
    }
  }
  template <class F>
  [[gnu::always_inline]] static detail::TaskCore* prepare(detail::NurseryCore& core, detail::TaskCore* task, F&& body,
                                                          const std::source_location& site, std::uint32_t life) {
    put<detail::TaskResult<F>>(task, std::forward<F>(body), site);
    task->nursery = &core;
    task->scope = &core.scope;
    task->word.take_fresh();
    if (life != 0) task->life.store(life, std::memory_order_relaxed);  // [TASK-5]
    return task;
  }
  template <class F>
  [[gnu::always_inline]] static detail::TaskCore* make(detail::NurseryCore& core, F&& body,
                                                       const std::source_location& site) {
    detail::FiberCore* root = core.root;
    if (!is_short(core, root)) [[unlikely]]
      return make_apart<F>(core, std::forward<F>(body), site, 0);
    detail::TaskCore* task = prepare(core, detail::take_record(root->worker), std::forward<F>(body), site, 0);
    // To copy a closure is anybody's code, which may bind something, or wait and come back on another worker.
    if constexpr (!std::is_trivially_copyable_v<std::decay_t<F>>) {
      if (root->bindings != nullptr) [[unlikely]]
        return detail::spawn_child(core, task), task;
    }
    ++core.plain;  // [NUR-1] [NUR-2]
    task->root = root;
    detail::push_own(root->worker, detail::Entry(task, detail::entry_task));
    return task;
  }
  // Not by the owner, or inside a fiber of his, or with bindings to be inherited.
  // By value where that is a copy of bytes: the short way then need not keep the closure in memory.
  template <class F>
  using Passed = std::conditional_t<std::is_trivially_copyable_v<std::decay_t<F>>, std::decay_t<F>, F&&>;
  template <class F>
  [[gnu::noinline]] static detail::TaskCore* make_apart(detail::NurseryCore& core, Passed<F> body,
                                                        std::source_location site, std::uint32_t life) {
    detail::TaskCore* task = prepare(core, detail::take_child_record(), std::forward<F>(body), site, life);
    detail::spawn_child(core, task);
    return task;
  }

  detail::NurseryCore& core_;
};

namespace detail {
// An open nursery, to its end.
template <class F>
[[gnu::always_inline]] inline decltype(auto) run_in_nursery(NurseryCore& core, F&& body) {
  using R = std::invoke_result_t<F, Nursery&>;
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
}  // namespace detail

// Runs body(nursery) and waits for all its children. Gives what the body returns.
template <class F>
decltype(auto) with_nursery(const NurseryOptions& options, F&& body) {
  detail::NurseryCore core;
  detail::open_nursery(core, options);
  return detail::run_in_nursery(core, std::forward<F>(body));
}
template <class F>
decltype(auto) with_nursery(F&& body) {
  detail::NurseryCore core;
  detail::open_nursery(core);
  return detail::run_in_nursery(core, std::forward<F>(body));
}

}  // namespace weft::inline v0
