// SPDX-License-Identifier: MIT
// What: a task with a word and nothing else, and wait_on() as src/wait has it, for scenarios of what tasks wait for.
#pragma once

#include <cstdint>

#include "explorer/world.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {

// Rules name the word, its reasons and what publishing led to: the real ones, or those of a mutant's namespace.
template <class Rules>
struct Waiter {
  using Word = typename Rules::Word;
  using Reason = typename Rules::Reason;
  using Outcome = typename Rules::Outcome;

  Waiter() { word.make_fresh(), (void)word.run_on(1); }

  // As its word says: queued once, by the right one.
  void enqueue() {
    check(word.look().left(), "queued before its stack was left");
    word.make_runnable();
    check(queued.exchange(1, std::memory_order_release) == 0, "queued twice");
    seam::futex_wake(queued, 1);
  }

  Reason park() {
    seam::fence(std::memory_order_seq_cst);
    if (asked.load(std::memory_order_relaxed) != 0 && word.claim_own(Reason::cancel) == Word::Claimed::yes)
      return word.stay();
    if (word.delivered()) return word.stay();
    if (word.leave() == Word::Queue::you) enqueue();  // by the successor, once the stack is left
    while (queued.exchange(0, std::memory_order_acquire) == 0) seam::futex_wait(queued, 0, seam::no_deadline);
    return word.run_on(2);
  }

  // By anybody: asks it to stop.
  void cancel() {
    asked.store(1, std::memory_order_relaxed);
    seam::fence(std::memory_order_seq_cst);
    const auto now = word.look();
    if (word.wake(now.ticket(), Reason::cancel) == Word::Wake::queue_it) enqueue();
  }

  // True: done; false: asked to stop. `w` is gone when it returns, as in the real code.
  template <class W>
  bool wait(W& w) {
    if (w.try_complete()) return true;
    for (;;) {
      if (asked.load(std::memory_order_relaxed) != 0) return false;
      if (w.publish(*this) == Outcome::done) return true;
      const Reason reason = park();
      w.unpublish();
      if (reason == Reason::data || reason == Reason::closed) return true;
      if (asked.load(std::memory_order_relaxed) != 0) return false;
      if (w.try_complete()) return true;
    }
  }

  Word word;
  seam::Atomic<std::uint32_t> queued{0};
  seam::Atomic<std::uint32_t> asked{0};
};

template <class Rules>
void deliver_wake(Waiter<Rules>* task) {
  if (task->word.deliver() == Rules::Word::Queue::you) task->enqueue();
}

}  // namespace weft::inline v0::verify
