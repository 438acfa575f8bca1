// SPDX-License-Identifier: MIT
// What: the cases of a select over real tasks, and the select itself, which is not a template.
// Threads: the selecting task.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "weft/channel_status.hpp"
#include "weft/detail/channel_case.hpp"
#include "weft/detail/wait_core.hpp"

namespace weft::inline v0::detail {

using SelectCase = SelectCaseOf<TaskCore>;
template <class T>
using RecvCase = RecvCaseOf<T, TaskCore>;
template <class T>
using SendCase = SendCaseOf<T, TaskCore>;

// A case without an object.
class ObjectlessCase : public SelectCase {
 public:
  explicit ObjectlessCase(CaseKind kind) : SelectCase(kind) {}
  ObjectlessCase(const ObjectlessCase&) = default;
  ObjectlessCase& operator=(const ObjectlessCase&) = default;
  bool looks_ready() const final { return false; }
  seam::SpinLock* lock() final { return nullptr; }
  bool look(TaskCore*&) final { return false; }
  void link(TaskCore&) final {}
  void unlink() final {}
  void claimed() final {}

 protected:
  ~ObjectlessCase() = default;
};

class DeadlineCase final : public ObjectlessCase {
 public:
  DeadlineCase() : ObjectlessCase(CaseKind::deadline) {}
  static DeadlineCase after(std::chrono::nanoseconds span);  // throws for a negative one
  static DeadlineCase at(std::chrono::steady_clock::time_point when);
  std::int64_t deadline() const;  // as seen from now

 private:
  std::int64_t span_ = -1;
  std::int64_t when_ = seam::no_deadline;  // if span_ is negative
};

class OtherwiseCase final : public ObjectlessCase {
 public:
  OtherwiseCase() : ObjectlessCase(CaseKind::otherwise) {}
};

// The end of a task: a flag of its word, with a list of waiters behind a shared lock [JOIN-1].
class JoinCase final : public SelectCase {
 public:
  explicit JoinCase(TaskCore& target) : SelectCase(CaseKind::flag), target_(&target) {}
  bool looks_ready() const final { return over(); }
  seam::SpinLock* lock() final;
  bool look(TaskCore*&) final { return over(); }
  void link(TaskCore& task) final;
  void unlink() final;
  void claimed() final {}
  About about() const final { return {"join", target_, target_, nullptr}; }

  bool over() const { return target_->word.look().state() >= TaskState::done; }

 private:
  TaskCore* target_;
  alignas(8) std::byte waiter_[32] = {};  // a TaskWaiter
};

// What a select can wait for beside channels: something with a lock and a list, whose waiters are claimed under the
// lock when it happens.
template <class G>
concept Gate = requires(G& g) {
  { g.looks_open() } -> std::same_as<bool>;  // without the lock: advice
  { g.lock() } -> std::same_as<seam::SpinLock&>;
  { g.open_now() } -> std::same_as<bool>;   // under the lock
  { g.list() } -> std::same_as<WaitList&>;  // under the lock
};
template <class E>
concept HasGate = requires(E& e) {
  { e.gate() };
  requires Gate<std::remove_reference_t<decltype(e.gate())>>;
};

template <Gate G>
class GateCase final : public SelectCase {
 public:
  explicit GateCase(G& gate) : gate_(&gate) {}
  bool looks_ready() const final { return gate_->looks_open(); }
  seam::SpinLock* lock() final { return &gate_->lock(); }
  bool look(TaskCore*&) final { return gate_->open_now(); }
  void link(TaskCore&) final { gate_->list().push(this->node); }
  void unlink() final { gate_->list().remove(this->node); }
  void claimed() final {}
  About about() const final { return {"event", gate_, nullptr, nullptr}; }

 private:
  G* gate_;
};

// The only case of an op, and what the op gives.
template <class Case, class R>
class SingleOp {
 public:
  using Result = R;
  static constexpr std::size_t cases = 1;

  std::size_t size() const { return 1; }
  void collect(SelectCase** into) { *into = &case_; }

 protected:
  template <class... Args>
  explicit SingleOp(std::in_place_t, Args&&... args) : case_(std::forward<Args>(args)...) {}
  Case case_;
};

struct SelectPlan {
  SelectCase** cases = nullptr;
  seam::SpinLock** locks = nullptr;  // room for `count`
  std::size_t count = 0;
  std::int64_t deadline = seam::no_deadline;  // of the whole
  Raise raise = Raise::yes;
};
struct SelectEnd {
  std::size_t which = 0;  // if done
  WaitEnd end = WaitEnd::done;
};
// Throws std::invalid_argument if there is nothing to wait for.
SelectEnd run_select(const SelectPlan& plan);

}  // namespace weft::inline v0::detail
