// SPDX-License-Identifier: MIT
// What: the forms that other languages build in, each a few lines over Fiber: protect, try_, defer, with, label,
// with_dyns, squelch, muffle, enclose. There is no second control-flow mechanism behind them.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/detail/cleanup.hpp"
#include "weft/dyn.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"
#include "weft/signature.hpp"

namespace weft::inline v0 {

namespace detail {

// A fiber that does not outlive the frame that makes it; its body refers to that frame.
class ScopedFiber {
 public:
  template <class F>
  ScopedFiber(F&& body, const Mask& mask) : core_(make_core(std::forward<F>(body), mask, 0, true)) {}
  ScopedFiber(const ScopedFiber&) = delete;
  ScopedFiber& operator=(const ScopedFiber&) = delete;
  ~ScopedFiber() {
    if (!finished(*core_)) kill_scoped(core_);
    release(core_);
  }
  [[gnu::always_inline]] const Event& resume() { return resume_owned(core_); }
  FiberCore* core() { return core_; }
  Fiber handle() {
    retain(core_);
    return Fiber::adopt(core_);
  }

 private:
  static void kill_scoped(FiberCore* core) noexcept;
  FiberCore* core_;
};

inline constexpr Mask protect_mask = Mask("ie");
inline constexpr Mask defer_mask = Mask("ti");
inline constexpr Mask label_mask = Mask("0i");
inline constexpr Mask dyns_mask = Mask("p");

Payload take_payload(FiberCore* core);
SignalSet signals_or_throw(std::string_view names);
// Raises a caught error on with other bits; returns the fiber's next event if it was resumable and somebody resumed it.
const Event& raise_on(FiberCore* core, SignalSet bits);
[[noreturn]] void abort_muffled(SignalSet muffled, SignalSet fired, const std::source_location& site);

template <class R>
using Kept = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

// Runs body and keeps its result, void or not.
template <class R, class F>
void run_into(std::optional<Kept<R>>& result, F& body) {
  if constexpr (std::is_void_v<R>) {
    body();
    result.emplace();
  } else {
    result.emplace(body());
  }
}

template <class R>
R result_of(std::optional<Kept<R>>& result) {
  if constexpr (!std::is_void_v<R>) return std::move(*result);
}

}  // namespace detail

// What protect returns: a value, or the error as a payload (an exception_ptr if it was a C++ exception).
template <class R>
struct Protected {
  bool ok = false;
  std::optional<detail::Kept<R>> value;
  Payload error;

  explicit operator bool() const noexcept { return ok; }
  // Throws again what was caught: the original exception, or SignalError.
  [[noreturn]] void rethrow() {
    if (auto* held = error.get_if<std::exception_ptr>(); held != nullptr && *held != nullptr)
      std::rethrow_exception(*held);
    throw SignalError(Event{sig::error, std::move(error)});
  }
};

// Runs body; an error inside becomes a value. Everything else (yields, I/O, kill) goes through.
template <class F>
auto protect(F&& body) {
  using R = std::invoke_result_t<F&>;
  Protected<R> result;
  detail::ScopedFiber fiber([&] { detail::run_into<R>(result.value, body); }, detail::protect_mask);
  result.ok = fiber.resume().ok();
  if (!result.ok) result.error = detail::take_payload(fiber.core());
  return result;
}

// Runs body; an error inside runs handler(error) or handler(error, fiber), whose result is then the result.
template <class F, class H>
auto try_(F&& body, H&& handler) {
  using R = std::invoke_result_t<F&>;
  std::optional<detail::Kept<R>> result;
  detail::ScopedFiber fiber([&] { detail::run_into<R>(result, body); }, detail::protect_mask);
  if (!fiber.resume().ok()) {
    Payload error = detail::take_payload(fiber.core());
    if constexpr (std::is_invocable_v<H&, Payload, Fiber&>) {
      Fiber handle = fiber.handle();
      return static_cast<R>(handler(std::move(error), handle));
    } else {
      return static_cast<R>(handler(std::move(error)));
    }
  }
  return detail::result_of<R>(result);
}

// Runs body, then cleanup, whether body returned or ended by an error or by user0-4, which then goes on with its
// original trace. A body that is killed takes its destructors with it, not its cleanup. The cleanup is shielded: it may
// wait although the task is cancelled, and what comes from outside meanwhile (a cancellation, a deadline, interrupts)
// is raised at the next point after it. One that might not end takes a timeout() inside.
template <class C, class F>
auto defer(C&& cleanup, F&& body) {
  using R = std::invoke_result_t<F&>;
  std::optional<detail::Kept<R>> result;
  detail::ScopedFiber fiber([&] { detail::run_into<R>(result, body); }, detail::defer_mask);
  const bool ok = fiber.resume().ok();
  {
    const detail::Cleanup shield;
    cleanup();
  }
  if (!ok) {
    Fiber handle = fiber.handle();
    propagate(handle);
  }
  return detail::result_of<R>(result);
}

// Makes resource, runs body(resource), and closes it however body ended: destroy(resource), or resource.close(), as the
// cleanup of a defer.
template <class T, class F, class D>
auto with(T resource, F&& body, D&& destroy) {
  return defer([&] { destroy(resource); }, [&] { return body(resource); });
}
template <class T, class F>
auto with(T resource, F&& body) {
  if constexpr (requires { resource.close(); }) {
    return defer([&] { resource.close(); }, [&] { return body(resource); });
  } else {
    static_assert(requires { resource->close(); }, "with: the resource has no close(); pass a destroy function");
    return defer([&] { resource->close(); }, [&] { return body(resource); });
  }
}

// A place to leave to from any depth below, through other fibers too. Destructors on the way run.
class Label {
 public:
  // Ends label() with this value. Only while label() is running.
  [[noreturn]] void exit(Payload value = {});

 private:
  template <class F>
  friend Payload label(F&& body);
  Payload claim_exit(detail::FiberCore* core);
  bool open_ = true;
};

// Runs body(label) and returns what it returned or what it exited with.
template <class F>
Payload label(F&& body) {
  Label here;
  Payload result;
  detail::ScopedFiber fiber(
      [&] {
        using R = std::invoke_result_t<F&, Label&>;
        if constexpr (std::is_void_v<R>) {
          body(here);
        } else {
          result = Payload(body(here));
        }
      },
      detail::label_mask);
  const bool ok = fiber.resume().ok();
  here.open_ = false;
  return ok ? std::move(result) : here.claim_exit(fiber.core());
}

// Runs body with bindings set in a layer of its own: with_dyns(body, depth.bind(2), name.bind("x")).
template <class F, class... B>
  requires(std::same_as<std::remove_cvref_t<B>, DynBinding> && ...)
auto with_dyns(F&& body, B&&... bindings) {
  using R = std::invoke_result_t<F&>;
  std::optional<detail::Kept<R>> result;
  detail::ScopedFiber fiber(
      [&] {
        (detail::set_binding(bindings.key, std::move(bindings.value)), ...);
        detail::run_into<R>(result, body);
      },
      detail::dyns_mask);
  fiber.resume();
  return detail::result_of<R>(result);
}

// A function like f that must not emit these signals: one that does is ended there and SignalViolation is thrown.
// Errors are never affected; one that comes with a squelched bit loses that bit.
template <class F>
auto squelch(F f, SignalSet signals) {
  return [f = std::move(f), signals]<class... A>(A&&... args) mutable {
    using R = std::invoke_result_t<F&, A...>;
    std::optional<detail::Kept<R>> result;
    auto call = [&]() -> R { return f(std::forward<A>(args)...); };
    const SignalSet watched = detail::squelchable(signals);
    detail::ScopedFiber fiber([&] { detail::run_into<R>(result, call); }, Mask(watched).with_env(Env::share));
    for (const Event* event = &fiber.resume(); !event->ok();) {
      if (!event->bits.contains(sig::error)) throw SignalViolation(watched, event->bits);
      event = &detail::raise_on(fiber.core(), squelch_bits(event->bits, watched));
    }
    return detail::result_of<R>(result);
  };
}
// The same with names, as "|yield io|"; an unknown one is a RegistryError.
template <class F>
auto squelch(F f, std::string_view names) {
  return squelch(std::move(f), detail::signals_or_throw(names));
}

// A function like f that is promised not to emit these signals: one that does is reported with its name and ends
// everything up to the root, which no mask prevents.
template <class F>
auto muffle(F f, SignalSet signals, std::source_location site = std::source_location::current()) {
  return [f = std::move(f), signals, site]<class... A>(A&&... args) mutable {
    using R = std::invoke_result_t<F&, A...>;
    std::optional<detail::Kept<R>> result;
    auto call = [&]() -> R { return f(std::forward<A>(args)...); };
    const SignalSet watched = signals.without(sig::internal);
    detail::ScopedFiber fiber([&] { detail::run_into<R>(result, call); }, Mask(watched).with_env(Env::share));
    const Event& event = fiber.resume();
    if (!event.ok()) detail::abort_muffled(watched, event.bits, site);
    return detail::result_of<R>(result);
  };
}

// Runs body on this thread; a halt that nobody inside catches ends it, destructors run, and the event says halt with
// its payload.
template <class F>
Event enclose(F&& body) {
  try {
    using R = std::invoke_result_t<F&>;
    if constexpr (std::is_void_v<R>) {
      body();
      return {};
    } else {
      return Event{sig::ok, Payload(body())};
    }
  } catch (Halt& halt) {
    return Event{sig::halt, std::move(halt.value)};
  }
}

}  // namespace weft::inline v0
