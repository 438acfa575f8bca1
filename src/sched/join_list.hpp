// SPDX-License-Identifier: MIT
// What: the list of those who wait for the end of something, and how the two sides do not miss each other. Nodes lie on
// the waiters' stacks; a Waiter has `next`, `linked`, `ticket` and `task`, whose word parks.
//
//   waiter                                                  who ends
//   announce(): link under the lock, fence                  its state says "over"
//   over? no: publish(): still linked? PARKING : over       anybody(): fence, look at the list
//   park                                                    wake_all()
//   withdraw()
//
// Invariants
//   [JOIN-1] The waiter links itself, runs a heavy fence, then looks whether it is over; who ends says so, runs a light
//            fence, then looks at the list. One of the two sees the other.
//   [JOIN-4] It is RUNNING until then: the heavy fence is a call of the system, and there is none between PARKING and
//            LEFT. Who ends meanwhile takes its node out, which it finds under the lock before it parks.
//   [JOIN-2] Nodes are claimed under the lock, delivered after it. A waiter that comes back for another reason unlinks
//            its node under the lock, so no node is looked at after its frame has gone.
//   [JOIN-3] Of a claimed node everything is read before deliver(): from then on its waiter may run.
// Threads: any; the lists of several objects may share a lock.
// Rejected: PARKING and the link in one step, then the fence (a membarrier by a task that is PARKING) [HB18].
// Relaxed: the head is written under the lock; the ender's look at it comes after its fence [JOIN-1].
#pragma once

#include <mutex>

#include "weft/detail/seam.hpp"
#include "weft/detail/task_word.hpp"

namespace weft::inline v0::detail {

struct JoinList {
  // From here on who ends finds it.
  template <class Waiter, class Lock>
  static void announce(seam::Atomic<Waiter*>& head, Waiter& waiter, Lock& lock) {
    {
      const std::lock_guard guard(lock);
      link(head, waiter);
    }
    seam::heavy_fence();  // [JOIN-1]
  }
  // After a look that it is not over yet. False: it is by now, and nothing waits [JOIN-4].
  template <class Waiter, class Lock>
  [[nodiscard]] static bool publish(Waiter& waiter, Lock& lock) {
    const std::lock_guard guard(lock);
    if (!waiter.linked) return false;
    // [LP waiter published, W-110] PARKING and the ticket under the lock of the list; unlocking releases both to
    // whoever locks it next
    waiter.ticket = waiter.task->word.begin_park();
    return true;
  }

  // Before the node's frame goes, whatever ended the wait. Once more does nothing.
  template <class Waiter, class Lock>
  static void withdraw(seam::Atomic<Waiter*>& head, Waiter& waiter, Lock& lock) {
    const std::lock_guard guard(lock);
    unlink(head, waiter);
  }

  // The two halves, under the lock, for who holds other locks, too.
  template <class Waiter>
  static void link(seam::Atomic<Waiter*>& head, Waiter& waiter) {
    waiter.next = head.load(std::memory_order_relaxed);
    waiter.linked = true;
    head.store(&waiter, std::memory_order_relaxed);
  }
  template <class Waiter>
  static void unlink(seam::Atomic<Waiter*>& head, Waiter& waiter) {
    if (!waiter.linked) return;
    waiter.linked = false;
    Waiter* at = head.load(std::memory_order_relaxed);
    if (at == &waiter) return head.store(waiter.next, std::memory_order_relaxed);
    while (at->next != &waiter) at = at->next;
    at->next = waiter.next;
  }

  // By who ends, after its end can be seen.
  template <class Waiter>
  static bool anybody(const seam::Atomic<Waiter*>& head) {
    seam::light_fence();  // [JOIN-1]
    return head.load(std::memory_order_relaxed) != nullptr;
  }

  // Ends all waits; queue(task) for those whose stacks have been left.
  template <class Waiter, class Lock, class F>
  static void wake_all(seam::Atomic<Waiter*>& head, Lock& lock, F&& queue) {
    Waiter* claimed = nullptr;
    {
      const std::lock_guard guard(lock);
      Waiter* next = head.load(std::memory_order_relaxed);
      head.store(nullptr, std::memory_order_relaxed);
      while (next != nullptr) {
        Waiter* waiter = next;
        next = waiter->next;
        waiter->linked = false;
        if (waiter->task->word.claim(waiter->ticket, WakeReason::data) != TaskWord::Claimed::yes) continue;
        waiter->next = claimed;
        claimed = waiter;
      }
    }
    while (claimed != nullptr) {
      auto* task = claimed->task;
      const auto ticket = claimed->ticket;
      claimed = claimed->next;  // [JOIN-3]
      if (task->word.deliver(ticket) == TaskWord::Queue::you) queue(task);
    }
  }
};

}  // namespace weft::inline v0::detail
