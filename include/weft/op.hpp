// SPDX-License-Identifier: MIT
// What: the cases of a select as values. Each names something that may happen and what it gives; nothing happens before
// select() (weft/select.hpp).
//
//   op::recv(ch)           a value, or nothing if closed and drained          std::optional<T>
//   op::send(ch, value)    sent, closed, or dropped; the op owns the value    SendStatus
//   op::send_from(ch, v)   the same, from a variable of the caller            SendStatus
//   op::join(task)         the task has ended; throws what ended it           T, or std::monostate
//   op::await(future)      the same of a future: weft/future_op.hpp           const T*, or std::monostate
//   op::readable(stream)   there is something to read: weft/ready_op.hpp      std::uint32_t: IoReady
//   op::event(e)           the event is set                                   op::Set
//   op::timeout(span)      so long after the select began                     op::TimedOut
//   op::at(time)           at that time                                       op::TimedOut
//   op::otherwise()        nothing else is ready now: the select never waits  op::Otherwise
//   op::wrap(op, f)        f of what the op gives
//   op::choose(ops)        the first of them; they give the same type
//
// Op<T> holds any of them, so a function can return one and another select over it.
// Threads: an op belongs to one task at a time; what it names must outlive it. It may be used again; a send whose value
// went needs another one first (value()).
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/channel.hpp"
#include "weft/detail/select_case.hpp"
#include "weft/task.hpp"

namespace weft::inline v0 {

namespace op {

struct TimedOut {};
struct Otherwise {};
struct Set {};

// What select() needs of an op: how many cases it has, where they are, and what it gives if the `which`th of them won.
template <class O>
concept SelectOp = requires(O& o, detail::SelectCase** into, std::size_t which) {
  typename O::Result;
  { o.size() } -> std::convertible_to<std::size_t>;
  { o.collect(into) } -> std::same_as<void>;
  { o.result(which) } -> std::same_as<typename O::Result>;
};

template <class T>
class Recv : public detail::SingleOp<detail::RecvCase<T>, std::optional<T>> {
 public:
  explicit Recv(Channel<T>& channel) : Recv::SingleOp(std::in_place, channel.core()) {}
  std::optional<T> result(std::size_t) { return std::exchange(this->case_.value, std::nullopt); }
};
template <class T>
Recv<T> recv(Channel<T>& channel) {
  return Recv<T>(channel);
}

template <class T>
class Send : public detail::SingleOp<detail::SendCase<T>, SendStatus> {
 public:
  Send(Channel<T>& channel, T value)
      : Send::SingleOp(std::in_place, channel.core(), value_, channel.overflow()), value_(std::move(value)) {}
  Send(Send&& other) noexcept : Send::SingleOp(std::move(other)), value_(std::move(other.value_)) {}
  void collect(detail::SelectCase** into) {
    this->case_.aim_at(value_);
    Send::SingleOp::collect(into);
  }
  SendStatus result(std::size_t) { return this->case_.status(); }
  // Still the one that was given, unless it was sent.
  T& value() { return value_; }

 private:
  T value_;
};
template <class T>
Send<T> send(Channel<T>& channel, std::type_identity_t<T> value) {
  return Send<T>(channel, std::move(value));
}

// Moves from the variable only if it was sent.
template <class T>
class SendFrom : public detail::SingleOp<detail::SendCase<T>, SendStatus> {
 public:
  SendFrom(Channel<T>& channel, T& value)
      : SendFrom::SingleOp(std::in_place, channel.core(), value, channel.overflow()) {}
  SendStatus result(std::size_t) { return this->case_.status(); }
};
template <class T>
SendFrom<T> send_from(Channel<T>& channel, T& value) {
  return SendFrom<T>(channel, value);
}

template <class T>
class Join : public detail::SingleOp<detail::JoinCase, std::conditional_t<std::is_void_v<T>, std::monostate, T>> {
 public:
  explicit Join(Task<T>& task) : Join::SingleOp(std::in_place, *task.core()), task_(&task) {}
  typename Join::Result result(std::size_t) {
    if constexpr (std::is_void_v<T>) {
      task_->join();
      return {};
    } else {
      return task_->join();
    }
  }

 private:
  Task<T>* task_;
};
template <class T>
Join<T> join(Task<T>& task) {
  (void)task.done();  // refuses an empty handle
  return Join<T>(task);
}

// Anything that has a lock, a list and a moment in which it is set: see detail::Gate.
template <detail::Gate G>
class Event : public detail::SingleOp<detail::GateCase<G>, Set> {
 public:
  explicit Event(G& gate) : Event::SingleOp(std::in_place, gate) {}
  Set result(std::size_t) { return {}; }
};
template <detail::HasGate E>
auto event(E& object) {
  return Event<std::remove_reference_t<decltype(object.gate())>>(object.gate());
}

class Timeout : public detail::SingleOp<detail::DeadlineCase, TimedOut> {
 public:
  explicit Timeout(const detail::DeadlineCase& deadline) : SingleOp(std::in_place, deadline) {}
  TimedOut result(std::size_t) { return {}; }
};
inline Timeout timeout(std::chrono::nanoseconds span) {
  return Timeout(detail::DeadlineCase::after(span));
}
inline Timeout at(std::chrono::steady_clock::time_point when) {
  return Timeout(detail::DeadlineCase::at(when));
}

class Else : public detail::SingleOp<detail::OtherwiseCase, Otherwise> {
 public:
  Else() : SingleOp(std::in_place) {}
  Otherwise result(std::size_t) { return {}; }
};
inline Else otherwise() {
  return {};
}

// f is called by select() after everything is settled; it may wait and throw.
template <SelectOp O, class F>
class Wrap {
 public:
  using Given = std::invoke_result_t<F&, typename O::Result>;
  using Result = std::conditional_t<std::is_void_v<Given>, std::monostate, Given>;
  static constexpr std::size_t cases = O::cases;

  Wrap(O op, F f) : op_(std::move(op)), f_(std::move(f)) {}
  std::size_t size() const { return op_.size(); }
  void collect(detail::SelectCase** into) { op_.collect(into); }
  Result result(std::size_t which) {
    if constexpr (std::is_void_v<Given>) {
      std::invoke(f_, op_.result(which));
      return {};
    } else {
      return std::invoke(f_, op_.result(which));
    }
  }

 private:
  O op_;
  F f_;
};
template <class O, class F>
  requires SelectOp<std::decay_t<O>>
auto wrap(O&& op, F&& f) {
  return Wrap<std::decay_t<O>, std::decay_t<F>>(std::forward<O>(op), std::forward<F>(f));
}

}  // namespace op

// Any op that gives a T.
template <class T>
class Op {
 public:
  using Result = T;
  static constexpr std::size_t cases = 0;  // known when it runs

  template <class O>
    requires(op::SelectOp<std::decay_t<O>> && std::same_as<typename std::decay_t<O>::Result, T> &&
             !std::same_as<std::decay_t<O>, Op>)
  Op(O&& op) : held_(std::make_unique<Held<std::decay_t<O>>>(std::forward<O>(op))) {}  // NOLINT: any op is one

  std::size_t size() const { return held_->size(); }
  void collect(detail::SelectCase** into) { held_->collect(into); }
  T result(std::size_t which) { return held_->result(which); }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual std::size_t size() const = 0;
    virtual void collect(detail::SelectCase** into) = 0;
    virtual T result(std::size_t which) = 0;
  };
  template <class O>
  struct Held final : Base {
    explicit Held(O&& op) : op_(std::move(op)) {}
    explicit Held(const O& op) : op_(op) {}
    std::size_t size() const override { return op_.size(); }
    void collect(detail::SelectCase** into) override { op_.collect(into); }
    T result(std::size_t which) override { return op_.result(which); }
    O op_;
  };
  std::unique_ptr<Base> held_;
};
template <class O>
Op(O) -> Op<typename O::Result>;

namespace op {

template <class T>
class Choose {
 public:
  using Result = T;
  static constexpr std::size_t cases = 0;

  explicit Choose(std::vector<Op<T>> ops) : ops_(std::move(ops)) {}
  std::size_t size() const {
    std::size_t sum = 0;
    for (const Op<T>& one : ops_) sum += one.size();
    return sum;
  }
  void collect(detail::SelectCase** into) {
    for (Op<T>& one : ops_) {
      one.collect(into);
      into += one.size();
    }
  }
  T result(std::size_t which) {
    std::size_t i = 0;
    for (; which >= ops_[i].size(); ++i) which -= ops_[i].size();
    return ops_[i].result(which);
  }

 private:
  std::vector<Op<T>> ops_;
};
template <class T>
Choose<T> choose(std::vector<Op<T>> ops) {
  return Choose<T>(std::move(ops));
}

}  // namespace op
}  // namespace weft::inline v0
