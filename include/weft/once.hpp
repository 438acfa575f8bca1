// SPDX-License-Identifier: MIT
// What: something that is done once by the first who comes, while the others wait; and a value made that way.
//
//   weft::Lazy<Config> config([] { return load(); });        // load() may park: it blocks no worker
//   config.get().name;
//
// If it throws, whoever did it gets the exception and the next in line tries.
// Threads: any, plain ones too. It must outlive all calls.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/detail/once_core.hpp"
#include "weft/detail/wait_core.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0 {

class Once {
 public:
  using Clock = std::chrono::steady_clock;

  Once() = default;
  Once(const Once&) = delete;
  Once& operator=(const Once&) = delete;

  bool is_done() const noexcept { return core_.is_over(); }

  // Runs f unless it is done; waits for who does it, and throws Cancelled if it waits. f may park.
  template <class F>
  void call(F&& f) {
    (void)call_before(std::forward<F>(f), seam::no_deadline, detail::Raise::yes);
  }
  // False: somebody else is still at it. A call whose turn comes runs f to its end.
  template <class F>
  bool call_for(std::chrono::nanoseconds span, F&& f) {
    return call_before(std::forward<F>(f), detail::deadline_after(span), detail::Raise::yes) == WaitResult::done;
  }
  template <class F>
  bool call_until(Clock::time_point when, F&& f) {
    return call_before(std::forward<F>(f), detail::deadline_at(when), detail::Raise::yes) == WaitResult::done;
  }
  // Throws nothing but what f throws.
  template <class F>
  WaitResult call_result(F&& f, Clock::time_point when = Clock::time_point::max()) {
    return call_before(std::forward<F>(f), detail::deadline_at(when), detail::Raise::quietly);
  }

 private:
  template <class F>
  WaitResult call_before(F&& f, std::int64_t deadline, detail::Raise raise) {
    if (core_.is_over()) [[likely]]
      return WaitResult::done;
    bool mine = false;
    const WaitResult result = take_turn(deadline, raise, mine);
    if (!mine) return result;
    Turn turn{core_};
    std::invoke(std::forward<F>(f));
    turn.done = true;
    return WaitResult::done;
  }
  struct Turn {
    ~Turn() { core.finish(done); }
    detail::OnceCoreOf<detail::TaskCore>& core;
    bool done = false;
  };
  WaitResult take_turn(std::int64_t deadline, detail::Raise raise, bool& mine);

  detail::OnceCoreOf<detail::TaskCore> core_;
};

template <class T>
class Lazy {
 public:
  using Clock = std::chrono::steady_clock;

  template <class F>
    requires std::convertible_to<std::invoke_result_t<F&>, T>
  explicit Lazy(F make) : make_(std::move(make)) {}
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;

  T& get() {
    once_.call([this] { fill(); });
    return *value_;
  }
  T& operator*() { return get(); }
  T* operator->() { return &get(); }
  // Null: somebody else is still making it.
  T* get_for(std::chrono::nanoseconds span) {
    return once_.call_for(span, [this] { fill(); }) ? &*value_ : nullptr;
  }
  T* get_until(Clock::time_point when) {
    return once_.call_until(when, [this] { fill(); }) ? &*value_ : nullptr;
  }
  // Throws nothing but what making it throws.
  std::expected<T*, WaitResult> get_result(Clock::time_point when = Clock::time_point::max()) {
    const WaitResult end = once_.call_result([this] { fill(); }, when);
    if (end != WaitResult::done) return std::unexpected(end);
    return &*value_;
  }
  T* try_get() noexcept { return once_.is_done() ? &*value_ : nullptr; }

 private:
  void fill() { value_.emplace(make_()); }

  Once once_;
  std::move_only_function<T()> make_;
  std::optional<T> value_;
};

template <class F>
Lazy(F) -> Lazy<std::invoke_result_t<F&>>;

}  // namespace weft::inline v0
