// SPDX-License-Identifier: MIT
// What: a supervisor channel. What is started with it tells it of its end, and of the signals that its mask names:
// {bits, task, id}, each in the order in which they happened.
//
//   weft::Supervision watch;
//   weft::with_nursery([&](weft::Nursery& n) {
//     weft::supervise(n, watch, [] { work(); });
//     while (auto event = watch.recv())                         // bits empty: it returned
//       if (event->bits.contains(weft::sig::error)) log(event->what());
//   });
//
// The mask is that of a fiber around the body; "t" unless you say otherwise: errors and user0-4, which end the task.
// With a SignalSet mask a caught signal suspends it, and SupervisedTask::resume(value) answers it. A failure of a
// supervised child does not fail its nursery. What the mask does not name is printed with its trace, and ends the task.
//
// Invariants
//   [SUP-1] The event's node is part of what was allocated at the start: telling neither allocates, nor blocks, nor
//           fails. A channel that is closed refuses, and the event is printed instead [HB23].
//   [SUP-2] A task has one event outstanding at most: after a suspending signal it waits to be answered.
// Threads: any. The channel outlives the tasks that tell it.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/dyn.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/sync_event.hpp"

namespace weft::inline v0 {

class Supervision;

// The id under which a supervised task is known, bound inside it; set() there changes what its next event says.
extern const Dyn<std::uint64_t> supervised_id;

enum class SupervisedState : std::uint8_t {
  running,    // or not begun
  suspended,  // a signal of it awaits an answer
  ended,      // returned, or ended by a signal of its mask
  failed,     // ended by something that its mask does not name; printed
};

namespace detail {

class SupervisionCore;

// What there is of a supervised task: its body, and the node of its event [SUP-1].
struct SupervisedCore {
  SupervisedCore(SupervisionCore& channel_in, const Mask& mask_in, std::uint64_t id_in)
      : channel(&channel_in), mask(mask_in), id(id_in) {}
  virtual ~SupervisedCore() = default;
  SupervisedCore(const SupervisedCore&) = delete;
  SupervisedCore& operator=(const SupervisedCore&) = delete;
  virtual Payload call() = 0;
  virtual void drop() = 0;  // the body

  SupervisionCore* channel;
  Mask mask;
  std::uint64_t id;
  SupervisedCore* next = nullptr;  // in the channel, which holds `kept`
  std::shared_ptr<SupervisedCore> kept;
  SignalSet bits;              // of the event
  Payload value;               // the same
  std::exception_ptr failure;  // the same
  SyncEvent answered;
  Payload answer;
  SyncEvent ended;
  seam::Atomic<SupervisedState> state{SupervisedState::running};
  seam::Mutex mutex;
  Task<void> task;     // guarded by mutex
  bool asked = false;  // the same: to stop
};

template <class D>
struct SupervisedBody final : SupervisedCore {
  template <class F>
  SupervisedBody(SupervisionCore& channel_in, const Mask& mask_in, std::uint64_t id_in, F&& f)
      : SupervisedCore(channel_in, mask_in, id_in), body(std::forward<F>(f)) {}
  Payload call() override {
    if (!body.has_value()) return {};  // dropped before: it is not called then
    if constexpr (std::is_void_v<std::invoke_result_t<D&>>) {
      std::invoke(*body);
      return {};
    } else {
      return Payload(std::invoke(*body));
    }
  }
  void drop() override { body.reset(); }
  std::optional<D> body;
};

// The whole life of it, as a task. Throws nothing but a Cancelled that it was asked for.
void run_supervised(const std::shared_ptr<SupervisedCore>& core, const std::source_location& site);
void keep_task(SupervisedCore& core, Task<void> task);
// Of one that never began: asked to stop before, or without a stack.
void skip_supervised(const std::shared_ptr<SupervisedCore>& core);

// What is spawned: called, or destroyed without.
class SupervisedStart {
 public:
  SupervisedStart(std::shared_ptr<SupervisedCore> core, const std::source_location& site)
      : core_(std::move(core)), site_(site) {}
  SupervisedStart(SupervisedStart&&) noexcept = default;
  SupervisedStart& operator=(SupervisedStart&&) = delete;
  ~SupervisedStart() {
    if (core_ != nullptr) skip_supervised(core_);
  }
  void operator()() {
    const std::shared_ptr<SupervisedCore> core = std::move(core_);
    run_supervised(core, site_);
  }

 private:
  std::shared_ptr<SupervisedCore> core_;
  std::source_location site_;
};

}  // namespace detail

// Who told. A value; equal for equal tasks.
class SupervisedTask {
 public:
  SupervisedTask() = default;
  explicit SupervisedTask(std::shared_ptr<detail::SupervisedCore> core) : core_(std::move(core)) {}

  std::uint64_t id() const { return core_->id; }
  SupervisedState state() const { return core_->state.load(std::memory_order_acquire); }
  bool done() const { return state() >= SupervisedState::ended; }
  // Asks it to stop; its end is told, too: error, with Cancelled as its failure.
  void cancel();
  // Its suspended signal returns this value where it was emitted. Throws std::logic_error if none is.
  void resume(Payload value = {});
  void wait() { core_->ended.wait(); }
  bool wait_for(std::chrono::nanoseconds span) { return core_->ended.wait_for(span); }

  explicit operator bool() const noexcept { return core_ != nullptr; }
  friend bool operator==(const SupervisedTask&, const SupervisedTask&) = default;

 private:
  std::shared_ptr<detail::SupervisedCore> core_;
};

struct SupervisorEvent {
  SignalSet bits;       // empty: it returned
  SupervisedTask task;  // who
  std::uint64_t id = 0;
  Payload value;               // what it returned, or the signal's
  std::exception_ptr failure;  // what ended it, if that was an error

  bool ok() const { return bits.empty(); }
  std::string what() const;  // for people
};

class Supervision {
 public:
  Supervision();
  ~Supervision();
  Supervision(const Supervision&) = delete;
  Supervision& operator=(const Supervision&) = delete;

  // Nothing: it is closed, and what was told before has been received.
  std::optional<SupervisorEvent> recv();
  std::optional<SupervisorEvent> try_recv();
  // Nothing, too, when its time is up.
  std::optional<SupervisorEvent> recv_until(std::chrono::steady_clock::time_point when);
  // From now on events are printed.
  void close();

  detail::SupervisionCore& core() { return *core_; }

 private:
  std::unique_ptr<detail::SupervisionCore> core_;
};

struct SuperviseOptions {
  Mask mask = Mask("t");
  std::uint64_t id = 0;  // 0: one is given to it
  TaskOptions task = {};
};

namespace detail {
std::uint64_t fresh_supervised_id();

template <class F>
std::shared_ptr<SupervisedCore> make_supervised(Supervision& channel, F&& body, const SuperviseOptions& options) {
  return std::make_shared<SupervisedBody<std::decay_t<F>>>(
      channel.core(), options.mask, options.id != 0 ? options.id : fresh_supervised_id(), std::forward<F>(body));
}
}  // namespace detail

// A child of a nursery (in FIFO order), or a task of its own (go), that tells this channel.
template <class F>
SupervisedTask supervise(Nursery& nursery, Supervision& channel, F&& body, const SuperviseOptions& options = {}) {
  auto core = detail::make_supervised(channel, std::forward<F>(body), options);
  TaskOptions last = options.task;
  last.fifo = true;
  last.apart = true;  // what ends it is told, and is not its nursery's
  detail::keep_task(*core, nursery.spawn(detail::SupervisedStart(core, last.site), last));
  return SupervisedTask(std::move(core));
}
template <class F>
SupervisedTask supervise(Supervision& channel, F&& body, const SuperviseOptions& options = {}) {
  auto core = detail::make_supervised(channel, std::forward<F>(body), options);
  detail::keep_task(*core, go(detail::SupervisedStart(core, options.task.site), options.task));
  return SupervisedTask(std::move(core));
}

}  // namespace weft::inline v0
