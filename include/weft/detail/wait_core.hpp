// SPDX-License-Identifier: MIT
// What: the one way to block. A waitable is three functions; wait_on() owns the park protocol around them.
//
//   struct Recv {
//     WaitInfo info() const;                    what a dump says it waits for
//     bool try_complete();                      done at once? The task is RUNNING, nothing is published
//     Published publish(TaskCore&);             under the object's lock: look again; if there is still nothing,
//     begin_park()
//                                               and link. `done` leaves the task RUNNING
//     void unpublish();                         after any wake: what is still linked goes out, a consumed wake is
//     passed on
//   };
//
// Invariants
//   [WAIT-3] Nothing is published when try_complete() runs, nor when wait_on() returns or throws.
//   [WAIT-4] Done xor not: an operation that was claimed is done, even if a cancel or a deadline came at the same time;
//            one that ends by cancel or deadline has moved nothing [N-022].
//   [WAIT-5] A fiber above that catches wait or await gets a WaitRequest first, once per wait, with nothing published;
//            to resume it performs the wait, to resume it with an error raises that.
// Threads: any; a plain thread has a task, too, and sleeps on a futex.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>

#include "weft/detail/jump_back.hpp"
#include "weft/detail/task_core.hpp"
#include "weft/detail/wait_list.hpp"

namespace weft::inline v0 {

// How a wait ended, from the forms that never throw.
enum class [[nodiscard]] WaitResult : std::uint8_t { done, timed_out, cancelled };
const char* to_string(WaitResult result);

}  // namespace weft::inline v0

namespace weft::inline v0::detail {

using WaitNode = WaitNodeOf<TaskCore>;
using WaitList = WaitListOf<TaskCore>;
using Claimed = ClaimedOf<TaskCore>;

// What a request to stop does to a wait.
enum class Raise : std::uint8_t {
  no,       // nothing: the wait goes on
  yes,      // Cancelled is thrown, unless the stack unwinds; interrupts are raised, too
  quietly,  // the wait ends, nothing is thrown
};

// How a wait ended.
using WaitEnd = WaitResult;

template <class W>
concept Waitable = requires(W& w, TaskCore& task) {
  { w.info() } -> std::same_as<WaitInfo>;
  { w.try_complete() } -> std::same_as<bool>;
  { w.publish(task) } -> std::same_as<Published>;
  { w.unpublish() } -> std::same_as<void>;
};

// --- src/wait/wait.cpp
struct WaitRound {
  TaskCore* task = nullptr;
  std::int64_t deadline = seam::no_deadline;
  Raise raise = Raise::yes;
  bool offered = false;
};
// False: the deadline has passed (`timed_out`) or, quietly, the task is asked to stop; nothing was begun.
bool begin_round(WaitRound& round, const WaitInfo& info, WaitEnd& end);
WakeReason park_round(WaitRound& round);
// Woken, but not by a claim of the object: throws, or says how the wait ended, or that it goes on (true).
bool go_on(WaitRound& round, WakeReason reason, WaitEnd& end);
// Of a wait that begin_round has begun and that published nothing.
void end_round(WaitRound& round);

// time_point::max() is "never".
inline std::int64_t deadline_at(std::chrono::steady_clock::time_point when) {
  if (when == std::chrono::steady_clock::time_point::max()) return seam::no_deadline;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count();
}

// Null on a plain thread that has never waited.
const TaskCore* running_task();

// Values that were sent, received by nobody, and go with their channel.
void count_undelivered(std::uint64_t values) noexcept;

// A suspension point in the course of operations that did not have to wait.
void take_turn();

// The claimed task runs on. After the object's unlock.
void deliver_wake(TaskCore* task);
inline void deliver_all(Claimed& claimed) {
  if (!claimed.empty()) claimed.deliver([](TaskCore* task) { deliver_wake(task); });
}

// A wait of a task that has waited before, with nothing pending for it, no deadline around it and nobody above who
// catches waits: begun and left by the shortest way. Everything else goes by rounds.
struct PlainWait {
  FiberCore* self = nullptr;
  TaskCore* task = nullptr;  // null: it is not plain
};
[[gnu::always_inline]] inline PlainWait plain_wait(FiberCore* self, const FiberCore* root) {
  TaskCore* task = root->task;
  // relaxed: an alert is raised where it matters. Who is asked to stop finds out once it is PARKING.
  if (task == nullptr || root->alert.load(std::memory_order_relaxed) != 0 ||
      (self->above() & (above_wait | above_bound)) || !(task->flags & task_registered) ||
      task->scope->deadline_within != seam::no_deadline) [[unlikely]]
    return {};
  return {self, task};
}
[[gnu::always_inline]] inline PlainWait plain_wait() {
  FiberCore* self = current_core();
  return plain_wait(self, self->root);
}
// Parks; the word is PARKING.
WakeReason park_plain(TaskCore& task, FiberCore* self, Raise raise);
// The same with a deadline, which is the task's already. It must lie ahead as far as the worker knows, whose clock is
// read once in a while: a deadline that has passed since then ends the wait at the worker's next look.
bool lies_ahead(const FiberCore& self, std::int64_t deadline);
WakeReason park_plain_until(TaskCore& task, FiberCore* self, Raise raise, std::int64_t deadline);
// One side of an object whose waiters stand in a list.
struct ParkSide {
  const char* kind;
  // What is still linked goes out.
  void (*withdraw)(void* object, WaitNode& node);
  // The wait did not end with data, and nothing is published any more. `none`: it was no plain one, and has not begun.
  void (*otherwise)(void* object, void* slot, WakeReason reason);
};
// The same from the start, of who waits in `list` for what goes through `slot`. The object's lock is held, and let go
// here. Raises what there is to raise. A function to end with: behind it nothing is left to do.
[[gnu::noinline]] WEFT_JUMPS_BACK void park_locked(WaitList& list, seam::SpinLock& lock, void* slot,
                                                   const ParkSide& side, void* object, const TaskCore* last_seen);

template <Waitable W>
[[gnu::noinline]] WaitEnd park_by_rounds(W& waitable, WaitRound round) {
  WaitEnd end = WaitEnd::done;
  for (;;) {
    const WaitInfo info = waitable.info();
    if (!begin_round(round, info, end)) return end;
    if (waitable.publish(*round.task) == Published::done) {
      end_round(round);
      return WaitEnd::done;
    }
    const WakeReason reason = park_round(round);
    waitable.unpublish();
    if (reason == WakeReason::data || reason == WakeReason::closed) return WaitEnd::done;
    if (!go_on(round, reason, end)) return end;
    if (waitable.try_complete()) return WaitEnd::done;
  }
}

// For who has just looked: the next look is publish()'s. `offered`: who catches waits has been asked already [WAIT-5].
template <Waitable W>
[[gnu::always_inline]] inline WaitEnd park_on(W& waitable, std::int64_t deadline, Raise raise, bool offered = false) {
  if (raise != Raise::no) [[likely]] {
    const PlainWait plain = plain_wait();
    if (plain.task != nullptr && (deadline == seam::no_deadline || lies_ahead(*plain.self, deadline))) [[likely]] {
      const WaitInfo info = waitable.info();
      plain.task->wait = &info;
      // relaxed: before the ticket
      plain.task->deadline.store(deadline, std::memory_order_relaxed);
      if (waitable.publish(*plain.task) == Published::done) {
        plain.task->wait = nullptr;
        return WaitEnd::done;
      }
      const WakeReason reason = deadline == seam::no_deadline
                                    ? park_plain(*plain.task, plain.self, raise)
                                    : park_plain_until(*plain.task, plain.self, raise, deadline);
      waitable.unpublish();
      if (reason == WakeReason::data || reason == WakeReason::closed) [[likely]]
        return WaitEnd::done;
      WaitRound round{plain.task, deadline, raise, true};
      WaitEnd end = WaitEnd::done;
      if (!go_on(round, reason, end)) return end;
      if (waitable.try_complete()) return WaitEnd::done;
      offered = true;
    }
  }
  return park_by_rounds(waitable, WaitRound{nullptr, deadline, raise, offered});
}

template <Waitable W>
WaitEnd wait_on(W& waitable, std::int64_t deadline, Raise raise, bool offered = false) {
  if (waitable.try_complete()) return WaitEnd::done;
  return park_on(waitable, deadline, raise, offered);
}

}  // namespace weft::inline v0::detail
