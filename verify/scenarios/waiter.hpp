// SPDX-License-Identifier: MIT
// What: a small task with wait_on() as src/wait has it, for scenarios of what tasks wait for.
#pragma once

#include "scenarios/wait_task.hpp"

namespace weft::inline v0::verify {

// Rules name the word, its reasons and what publishing led to: the real ones, or those of a mutant's namespace.
template <class Rules>
struct Waiter : WaitTask<Rules> {
  using Reason = typename Rules::Reason;
  using Outcome = typename Rules::Outcome;

  // True: done; false: asked to stop, or its time is up. `w` is gone when it returns, as in the real code.
  template <class W>
  bool wait(W& w) {
    if (w.try_complete()) return true;
    for (;;) {
      if (this->asked()) return false;
      if (w.publish(*this) == Outcome::done) return true;
      const Reason reason = this->park();
      w.unpublish();
      if (reason == Reason::data || reason == Reason::closed) return true;
      if (this->asked() || reason == Reason::timeout) return false;
      if (w.try_complete()) return true;
    }
  }
};

template <class Rules>
void deliver_wake(Waiter<Rules>* task) {
  task->deliver();
}

}  // namespace weft::inline v0::verify
