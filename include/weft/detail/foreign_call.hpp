// SPDX-License-Identifier: MIT
// What: a call into another library that ends by a callback, as the task that waits for it and the callback share it.
//
// Invariants
//   [CALL-1] The task leaves when the callback has come, not before: a cancel only asks.
//   [CALL-2] While ask() runs the call is not over, unless its own thread ends it: what asking uses is there.
// Threads: complete() any, once; wait() the task; ask() any.
#pragma once

#include <mutex>
#include <utility>

#include "weft/sync_event.hpp"

namespace weft::inline v0::detail {

class ForeignCall {
 public:
  void complete() noexcept;

  // Calls ask(), unless it is over.
  template <class F>
  void ask(F&& ask_it) {
    const std::lock_guard guard(mutex_);
    if (!over_) std::forward<F>(ask_it)();
  }

  // on_stop() is called if the task is asked to stop before the end. True: it was. What on_stop() throws is not told:
  // the end is waited for all the same [CALL-1].
  template <class F>
  bool wait(F&& on_stop) {
    if (ended_before_stop()) return false;
    try {
      std::forward<F>(on_stop)();
    } catch (...) {  // NOLINT(bugprone-empty-catch): it could not be asked
    }
    wait_shielded();
    return true;
  }

 private:
  bool ended_before_stop();
  void wait_shielded();

  std::recursive_mutex mutex_;  // asking may end it on the spot
  bool over_ = false;           // guarded by mutex_
  SyncEvent done_;
};

// Throws Cancelled if the task is asked to stop.
void raise_if_stopping();

}  // namespace weft::inline v0::detail
