// SPDX-License-Identifier: MIT
// What: Io, the one door to the outside: how a program starts tasks, waits, is woken, tells the time and reaches the
// kernel. The runtime is one (without a wrapper: Runtime converts to Io&), BlockingIo is one, a test can write its own;
// async, await, cancel and race (weft/future.hpp) are written once, over this.
//
//   weft::Io& io = weft::current_io();
//   weft::ParkToken park = io.current_park();                    // a permit for the caller's next wait
//   library.on_ready([&io, park] { io.ready(park); });           // from anywhere, before or after the wait begins
//   io.suspend_raw(park);
//
// The Io in force is carried by the context: with_io(io, f) sets it for f and all that f spawns; a fiber sees the door
// of whoever resumes it, unless it was set inside. Without one it is the runtime whose worker the caller is on, or, on
// a plain thread, a BlockingIo.
//
// Threads: ready, cancel_raw: any. current_park, suspend_raw, arm_timer: the task that they are about. The rest: any
// task or thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <utility>

#include "weft/detail/wait_core.hpp"
#include "weft/io_request.hpp"
#include "weft/scope.hpp"
#include "weft/sugar.hpp"

namespace weft::inline v0 {

struct TaskOptions;

// What spawn_raw started; given back by release_raw, once.
struct RawTask {
  void* handle = nullptr;
  explicit operator bool() const noexcept { return handle != nullptr; }
};

// A permit for one wait of one task. A value: whoever has a copy may keep it for ever; ready() does nothing once that
// wait is over.
struct ParkToken {
  void* task = nullptr;
  std::uint64_t number = 0;
  explicit operator bool() const noexcept { return task != nullptr; }
  friend bool operator==(const ParkToken&, const ParkToken&) = default;
};

struct TimerToken {
  void* timer = nullptr;
  std::uint64_t number = 0;
};

// What being asked to stop does to a wait.
enum class OnCancel : std::uint8_t {
  raise,   // Cancelled is thrown
  end,     // the wait ends, nothing is thrown: WaitResult::cancelled
  ignore,  // nothing: the wait goes on
};

// What a wait is, for dumps and deadlock reports, and how it may end.
struct ParkWish {
  const char* kind = "suspend";
  const void* object = nullptr;
  RawTask holder = {};  // whose end would end it
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  OnCancel on_cancel = OnCancel::raise;
};

// How the body of a raw task is called: always, once.
enum class RawStart : std::uint8_t {
  run,
  cancelled,  // asked to stop before it began: give back what `arg` holds
};
using RawEntry = void (*)(void* arg, RawStart start);

class Io {
 public:
  Io() = default;
  Io(const Io&) = delete;
  Io& operator=(const Io&) = delete;
  virtual ~Io() = default;

  // --- Tasks.
  // Starts a task that calls entry(arg, ...). It inherits the caller's dynamic bindings, this door among them. What
  // leaves entry as an exception is its failure. If there is no room for it, or the runtime has been shut down, this
  // throws, and entry has been called with `cancelled`; a null entry throws std::invalid_argument.
  virtual RawTask spawn_raw(RawEntry entry, void* arg, const TaskOptions& options) = 0;
  // Asks it to stop: its next suspension point raises Cancelled. Nothing if it has ended.
  virtual void cancel_raw(RawTask task, CancelReason reason) = 0;
  // The handle goes. With `wait`, first waits until the task has ended, shielded. `unobserved`: a failure of its work
  // that nobody has seen; it is printed with its trace and makes the run exit non-zero, as is one that left entry.
  virtual void release_raw(RawTask task, bool wait, const std::exception_ptr& unobserved) noexcept = 0;

  // --- Waiting.
  // A permit for the caller's next wait. An earlier one is void from now on.
  virtual ParkToken current_park() = 0;
  // Waits until ready(park); at once if that has come already. May return `done` for nothing: look again, and take a
  // new token. Throws std::logic_error if the token is not the caller's.
  virtual WaitResult suspend_raw(const ParkToken& park, const ParkWish& wish = {}) = 0;
  // Ends that wait, or the attempt to begin it. Twice counts as once.
  virtual void ready(const ParkToken& park) noexcept = 0;

  // --- Time.
  virtual std::chrono::steady_clock::time_point now() const = 0;
  // ready(park) at that time. Does not wait. Throws outside of a task.
  virtual TimerToken arm_timer(std::chrono::steady_clock::time_point when, const ParkToken& park) = 0;
  // True: it will not fire. False: it has fired, or was cancelled before.
  virtual bool cancel_timer(const TimerToken& timer) = 0;

  // --- The outside. For everybody else: perform_io (weft/io_request.hpp), which asks those who intercept first.
  // Performs it. Throws Cancelled, unless it is quiet; all else is in the answer.
  virtual IoResult submit(IoRequest& request) = 0;
  // Until the descriptor is ready for one of `events` (IoReady); answers which, or the error.
  virtual IoResult block_on(int fd, std::uint32_t events, std::chrono::steady_clock::time_point deadline);

  // --- Driving, from outside of its tasks.
  // Runs what is ready, on the calling thread; if that is nothing, waits for something until the deadline. Returns when
  // it wants to be called again at the latest: max() is "when something outside happens", the past "at once".
  virtual std::chrono::steady_clock::time_point poll(std::chrono::steady_clock::time_point deadline) = 0;

  // Whether what it spawns runs inside spawn_raw, so that a task waits for no other one.
  virtual bool runs_inline() const noexcept { return false; }
};

// The one in force here.
Io& current_io();

namespace detail {
extern const char io_door_key;
// The one that was set in this fiber or in one that resumed it; null: none.
Io* door_here();
}  // namespace detail

// Runs f with this door, for f and everything that it spawns. The io must outlive those.
template <class F>
auto with_io(Io& io, F&& f) {
  return with_dyns(std::forward<F>(f), DynBinding{&detail::io_door_key, Payload::ref(io)});
}

}  // namespace weft::inline v0
