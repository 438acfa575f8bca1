// SPDX-License-Identifier: MIT
// What: the list of a condition variable. A waiter enlists while it holds the mutex, unlocks it, and parks only then;
// who notifies it in between marks it.
//
//   waiter                                              who notifies
//   enlist (announced); mutex.unlock()                  oldest: announced: marked and out
//   park unless marked (parking)                                parking:   claimed and out; a lost claim: the next
//   mutex.lock(), shielded
//
// Invariants
//   [CND-1] A node is in the list while it is announced or parking; its state is changed under the lock.
//   [CND-2] Who notifies all takes out everybody who was in the list at that moment, and nobody else [B12].
//   [CND-3] A waiter that leaves by cancel or deadline has not been notified; one that was marked and leaves all the
//           same (its request to stop is raised before it looks) passes a notify_one on [B13].
//   [CND-4] A wake for nothing does not cost the place: the node stays where it is, or goes back to the head if a
//           notifier has just passed over it.
// Threads: any.
// Relaxed: whether there is anybody at all is written under the lock. Who notifies has changed the condition under the
// mutex, behind everybody who enlisted before.
#pragma once

#include <cstdint>
#include <mutex>

#include "weft/detail/seam.hpp"
#include "weft/detail/wait_spot.hpp"

namespace weft::inline v0::detail {

template <class Task>
class CondCoreOf {
 public:
  using Node = WaitNodeOf<Task>;
  enum State : std::uint32_t { announced, parking, notified_one, notified_all };

  void enlist(WaitSpotOf<Task>& spot) {
    const std::lock_guard guard(lock_);
    spot.node.number = announced;
    list_.push(spot.node);
    anybody_.store(true, std::memory_order_relaxed);
  }

  void notify_one() {
    if (!anybody_.load(std::memory_order_relaxed)) return;
    Node* woken = nullptr;
    {
      const std::lock_guard guard(lock_);
      woken = notify_oldest(notified_one);
      anybody_.store(!list_.empty(), std::memory_order_relaxed);
      if (woken != nullptr && woken->ticket == Ticket{}) woken = nullptr;  // was only announced: nobody to deliver
    }
    if (woken != nullptr) deliver_wake(woken->task);
  }
  void notify_all() {
    if (!anybody_.load(std::memory_order_relaxed)) return;
    ClaimedOf<Task> claimed;
    {
      const std::lock_guard guard(lock_);
      while (Node* node = notify_oldest(notified_all))
        if (node->ticket != Ticket{}) claimed.add(node);
      anybody_.store(false, std::memory_order_relaxed);
    }
    claimed.deliver([](Task* task) { deliver_wake(task); });
  }

  bool is_notified(const WaitSpotOf<Task>& spot) {
    const std::lock_guard guard(lock_);
    return spot.node.number >= notified_one;
  }
  Published publish(Task& me, WaitSpotOf<Task>& spot) {
    const std::lock_guard guard(lock_);
    if (spot.node.number >= notified_one) return Published::done;
    spot.node.number = parking;
    spot.node.task = &me;
    spot.node.ticket = me.word.begin_park();
    return Published::parking;
  }
  // Woken, but not by us: announced again [CND-4].
  void stay(WaitSpotOf<Task>& spot) {
    const std::lock_guard guard(lock_);
    if (spot.node.number >= notified_one) return;
    spot.node.number = announced;
    spot.node.ticket = {};
    if (!spot.node.linked) list_.push_front(spot.node);
    anybody_.store(true, std::memory_order_relaxed);
  }
  // Goes away; `done`: it knows that it was notified [CND-3].
  void leave(WaitSpotOf<Task>& spot, bool done) {
    bool pass_on = false;
    {
      const std::lock_guard guard(lock_);
      list_.remove(spot.node);
      anybody_.store(!list_.empty(), std::memory_order_relaxed);
      pass_on = !done && spot.node.number == notified_one;
    }
    if (pass_on) notify_one();
  }

 private:
  // Out of the list, in this state; its ticket is empty if it was not parking. Null: nobody is left.
  Node* notify_oldest(State state) {
    while (Node* node = list_.first()) {
      if (node->number == announced) {
        list_.remove(*node);
      } else if (list_.claim(*node, WakeReason::data) == nullptr) {
        continue;
      }
      node->number = state;
      return node;
    }
    return nullptr;
  }

  seam::Atomic<bool> anybody_{false};
  WaitListOf<Task> list_;  // guarded by lock_
  seam::SpinLock lock_;
};

// From the enlisting, under the user's mutex, to the end of the wait. Then the mutex is locked again.
template <class Task>
class CondWaitOf {
 public:
  explicit CondWaitOf(CondCoreOf<Task>& cond) : cond_(cond) { cond_.enlist(spot_); }
  ~CondWaitOf() {
    if (!spot_.claimed()) cond_.leave(spot_, done_);
  }
  CondWaitOf(const CondWaitOf&) = delete;
  CondWaitOf& operator=(const CondWaitOf&) = delete;

  bool try_complete() { return done_ = cond_.is_notified(spot_); }
  Published publish(Task& me) {
    const Published outcome = cond_.publish(me, spot_);
    done_ = outcome == Published::done;
    return outcome;
  }
  void unpublish() {
    if (!spot_.claimed()) cond_.stay(spot_);
  }

 private:
  CondCoreOf<Task>& cond_;
  WaitSpotOf<Task> spot_;
  bool done_ = false;
};

struct CondRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Outcome = Published;
  template <class Task>
  using Core = CondCoreOf<Task>;
  template <class Task>
  using Wait = CondWaitOf<Task>;
};

}  // namespace weft::inline v0::detail
