// SPDX-License-Identifier: MIT
// What: the latch of unpark(), one bit per task: an unpark ends its task's park_if, or the next one, at once.
//
//   owner, in park_if                          whoever unparks
//   PARKING; fence; is the latch set?          set the latch; fence; does it wait? end that wait
//     yes: call the wait off; no: park
//   at the end, whatever that was: clear
//
// Invariants
//   [UNP-1] Who unparks sets the latch, runs a full fence, then looks at the task; the owner stores PARKING, runs
//           a full fence, then looks at the latch. One of the two sees the other: an unpark before the wait is not
//           lost, nor one that comes while its task waits for something else.
//   [UNP-2] Each park_if clears it at its end: however often it was set, it ends one wait. In a race the look of
//           who set it may find the next wait, and end that for nothing, too.
// Threads: set, clear: the task itself. unpark: any; for a task that has ended it may set the latch of who has the
// record by then, whose next park_if ends for nothing once, as it may.
#pragma once

#include <cstdint>

#include "weft/detail/seam.hpp"
#include "weft/detail/task_word.hpp"

namespace weft::inline v0::detail {

struct UnparkLatch {
  static constexpr std::uint32_t bit = 16;  // of TaskCore::life

  static bool set(const seam::Atomic<std::uint32_t>& life) { return life.load(std::memory_order_acquire) & bit; }
  // relaxed: a first look, so that a wait without an unpark costs no more
  static bool clear(seam::Atomic<std::uint32_t>& life) {
    return (life.load(std::memory_order_relaxed) & bit) && (life.fetch_and(~bit, std::memory_order_acquire) & bit);
  }
  // wake(ticket) ends that wait of the task.
  template <class Task, class F>
  static void unpark(Task& task, F&& wake) {
    // [LP unparked, V-040] release: what was written before it is seen by whose wait it ends
    task.life.fetch_or(bit, std::memory_order_release);
    seam::fence(std::memory_order_seq_cst);  // [UNP-1]
    const auto now = task.word.look();
    if (now.state() == TaskState::parking) wake(now.ticket());
  }
};

struct UnparkRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Latch = UnparkLatch;
};

}  // namespace weft::inline v0::detail
