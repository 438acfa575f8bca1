// SPDX-License-Identifier: MIT
// What: one of those who come does it; the others wait until it is done. If it fails, the next tries.
//
//   idle --first to come--> busy --done--> over
//     ^                      | ^
//     +--failed, none waits--+ +--failed: the oldest waiter's turn, without being idle in between
//
// Invariants
//   [ONC-1] The state changes under the lock; `over` for ever. At most one has the turn.
//   [ONC-2] A turn is given by a claim, so whoever gets it is there to take it; a lost claim means the next [B13].
//   [ONC-3] Who is done claims all under the lock, and delivers after it.
// Threads: any.
// Relaxed: the holder is information.
#pragma once

#include <cstdint>
#include <mutex>

#include "weft/detail/seam.hpp"
#include "weft/detail/wait_spot.hpp"

namespace weft::inline v0::detail {

template <class Task>
class OnceCoreOf {
 public:
  // acquire: what the one who did it wrote
  [[gnu::always_inline]] bool is_over() const { return state_.load(std::memory_order_acquire) == over; }

  enum class Turn : std::uint8_t { yours, over, wait };
  Turn try_begin(const Task* me) {
    if (is_over()) return Turn::over;
    const std::lock_guard guard(lock_);
    return begin(me);
  }
  Turn publish(Task& me, WaitSpotOf<Task>& spot) {
    const std::lock_guard guard(lock_);
    const Turn turn = begin(&me);
    if (turn == Turn::wait) {
      spot.node.number = 0;
      spot.park_in(list_, me);
    }
    return turn;
  }
  // By who has the turn.
  void finish(bool done) {
    ClaimedOf<Task> claimed;
    {
      const std::lock_guard guard(lock_);
      if (done) {
        // [LP once done] release: what the one who did it wrote
        state_.store(over, std::memory_order_release);
        while (auto* node = list_.claim_first(WakeReason::data)) claimed.add(node);
      } else if (auto* next = list_.claim_first(WakeReason::data)) {
        next->number = your_turn;
        holder_ = next->task;
        claimed.add(next);
      } else {
        state_.store(idle, std::memory_order_relaxed);
      }
    }
    claimed.deliver([](Task* task) { deliver_wake(task); });
  }
  void leave(WaitSpotOf<Task>& spot) {
    const std::lock_guard guard(lock_);
    list_.remove(spot.node);
  }
  static bool has_turn(const WaitSpotOf<Task>& spot) { return spot.node.number == your_turn; }
  const void* holder_at() const { return &holder_; }  // for WaitInfo

 private:
  enum State : std::uint32_t { idle, busy, over };
  static constexpr std::uint32_t your_turn = 1;

  Turn begin(const Task* me) {
    switch (state_.load(std::memory_order_acquire)) {
      case over:
        return Turn::over;
      case busy:
        return Turn::wait;
      default:
        state_.store(busy, std::memory_order_relaxed);
        holder_ = me;
        return Turn::yours;
    }
  }

  seam::Atomic<std::uint32_t> state_{idle};  // written under lock_
  seam::Guessed<const Task*> holder_ = nullptr;
  WaitListOf<Task> list_;  // guarded by lock_
  seam::SpinLock lock_;
};

// Waits for its turn, or for the end.
template <class Task>
class OnceWaitOf {
 public:
  OnceWaitOf(OnceCoreOf<Task>& once, const Task* me) : once_(once), me_(me) {}
  bool try_complete() { return settle(once_.try_begin(me_)); }
  Published publish(Task& me) {
    me_ = &me;
    return settle(once_.publish(me, spot_)) ? Published::done : Published::parking;
  }
  void unpublish() {
    if (!spot_.claimed()) return once_.leave(spot_);
    has_turn_ = OnceCoreOf<Task>::has_turn(spot_);
  }
  bool has_turn() const { return has_turn_; }

 private:
  using Turn = typename OnceCoreOf<Task>::Turn;
  bool settle(Turn turn) {
    has_turn_ = turn == Turn::yours;
    return turn != Turn::wait;
  }

  OnceCoreOf<Task>& once_;
  const Task* me_;
  WaitSpotOf<Task> spot_;
  bool has_turn_ = false;
};

struct OnceRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Outcome = Published;
  template <class Task>
  using Core = OnceCoreOf<Task>;
  template <class Task>
  using Wait = OnceWaitOf<Task>;
};

}  // namespace weft::inline v0::detail
