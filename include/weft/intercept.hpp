// SPDX-License-Identifier: MIT
// What: intercept(handler, f): every request that f makes of the outside, and everything that f spawns, goes to a
// function of yours first. To mock, log, limit or sandbox I/O.
//
//   weft::intercept(
//       [](weft::IoRequest& request) {
//         if (request.op == weft::IoOp::open) return weft::IoResult::failed(EACCES);
//         return weft::perform_io(request);             // as it would go without this one
//       },
//       [&] { untrusted(); });
//
// The handler runs in the task that asks, so it is called by several at the same time; what it does itself goes to the
// next one out. A fiber can do the same for what it runs itself by a mask that names io: it receives yield and io with
// the request (an IoRequest*) and answers by resuming with an IoResult, or raises by Fiber::cancel. Such a fiber has no
// function that a spawned task could call, so it is asked before something inside spawns: IoOp::task, with io alone.
//
// Invariants
//   [SEAL-1] What is spawned inside carries the handler, whatever the fiber that spawns sees of bindings, and however
//            it sets doors: with_io inside chooses who performs, never who is asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "weft/fiber.hpp"
#include "weft/io_request.hpp"
#include "weft/sugar.hpp"

namespace weft::inline v0 {

using IoHandler = std::function<IoResult(IoRequest& request)>;

namespace detail {

// What tasks carry of an interception, in their bindings.
struct IoSeal {
  IoHandler handler;
  std::shared_ptr<IoSeal> outer;
  std::uint64_t fiber = 0;  // that catches for it
};
using IoSealRef = std::shared_ptr<IoSeal>;

extern const char io_seal_key;
IoSealRef make_seal(IoHandler handler);
// Resumes the fiber to its end, answering.
void answer_requests(Fiber& fiber, IoSeal& seal);

}  // namespace detail

// Gives what f returns.
template <class F>
auto intercept(IoHandler handler, F&& f) {
  using R = std::invoke_result_t<F&>;
  std::optional<detail::Kept<R>> result;
  const detail::IoSealRef seal = detail::make_seal(std::move(handler));
  Fiber fiber(
      [&] {
        detail::set_binding(&detail::io_seal_key, Payload::make<detail::IoSealRef>(seal));
        detail::run_into<R>(result, f);
      },
      Mask(sig::io).with_env(Env::layer));
  detail::answer_requests(fiber, *seal);
  return detail::result_of<R>(result);
}

}  // namespace weft::inline v0
