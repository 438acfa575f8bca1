// SPDX-License-Identifier: MIT
// What: weft::use_fiber, a completion token for Asio, standalone or Boost's: the fiber parks until the operation is
// over, and gets what it gives. It is for the Asio that was included before it, or that WEFT_ASIO_STANDALONE or
// WEFT_ASIO_BOOST (or both) name; else for the one that is installed.
//
//   asio::steady_timer timer(context, 10ms);
//   timer.async_wait(weft::use_fiber);                                       // throws asio::system_error
//   std::size_t n = socket.async_read_some(room, weft::use_fiber[error]);    // does not: error says what is wrong
//
// The context is run by threads of yours, any number; the fiber goes on in its own runtime. A fiber that is asked to
// stop (a cancel, a deadline around it) emits Asio's cancellation (all its types), on the executor of the object, and
// waits for the final completion: that decides. An operation that was aborted then raises Cancelled; one that succeeded
// nevertheless gives its result, and Cancelled comes at the next suspension point. A context that is destroyed with the
// operation inside ends it as aborted. If the executor refuses the cancellation (it throws), the operation goes on to
// its own end.
// With use_fiber[error] an operation that is never completed gives default values with its error; where there are none
// (a socket that async_accept gives) it throws as without [error]. What the copy of a result throws, the fiber gets.
// Operations made of several (async_read, async_compose) want the objects used by one thread at a time or a strand, as
// ever with Asio: the cancellation is one more user.
// Threads: as the Asio object's: one at a time.
#pragma once

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#if !defined(WEFT_ASIO_STANDALONE) && !defined(WEFT_ASIO_BOOST)
#if defined(ASIO_DETAIL_CONFIG_HPP)
#define WEFT_ASIO_STANDALONE 1
#endif
#if defined(BOOST_ASIO_DETAIL_CONFIG_HPP)
#define WEFT_ASIO_BOOST 1
#endif
#endif
#if !defined(WEFT_ASIO_STANDALONE) && !defined(WEFT_ASIO_BOOST)
#if __has_include(<asio/async_result.hpp>)
#define WEFT_ASIO_STANDALONE 1
#elif __has_include(<boost/asio/async_result.hpp>)
#define WEFT_ASIO_BOOST 1
#endif
#endif

#if defined(WEFT_ASIO_STANDALONE)
#include <asio/async_result.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/error.hpp>
#include <asio/system_error.hpp>
#endif
#if defined(WEFT_ASIO_BOOST)
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#endif

#include "weft/detail/foreign_call.hpp"

namespace weft::inline v0 {

template <class Error>
struct UseFiberInto {
  Error* error;
};
struct UseFiber {
  // The error goes there, instead of being thrown.
  template <class Error>
  UseFiberInto<Error> operator[](Error& error) const {
    return {&error};
  }
};
inline constexpr UseFiber use_fiber{};

namespace detail {

// `Api` names the types of one Asio: Error, SystemError, Signal, Slot, aborted(), emit(signal).
template <class Api, class... Args>
struct AsioCall {
  ForeignCall call;
  typename Api::Signal signal;
  std::optional<std::tuple<std::decay_t<Args>...>> result;  // none: nobody will complete it any more, or `failure`
  std::exception_ptr failure;                               // the result could not be kept
};

template <class Api, class... Args>
class AsioHandler {
 public:
  using Call = AsioCall<Api, Args...>;
  using cancellation_slot_type = typename Api::Slot;

  explicit AsioHandler(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  AsioHandler(AsioHandler&&) noexcept = default;
  AsioHandler& operator=(AsioHandler&&) = delete;
  ~AsioHandler() {
    if (call_ != nullptr) call_->call.complete();
  }

  template <class... Given>
  void operator()(Given&&... given) {
    const std::shared_ptr<Call> call = std::move(call_);
    try {
      call->result.emplace(std::forward<Given>(given)...);
    } catch (...) {
      call->failure = std::current_exception();
    }
    call->call.complete();
  }
  cancellation_slot_type get_cancellation_slot() const noexcept { return call_->signal.slot(); }

 private:
  std::shared_ptr<Call> call_;
};

struct NoExecutor {};

// Starts the operation, waits for its end. True: the fiber was asked to stop meanwhile. Throws if there was a result
// that could not be kept.
template <class Api, class... Args, class Initiation, class... Rest>
bool run_asio_call(const std::shared_ptr<AsioCall<Api, Args...>>& call, Initiation&& initiation, Rest&&... rest) {
  // Where a cancellation is to be emitted: beside the completions of the object, if that is known.
  auto executor = [&] {
    if constexpr (requires { initiation.get_executor(); }) {
      return initiation.get_executor();
    } else {
      return NoExecutor{};
    }
  }();
  std::forward<Initiation>(initiation)(AsioHandler<Api, Args...>(call), std::forward<Rest>(rest)...);
  const bool stopping = call->call.wait([&] {
    auto emit = [call] { call->call.ask([&] { Api::emit(call->signal); }); };
    if constexpr (requires { executor.execute(emit); }) {
      executor.execute(std::move(emit));
    } else {
      emit();
    }
  });
  if (call->failure != nullptr) std::rethrow_exception(std::move(call->failure));  // it is the fiber's alone from here
  return stopping;
}

// What is left of the arguments of a completion after the error.
template <class... Args>
struct AsioGiven {
  using Type = std::tuple<std::decay_t<Args>...>;
};
template <>
struct AsioGiven<> {
  using Type = void;
};
template <class T>
struct AsioGiven<T> {
  using Type = std::decay_t<T>;
};

template <std::size_t skipped, class Tuple>
auto asio_given(Tuple&& all) {
  return [&]<std::size_t... at>(std::index_sequence<at...>) {
    if constexpr (sizeof...(at) == 1) {
      return (std::get<skipped + at>(std::move(all)), ...);
    } else if constexpr (sizeof...(at) > 1) {
      return std::tuple(std::get<skipped + at>(std::move(all))...);
    }
  }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<Tuple>> - skipped>());
}

template <class Api, class Error>
void throw_asio_error(Error& error, bool stopping) {
  if constexpr (std::is_same_v<Error, std::exception_ptr>) {
    if (error == nullptr) return;
    if (stopping) raise_if_stopping();
    std::rethrow_exception(std::move(error));
  } else {
    if (!error) return;
    if (stopping && error == Api::aborted()) raise_if_stopping();
    throw typename Api::SystemError(error);
  }
}

template <class Api, class... Args>
[[noreturn]] void throw_abandoned(bool stopping) {
  if (stopping) raise_if_stopping();
  throw typename Api::SystemError(Api::aborted());
}

// Signatures without an error.
template <class Api, class... Args>
struct FiberResult {
  using return_type = typename AsioGiven<Args...>::Type;
  template <class Initiation, class... Rest>
  static return_type initiate(Initiation&& initiation, UseFiber /*token*/, Rest&&... rest) {
    const auto call = std::make_shared<AsioCall<Api, Args...>>();
    const bool stopping =
        run_asio_call<Api, Args...>(call, std::forward<Initiation>(initiation), std::forward<Rest>(rest)...);
    if (!call->result) throw_abandoned<Api>(stopping);
    return asio_given<0>(*call->result);
  }
};
template <class Api, class First, class... Args>
  requires(std::is_same_v<std::decay_t<First>, typename Api::Error> ||
           std::is_same_v<std::decay_t<First>, std::exception_ptr>)
struct FiberResult<Api, First, Args...> {
  using return_type = typename AsioGiven<Args...>::Type;
  template <class Initiation, class... Rest>
  static return_type initiate(Initiation&& initiation, UseFiber /*token*/, Rest&&... rest) {
    const auto call = std::make_shared<AsioCall<Api, First, Args...>>();
    const bool stopping =
        run_asio_call<Api, First, Args...>(call, std::forward<Initiation>(initiation), std::forward<Rest>(rest)...);
    if (!call->result) throw_abandoned<Api>(stopping);
    throw_asio_error<Api>(std::get<0>(*call->result), stopping);
    return asio_given<1>(*call->result);
  }
};

template <class Api, class... Args>
struct FiberResultInto {
  using return_type = typename AsioGiven<Args...>::Type;
  template <class Initiation, class... Rest>
  static return_type initiate(Initiation&& initiation, UseFiberInto<typename Api::Error> token, Rest&&... rest) {
    using Error = typename Api::Error;
    const auto call = std::make_shared<AsioCall<Api, Error, Args...>>();
    [[maybe_unused]] const bool stopping =
        run_asio_call<Api, Error, Args...>(call, std::forward<Initiation>(initiation), std::forward<Rest>(rest)...);
    if (!call->result) {
      if constexpr ((std::is_default_constructible_v<std::decay_t<Args>> && ...)) {
        call->result.emplace(Api::aborted(), std::decay_t<Args>()...);
      } else {
        *token.error = Api::aborted();
        throw_abandoned<Api>(stopping);
      }
    }
    *token.error = std::get<0>(*call->result);
    return asio_given<1>(*call->result);
  }
};

#if defined(WEFT_ASIO_STANDALONE)
struct StandaloneAsio {
  using Error = asio::error_code;
  using SystemError = asio::system_error;
  using Signal = asio::cancellation_signal;
  using Slot = asio::cancellation_slot;
  static Error aborted() { return asio::error::operation_aborted; }
  static void emit(Signal& signal) { signal.emit(asio::cancellation_type::all); }
};
#endif
#if defined(WEFT_ASIO_BOOST)
struct BoostAsio {
  using Error = boost::system::error_code;
  using SystemError = boost::system::system_error;
  using Signal = boost::asio::cancellation_signal;
  using Slot = boost::asio::cancellation_slot;
  static Error aborted() { return boost::asio::error::operation_aborted; }
  static void emit(Signal& signal) { signal.emit(boost::asio::cancellation_type::all); }
};
#endif

}  // namespace detail
}  // namespace weft::inline v0

#if defined(WEFT_ASIO_STANDALONE)
template <class R, class... Args>
class asio::async_result<weft::UseFiber, R(Args...)>
    : public weft::detail::FiberResult<weft::detail::StandaloneAsio, Args...> {};
template <class R, class... Args>
class asio::async_result<weft::UseFiberInto<asio::error_code>, R(asio::error_code, Args...)>
    : public weft::detail::FiberResultInto<weft::detail::StandaloneAsio, Args...> {};
#endif
#if defined(WEFT_ASIO_BOOST)
template <class R, class... Args>
class boost::asio::async_result<weft::UseFiber, R(Args...)>
    : public weft::detail::FiberResult<weft::detail::BoostAsio, Args...> {};
template <class R, class... Args>
class boost::asio::async_result<weft::UseFiberInto<boost::system::error_code>, R(boost::system::error_code, Args...)>
    : public weft::detail::FiberResultInto<weft::detail::BoostAsio, Args...> {};
#endif
