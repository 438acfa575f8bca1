// SPDX-License-Identifier: MIT
// What: a permit to go on, one word per task: how ready() and suspend_raw() of Io meet. A token names the task and the
// number of its permit, and is a plain value: it may be kept for ever by anybody.
//
//   owner                                                whoever brings what it waits for
//   number = open(word)                                  give(task, number):
//   hand the token out                                     number -> number|1, or nothing if it is another by now
//   PARKING; fence; is_open(word, number)?                 fence; is the task PARKING? end that wait
//     no: call the wait off; yes: park
//   close(word)
//
// Invariants
//   [PERMIT-1] The giver marks the word, runs a full fence, then looks at the task; the owner stores PARKING, runs a
//              full fence, then looks at the word. One of the two sees the other: a permit that was given before the
//              wait began is not lost, and two count as one.
//   [PERMIT-2] open() and close() change the number. So a token is good for one wait: afterwards giving does nothing,
//              whoever the record belongs to by then [TASK-1].
// Threads: open, is_open, close: the task itself. give: any.
// Relaxed: numbers are changed by the owner alone, and the mark of an old number means nothing.
// Rejected: the permit in the waiter's frame (a giver may come when the frame has gone, so everybody would have to be
// deregistered before the waiter leaves); one bit without a number (a permit from an earlier wait ends the next).
#pragma once

#include <cstdint>

#include "weft/detail/seam.hpp"
#include "weft/detail/task_word.hpp"

namespace weft::inline v0::detail {

struct TaskPermit {
  using Word = seam::Atomic<std::uint32_t>;

  static std::uint32_t open(Word& word) {
    const std::uint32_t number = (word.load(std::memory_order_relaxed) & ~1U) + 2;
    word.store(number, std::memory_order_relaxed);
    return number;
  }
  static void close(Word& word) { (void)open(word); }
  // False: given, or a newer one has been opened. acquire: what was brought is seen.
  static bool is_open(const Word& word, std::uint32_t number) { return word.load(std::memory_order_acquire) == number; }
  // wake(ticket) ends that wait of the task. False: nothing happened.
  template <class Task, class F>
  static bool give(Task& task, std::uint32_t number, F&& wake) {
    std::uint32_t expected = number;
    // [LP permit given] release: pairs with is_open; relaxed on failure: nothing was given
    if (!task.permit.compare_exchange_strong(expected, number | 1, std::memory_order_release,
                                             std::memory_order_relaxed))
      return false;
    seam::fence(std::memory_order_seq_cst);  // [PERMIT-1]
    const auto now = task.word.look();
    if (now.state() == TaskState::parking) wake(now.ticket());
    return true;
  }
};

struct PermitRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Permit = TaskPermit;
};

}  // namespace weft::inline v0::detail
