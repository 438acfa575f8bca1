// SPDX-License-Identifier: MIT
// What: cancellation as a task sees it: the exception it gets, shields, deadlines, and looking without getting it.
//
//   weft::timeout(50ms, [&] { slow(); });                 // false if its time ran out
//   weft::shield([&] { flush(); });                       // nothing from outside reaches into it
//
// Level-triggered: once a scope has been asked to stop, every suspension point inside raises Cancelled until the scope
// is left. A scope swallows only its own Cancelled. While a stack unwinds nothing is raised, and the cleanup of a defer
// or with (sugar.hpp) is a shield.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/detail/task_core.hpp"

namespace weft::inline v0 {

// Raised at a suspension point of a task that was asked to stop.
class Cancelled final : public std::exception {
 public:
  Cancelled(const void* scope, CancelReason reason);
  const char* what() const noexcept override { return text_; }
  CancelReason reason() const noexcept { return reason_; }
  // Names the scope that was asked; equal for all who were in it.
  const void* scope() const noexcept { return scope_; }

 private:
  const void* scope_;
  CancelReason reason_;
  const char* text_;
};

namespace detail {

enum class OpenScope : std::uint8_t { timeout, shield };

// By somebody who runs inside. relaxed: it has been told so by an exception.
inline bool is_requested(const ScopeCore& scope) {
  return scope.requested.load(std::memory_order_relaxed) != 0;
}

// A scope of the running task, for the time of a block.
class ScopeGuard {
 public:
  ScopeGuard(std::uint8_t flags, std::int64_t deadline);
  ~ScopeGuard();
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;
  ScopeCore& core() { return core_; }
  // Is this the Cancelled that this scope asked for? Not one that an earlier scope at this place left behind.
  bool owns(const Cancelled& cancelled) const { return cancelled.scope() == &core_ && is_requested(core_); }

 private:
  ScopeCore core_;
  TaskCore* task_;
};

std::int64_t deadline_after(std::chrono::nanoseconds span);  // throws for a negative span
void request_scope(ScopeCore& scope, CancelReason reason);
// `self`: the running fiber.
void open_scope(ScopeCore& scope, TaskCore* task, FiberCore* self, std::uint8_t flags, std::int64_t deadline);
void close_scope(ScopeCore& scope, TaskCore* task, FiberCore* self);
// The running task's; makes one for a plain thread.
TaskCore* task_here();

}  // namespace detail

// Runs f; gives its result, or nothing if its time ran out first (it was asked to stop and did). A function without a
// result: true, or false.
template <class F>
auto timeout(std::chrono::nanoseconds span, F&& f) {
  using R = std::decay_t<std::invoke_result_t<F>>;
  using Answer =
      std::conditional_t<std::is_void_v<R>, bool, std::optional<std::conditional_t<std::is_void_v<R>, int, R>>>;
  detail::ScopeGuard guard(0, detail::deadline_after(span));
  try {
    if constexpr (std::is_void_v<R>) {
      std::forward<F>(f)();
      return Answer(true);
    } else {
      return Answer(std::forward<F>(f)());
    }
  } catch (const Cancelled& cancelled) {
    if (!guard.owns(cancelled)) throw;
    return Answer();
  }
}

// Runs f without letting cancellation or deadlines of the scopes around it reach it; after `max` they do.
template <class F>
decltype(auto) shield(F&& f, std::chrono::nanoseconds max = std::chrono::nanoseconds::max()) {
  detail::ScopeGuard guard(detail::scope_shield,
                           max == std::chrono::nanoseconds::max() ? seam::no_deadline : detail::deadline_after(max));
  return std::forward<F>(f)();
}

// Has the running task been asked to stop, by anything that a suspension point would raise now?
bool cancel_requested();
CancelReason cancel_reason();

// Asks the scope around the caller to stop; its next suspension point raises Cancelled.
void cancel_scope();

// How long until the earliest deadline around the caller; max() if there is none.
std::chrono::nanoseconds time_left();

}  // namespace weft::inline v0
