// SPDX-License-Identifier: MIT
// What: async(f) starts f as a task and gives a Future, which owns it: await the result, ask it to stop, or drop it.
//
//   weft::Future<int> answer = weft::async([] { return slow(); });
//   other();
//   use(answer.await());                       // parks until it is there; throws what ended it, the original exception
//
// A Future that is destroyed before its task has ended asks it to stop and waits for its end: no task outlives its
// Future, unless detach() says so. A failure that nobody awaited is printed with its trace, and the run exits non-zero.
// What several await and a failure ends is one exception object for all of them: look at it, do not change it [HC10].
// Written over Io alone: the same source runs in a runtime, on a plain thread (BlockingIo: f runs inside async) and
// under an Io of yours. The Io must outlive its futures. Threads: await, done, status, cancel: any number at a time.
// Moving, detaching, destroying: one, and nobody else.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/detail/future_core.hpp"
#include "weft/io.hpp"
#include "weft/task.hpp"

namespace weft::inline v0 {

enum class FutureStatus : std::uint8_t { pending, done, failed, cancelled };
const char* to_string(FutureStatus status);

// Debugging: with true, a second await of a future that another task awaits throws std::logic_error. Process-wide.
void one_awaiter(bool on);

namespace detail {

// A permit, and whose.
struct FuturePermit {
  Io* io = nullptr;
  ParkToken park;
};
using FutureCore = FutureCoreOf<FuturePermit>;
using FutureNode = FutureNodeOf<FuturePermit>;
using Gathering = GatheringOf<FuturePermit>;

enum FutureFlag : std::uint32_t {
  future_observed = 1,  // somebody got its failure
  future_detached = 2,
  future_cancelled = 4,  // by request; written before the end
  future_over = 8,       // its task will not look at `future_detached` again
};

// Freed by the later of {task ended, handle dropped, last awaiter gone}.
struct FutureState {
  FutureState(Io& io_in, void (*destroy_in)(FutureState*)) : io(&io_in), destroy(destroy_in) {}
  FutureState(const FutureState&) = delete;
  FutureState& operator=(const FutureState&) = delete;

  FutureCore core;
  seam::Atomic<std::uint32_t> refs{2};
  seam::Atomic<std::uint32_t> flags{0};
  seam::Atomic<std::uint32_t> awaiters{0};
  Io* const io;
  RawTask raw;                 // the handle's
  std::exception_ptr failure;  // written before the end
  void (*const destroy)(FutureState*);
};

template <class T>
struct FutureOf : FutureState {
  using FutureState::FutureState;
  std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value;  // written before the end
};

template <class D, class T>
struct AsyncState final : FutureOf<T> {
  template <class F>
  AsyncState(Io& door, F&& f)
      : FutureOf<T>(door, [](FutureState* state) { delete static_cast<AsyncState*>(state); }),
        body(std::forward<F>(f)) {}
  std::optional<D> body;  // until it has run

  static void run(void* self) {
    auto& mine = *static_cast<AsyncState*>(self);
    if constexpr (std::is_void_v<T>) {
      std::invoke(*mine.body);
      mine.value.emplace();
    } else {
      mine.value.emplace(std::invoke(*mine.body));  // NOLINT(bugprone-unchecked-optional-access): runs once
    }
  }
  static void drop(void* self) { static_cast<AsyncState*>(self)->body.reset(); }
};

struct FutureBody {
  void (*run)(void*);
  void (*drop)(void*);
};
// The whole life of the task of a future.
void run_future(FutureState* state, const FutureBody& body, RawStart start);

template <class D, class T>
void async_entry(void* arg, RawStart start) {
  using State = AsyncState<D, T>;
  static constexpr FutureBody body{&State::run, &State::drop};
  run_future(static_cast<State*>(arg), body, start);
}

void retain_future(FutureState* state) noexcept;
void release_future(FutureState* state) noexcept;

// Waits for the end.
WaitResult await_future(FutureState& state, std::chrono::steady_clock::time_point deadline, OnCancel on_cancel);
// The next to arrive at a gathering; null: the wait ended otherwise.
std::pair<FutureNode*, WaitResult> gather_next(Io& io, Gathering& gathering, const ParkWish& wish);
void cancel_future(FutureState& state, CancelReason reason);
void join_future(FutureState& state) noexcept;  // shielded
void drop_future(FutureState* state) noexcept;  // the handle: cancel, join, release
void detach_future(FutureState* state) noexcept;
FutureStatus status_of(const FutureState& state);
[[noreturn]] void throw_failure(FutureState& state);
[[noreturn]] void refuse_empty_future();
std::chrono::steady_clock::time_point time_after(std::chrono::nanoseconds span);

}  // namespace detail

template <class T>
class [[nodiscard]] Future {
 public:
  using Value = T;
  // Where there is one.
  using Pointer = std::conditional_t<std::is_void_v<T>, bool, std::add_pointer_t<const T>>;

  Future() = default;
  Future(Future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Future& operator=(Future&& other) noexcept {
    Future old(std::exchange(state_, std::exchange(other.state_, nullptr)));
    return *this;
  }
  ~Future() {
    if (state_ != nullptr) detail::drop_future(state_);
  }

  // The result, which stays in the future: any number of tasks may await it.
  std::conditional_t<std::is_void_v<T>, void, std::add_lvalue_reference_t<const T>> await() & {
    detail::FutureOf<T>& state = settled();
    if constexpr (!std::is_void_v<T>) return *state.value;  // NOLINT(bugprone-unchecked-optional-access): settled
  }
  // The result, moved out, of a future that is used up: async(f).await(), std::move(future).await().
  T await() && {
    Future mine(std::move(*this));
    detail::FutureOf<T>& state = mine.settled();
    if constexpr (!std::is_void_v<T>) return std::move(*state.value);
  }
  // Null (false): its time was up first; the task runs on.
  Pointer await_until(std::chrono::steady_clock::time_point when) {
    detail::FutureOf<T>& state = checked();
    if (detail::await_future(state, when, OnCancel::raise) != WaitResult::done) return Pointer{};
    return look(state);
  }
  Pointer await_for(std::chrono::nanoseconds span) { return await_until(detail::time_after(span)); }
  // Never throws, for destructors and noexcept code.
  std::expected<Pointer, AwaitError> await_result(
      std::chrono::steady_clock::time_point when = std::chrono::steady_clock::time_point::max()) noexcept {
    detail::FutureOf<T>& state = checked();
    switch (detail::await_future(state, when, OnCancel::end)) {
      case WaitResult::timed_out:
        return std::unexpected(AwaitError{AwaitError::Why::timed_out, nullptr});
      case WaitResult::cancelled:
        return std::unexpected(AwaitError{AwaitError::Why::cancelled, nullptr});
      case WaitResult::done:
        break;
    }
    if (state.failure == nullptr) return value_of(state);
    state.flags.fetch_or(detail::future_observed, std::memory_order_relaxed);
    return std::unexpected(AwaitError{AwaitError::Why::failed, state.failure});
  }
  // For its end only: neither its result nor its failure comes out here.
  void wait() { (void)detail::await_future(checked(), std::chrono::steady_clock::time_point::max(), OnCancel::raise); }
  // False: its time was up first.
  bool wait_until(std::chrono::steady_clock::time_point when) {
    return detail::await_future(checked(), when, OnCancel::raise) == WaitResult::done;
  }
  bool wait_for(std::chrono::nanoseconds span) { return wait_until(detail::time_after(span)); }
  // Never throws.
  WaitResult wait_result(
      std::chrono::steady_clock::time_point when = std::chrono::steady_clock::time_point::max()) noexcept {
    return detail::await_future(checked(), when, OnCancel::end);
  }

  bool done() const { return checked().core.is_over(); }
  FutureStatus status() const { return detail::status_of(checked()); }
  // Asks its task to stop: its next suspension point raises Cancelled, which await() then reports. A result that is
  // there already stays.
  void cancel() { detail::cancel_future(checked(), CancelReason::user); }
  // The task runs on, by itself.
  void detach() {
    (void)checked();
    detail::detach_future(std::exchange(state_, nullptr));
  }
  explicit operator bool() const noexcept { return state_ != nullptr; }

  // For the library's own floors.
  explicit Future(detail::FutureOf<T>* state) noexcept : state_(state) {}
  detail::FutureOf<T>* state() const noexcept { return state_; }

 private:
  detail::FutureOf<T>& checked() const {
    if (state_ == nullptr) [[unlikely]]
      detail::refuse_empty_future();
    return *state_;
  }
  detail::FutureOf<T>& settled() const {
    detail::FutureOf<T>& state = checked();
    if (!state.core.is_over())
      (void)detail::await_future(state, std::chrono::steady_clock::time_point::max(), OnCancel::raise);
    if (state.failure != nullptr) detail::throw_failure(state);
    return state;
  }
  static Pointer value_of(detail::FutureOf<T>& state) {
    if constexpr (std::is_void_v<T>) {
      return true;
    } else {
      return &*state.value;
    }
  }
  static Pointer look(detail::FutureOf<T>& state) {
    if (state.failure != nullptr) detail::throw_failure(state);
    return value_of(state);
  }

  detail::FutureOf<T>* state_ = nullptr;
};

// Starts f, a function without arguments, through the Io in force. What it captures is copied or moved into it.
template <class F>
auto async(F&& f, const TaskOptions& options = {}) {
  using D = std::decay_t<F>;
  using T = detail::TaskResult<F>;
  Io& io = current_io();
  auto* state = new detail::AsyncState<D, T>(io, std::forward<F>(f));
  try {
    state->raw = io.spawn_raw(&detail::async_entry<D, T>, state, options);
  } catch (...) {
    detail::release_future(state);  // the task's part has been given back
    throw;
  }
  return Future<T>(state);
}

template <class T>
decltype(auto) await(Future<T>& future) {
  return future.await();
}
template <class T>
T await(Future<T>&& future) {
  return std::move(future).await();
}

}  // namespace weft::inline v0
