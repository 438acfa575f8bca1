// SPDX-License-Identifier: MIT
// What: the way between fibers and C++20 coroutines, both directions.
//
//   weft::Co<int> work(weft::Future<int>& part) { co_return 1 + co_await part; }   // a coroutine awaits a future
//   int answer = weft::await(work(part));                                          // a fiber awaits a coroutine
//
// Where a coroutine runs
//   Co<T>, awaited by a fiber  on that fiber, which drives it to its end. It may park there (sleep, recv); what it
//                              co_awaits of weft brings it back there; something foreign resumes it where it likes.
//   any other coroutine        after co_await of a future: on a task of the future's runtime, made for that.
//
// Cancel crosses both ways. A fiber that is asked to stop while its coroutine awaits a future: Cancelled is thrown at
// that co_await, and again at the next (level-triggered), until the coroutine has ended; then the fiber goes on. While
// it awaits something foreign: co_stop_token is asked to stop, and the end is waited for. The other way: the Cancelled
// of a future's task is thrown at the co_await, and a future that the awaiting coroutine owns (co_await async(f)) is
// asked to stop and joined when that co_await is left early. Exceptions cross as the original object.
//
// Invariants
//   [CORO-1] A coroutine is resumed by one at a time: by its driver, or by whoever the driver waits for. post() is the
//            last access to the coroutine of who calls it.
//   [CORO-2] A driver leaves only when the coroutine has ended: the frame goes with the awaiting expression.
// Threads: a Co belongs to one at a time.
//
// g++ 12 compiles two things wrongly that clang 19 does not: a co_await inside the condition of an if, and one whose
// operand holds a temporary that has to be destroyed (a lambda that captures a string). Name the future and the result.
#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/future.hpp"
#include "weft/sync_event.hpp"

namespace weft::inline v0 {

template <class T = void>
class Co;

namespace detail {

// What a coroutine that has stopped at a co_await of weft waits for; without a state: it has ended.
struct CoWait {
  FutureState* state = nullptr;
  std::coroutine_handle<> handle;
  std::exception_ptr* interrupted = nullptr;  // where to say that the wait ended otherwise
};

// Of a fiber that drives a coroutine, and all that this one awaits by itself.
class CoDriver {
 public:
  // Resumes it until it has ended. Never throws.
  void drive(std::coroutine_handle<> coroutine) noexcept;
  void post(const CoWait& wait) noexcept;  // [CORO-1]
  std::stop_token stop_token();

 private:
  CoWait next();
  void request_stop();

  SyncEvent posted_;
  CoWait wait_;  // written before posted_ is set
  seam::SpinLock lock_;
  std::stop_source stop_{std::nostopstate};  // guarded by lock_
  bool stopping_ = false;                    // guarded by lock_
};

struct CoPromiseBase {
  CoDriver* driver = nullptr;  // null: it was awaited by a coroutine that is not ours
  std::coroutine_handle<> continuation;
  std::exception_ptr failure;

  struct Final {
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> ended) noexcept {
      CoPromiseBase& promise = ended.promise();
      if (promise.continuation) return promise.continuation;
      promise.driver->post({});
      return std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }
};

template <class P>
CoDriver* driver_of(std::coroutine_handle<P> coroutine) {
  if constexpr (std::derived_from<P, CoPromiseBase>) {
    return coroutine.promise().driver;
  } else {
    return nullptr;
  }
}

template <class T>
struct CoPromise : CoPromiseBase {
  Co<T> get_return_object();
  template <class U = T>
    requires std::convertible_to<U, T>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() {
    if (failure != nullptr) std::rethrow_exception(failure);
    return std::move(*value);
  }
  std::optional<T> value;
};
template <>
struct CoPromise<void> : CoPromiseBase {
  Co<void> get_return_object();
  void return_void() noexcept {}
  void take() const {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
};

// A coroutine that nobody drives waits for a future: a task of the runtime waits, and resumes it.
struct Resumption;
std::shared_ptr<Resumption> make_resumption(const CoWait& wait);
// False: no task could be made; what `interrupted` says then is for the caller, who goes on itself.
bool resume_as_task(std::shared_ptr<Resumption> resumption);
void abandon(Resumption& resumption) noexcept;  // the coroutine's frame goes: nothing if it was resumed

template <class T, class F>
class FutureAwaiter {
 public:
  explicit FutureAwaiter(F&& future) : future_(std::forward<F>(future)) {}
  FutureAwaiter(const FutureAwaiter&) = delete;
  FutureAwaiter& operator=(const FutureAwaiter&) = delete;
  ~FutureAwaiter() {
    if (resumption_ != nullptr) abandon(*resumption_);
  }

  bool await_ready() const { return future_.done(); }
  // Returns false, and the coroutine goes on here, if there is no runtime any more that would resume it.
  template <class P>
  bool await_suspend(std::coroutine_handle<P> coroutine) {
    const CoWait wait{future_.state(), coroutine, &interrupted_};
    if (CoDriver* driver = driver_of(coroutine)) {
      driver->post(wait);
      return true;
    }
    std::shared_ptr<Resumption> resumption = make_resumption(wait);
    resumption_ = resumption;
    return resume_as_task(std::move(resumption));  // true: then this may be gone
  }
  decltype(auto) await_resume() {
    if (interrupted_ != nullptr) std::rethrow_exception(std::exchange(interrupted_, nullptr));
    return std::forward<F>(future_).await();
  }

 private:
  F future_;
  std::exception_ptr interrupted_;
  std::shared_ptr<Resumption> resumption_;
};

struct StopTokenAwaiter {
  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> coroutine) {
    if (CoDriver* driver = driver_of(coroutine)) token = driver->stop_token();
    return false;
  }
  std::stop_token await_resume() noexcept { return std::move(token); }
  std::stop_token token;
};
struct StopTokenAwaitable {
  StopTokenAwaiter operator co_await() const noexcept { return {}; }
};

template <class A>
decltype(auto) awaiter_of(A&& awaitable) {
  if constexpr (requires { std::forward<A>(awaitable).operator co_await(); }) {
    return std::forward<A>(awaitable).operator co_await();
  } else if constexpr (requires { operator co_await(std::forward<A>(awaitable)); }) {
    return operator co_await(std::forward<A>(awaitable));
  } else {
    return std::forward<A>(awaitable);
  }
}
// What has an await() of its own.
template <class A>
inline constexpr bool awaits_itself = false;
template <class T>
inline constexpr bool awaits_itself<Future<T>> = true;
template <class T>
inline constexpr bool awaits_itself<Co<T>> = true;

template <class A>
using Awaited = decltype(awaiter_of(std::declval<A>()).await_resume());

}  // namespace detail

// A coroutine that has not begun: it does when it is awaited, by a fiber (weft::await) or by a coroutine (co_await).
template <class T>
class [[nodiscard]] Co {
 public:
  using promise_type = detail::CoPromise<T>;

  Co(Co&& from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}
  Co& operator=(Co&& from) noexcept {
    const Co old(std::move(*this));
    handle_ = std::exchange(from.handle_, nullptr);
    return *this;
  }
  ~Co() {
    if (handle_) handle_.destroy();
  }

  class Awaiter {
   public:
    explicit Awaiter(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    bool await_ready() const noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> outer) noexcept {
      handle_.promise().driver = detail::driver_of(outer);
      handle_.promise().continuation = outer;
      return handle_;
    }
    T await_resume() { return handle_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> handle_;
  };
  // Once: it runs to its end.
  Awaiter operator co_await() && noexcept { return Awaiter(handle_); }

 private:
  friend promise_type;
  template <class U>
  friend U await(Co<U> coroutine);
  explicit Co(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};
template <class T = void>
using co = Co<T>;

// What the coroutine gives, or throws. Parks the fiber (or the plain thread) while the coroutine waits.
template <class T>
T await(Co<T> coroutine) {
  detail::CoDriver driver;
  coroutine.handle_.promise().driver = &driver;
  driver.drive(coroutine.handle_);
  return coroutine.handle_.promise().take();
}

// The same for whatever can be co_awaited.
template <class A>
concept Awaitable = requires(A a) {
  { detail::awaiter_of(std::forward<A>(a)).await_ready() } -> std::convertible_to<bool>;
  detail::awaiter_of(std::forward<A>(a)).await_resume();
};
template <Awaitable A>
  requires(!detail::awaits_itself<std::remove_cvref_t<A>>)
auto await(A&& awaitable) {
  using R = std::remove_cvref_t<detail::Awaited<A>>;
  // A coroutine's parameter, not a capture: the lambda may be gone before the coroutine.
  return await([](A&& inner) -> Co<R> { co_return co_await std::forward<A>(inner); }(std::forward<A>(awaitable)));
}

// The result, which stays in the future.
template <class T>
auto operator co_await(Future<T>& future) {
  return detail::FutureAwaiter<T, Future<T>&>(future);
}
// The result, moved out of a future that is used up.
template <class T>
auto operator co_await(Future<T>&& future) {
  return detail::FutureAwaiter<T, Future<T>>(std::move(future));
}

// std::stop_token token = co_await weft::co_stop_token; asked to stop when the fiber that drives this coroutine is,
// while it awaits something foreign. Without such a fiber: an empty one.
inline constexpr detail::StopTokenAwaitable co_stop_token{};

template <class T>
Co<T> detail::CoPromise<T>::get_return_object() {
  return Co<T>(std::coroutine_handle<CoPromise>::from_promise(*this));
}
inline Co<void> detail::CoPromise<void>::get_return_object() {
  return Co<void>(std::coroutine_handle<CoPromise>::from_promise(*this));
}

}  // namespace weft::inline v0
