// SPDX-License-Identifier: MIT
// What: weft::blocking(f): a call that may block the thread for long (a file, a foreign library) is made on a thread of
// the runtime's blocking pool, while the task waits and its worker runs others.
//
//   std::string text = weft::blocking([&] { return read_whole_file(path); });
//
// What f returns or throws comes back. f runs on a plain thread: there it has neither this task's dynamic bindings nor
// its scopes, the error number stays behind, and weft calls in it wait as a thread does. A cancelled task does not
// begin f; once f runs it is waited for, since it uses the caller's frame. A signal without SA_RESTART then reaches its
// thread every 10 ms: a system call that ends with EINTR is the time to ask weft::cancel_requested(), which answers for
// the task there. What f returns is returned even so, and the cancel is raised at the next suspension point. On a plain
// thread, and when the system has no thread to give, f is called right here.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft::inline v0 {
namespace detail {

struct BlockingCall {
  void (*run)(BlockingCall*) = nullptr;  // does not throw
  std::exception_ptr failure;
  bool withdrawn = false;  // it was cancelled before a thread had time for it
};
// Waits until call.run has returned.
void run_blocking(BlockingCall& call);

}  // namespace detail

template <class F>
std::invoke_result_t<F> blocking(F&& f) {
  using R = std::invoke_result_t<F>;
  using Kept = std::conditional_t<std::is_void_v<R>, char,
                                  std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R>*, R>>;
  struct Call : detail::BlockingCall {
    std::remove_reference_t<F>* body = nullptr;
    std::optional<Kept> result;
  };
  Call call;
  call.body = &f;
  call.run = [](detail::BlockingCall* base) {
    auto& self = static_cast<Call&>(*base);
    try {
      if constexpr (std::is_void_v<R>) {
        std::invoke(std::forward<F>(*self.body));
      } else if constexpr (std::is_reference_v<R>) {
        self.result.emplace(&std::invoke(std::forward<F>(*self.body)));
      } else {
        self.result.emplace(std::invoke(std::forward<F>(*self.body)));
      }
    } catch (...) {
      self.failure = std::current_exception();
    }
  };
  detail::run_blocking(call);
  if (call.failure != nullptr) std::rethrow_exception(std::move(call.failure));
  if constexpr (std::is_reference_v<R>) {
    return static_cast<R>(**call.result);
  } else if constexpr (!std::is_void_v<R>) {
    return std::move(*call.result);
  }
}

}  // namespace weft::inline v0
