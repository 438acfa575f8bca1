// SPDX-License-Identifier: MIT
// What: the time in which the cleanup of a defer or with runs. It is shielded, as a stack that unwinds is: what is
// asked from outside (cancellation, deadlines, interrupts) waits until it is over. Scopes and catchers inside work as
// ever.
//
// For cancellation it is a scope of the running task, which the scheduler's floor opens (there is none without a task);
// for interrupts, which need no task, it is what a walk over the chain finds.
//
// Invariants
//   [CLN-1] A fiber's list holds those whose frames its stack has, innermost first. The innermost is in force for the
//           task or thread that began it, and not for one that runs in its place.
//   [CLN-2] A fiber that is suspended in a cleanup shields nobody: its scopes are put aside before the switch, and
//           taken up again in whichever task resumes it (above_aside makes that resume the slow one).
// Threads: who runs the fiber [FIB-4]. Rejected: a count that is_unwinding() reads: a timeout or a nursery inside a
// cleanup would not work, since nothing at all is raised while a stack unwinds, and its children would be born
// cancelled.
#pragma once

#include <cstddef>

#include "weft/detail/fiber_core.hpp"

namespace weft::inline v0::detail {

class Cleanup {
 public:
  static constexpr std::size_t room = 128;  // for a scope, which is the scheduler's

  Cleanup();
  ~Cleanup();
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;

  // What runs on this root now. [CLN-1]
  bool shields(const FiberCore& root) const { return owner_ == who_runs_on(root); }

 private:
  friend void put_cleanups_aside(FiberCore* fiber);
  friend void take_up_cleanups(FiberCore* fiber);
  static const TaskCore* who_runs_on(const FiberCore& root) { return root.base != nullptr ? root.task : nullptr; }
  void open();
  void close();

  FiberCore* fiber_;
  Cleanup* outer_;                   // of the same fiber
  const TaskCore* owner_ = nullptr;  // null: a plain thread
  bool has_scope_ = false;
  alignas(std::max_align_t) std::byte scope_[room];  // a ScopeCore
};

// Of a fiber that is about to be suspended, and of one that is resumed. [CLN-2]
void put_cleanups_aside(FiberCore* fiber);
void take_up_cleanups(FiberCore* fiber);

}  // namespace weft::inline v0::detail
