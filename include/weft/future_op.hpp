// SPDX-License-Identifier: MIT
// What: a future as a case of select (weft/select.hpp), beside op::join of a task.
//
//   auto got = weft::select(op::recv(jobs), op::await(answer), op::timeout(10ms));
//
//   op::await(future)      it has ended: where its result is, in the future; throws what ended it    const T*, or
//                          std::monostate
//
// Invariants
//   [FOP-1] From its first select on the op is among those who wait for the future, at a gate of its own, which the
//           end opens under the future's lock; the op leaves under that lock [FUT-2]. So the gate is there.
// Threads: as every op: one task at a time. The future must outlive it.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/detail/gate_wait.hpp"
#include "weft/future.hpp"
#include "weft/op.hpp"

namespace weft::inline v0 {

namespace detail {

class FutureCase final : public SelectCase {
 public:
  explicit FutureCase(FutureState& state) : state_(&state) {}
  FutureCase(FutureCase&& other) noexcept : state_(other.state_) { other.withdraw(); }
  FutureCase& operator=(FutureCase&&) = delete;
  ~FutureCase() { withdraw(); }

  void join();  // [FOP-1]
  void withdraw() noexcept;

  bool looks_ready() const override { return gate_.looks_open(); }
  seam::SpinLock* lock() override { return &gate_.lock(); }
  bool look(TaskCore*&) override { return gate_.open_now(); }
  void link(TaskCore&) override { gate_.list().push(node); }
  void unlink() override { gate_.list().remove(node); }
  void claimed() override {}
  About about() const override;

 private:
  FutureState* state_;
  GateCore gate_{1};
  Gathering gathering_;
  FutureNode future_node_;
  bool joined_ = false;
};

}  // namespace detail

namespace op {

template <class T>
class Await {
 public:
  using Result = std::conditional_t<std::is_void_v<T>, std::monostate, std::add_pointer_t<const T>>;
  static constexpr std::size_t cases = 1;

  explicit Await(Future<T>& future) : future_(&future), case_(*future.state()) {}
  std::size_t size() const { return 1; }
  void collect(detail::SelectCase** into) {
    case_.join();
    *into = &case_;
  }
  Result result(std::size_t) {
    if constexpr (std::is_void_v<T>) {
      future_->await();
      return {};
    } else {
      return &future_->await();
    }
  }

 private:
  Future<T>* future_;
  detail::FutureCase case_;
};
template <class T>
Await<T> await(Future<T>& future) {
  (void)future.done();  // refuses an empty one
  return Await<T>(future);
}

}  // namespace op
}  // namespace weft::inline v0
