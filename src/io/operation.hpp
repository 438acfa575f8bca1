// SPDX-License-Identifier: MIT
// What: one request that the kernel holds, and its task's wait for the final completion.
//
// Invariants
//   [OPER-1] It lies on its task's stack until it is done: the task does not come back before, whoever asks it to.
//   [OPER-2] `done` and the wait are guarded by the entry's lock. The completion is written, and the wait claimed,
//            under it; after the unlock, or after deliver() if the wait was claimed, the operation is not touched.
//   [OPER-3] A close or an interrupt ends the wait of who has not asked for the end yet, not the operation.
// Threads: the task; complete() by who reaps.
// Relaxed: an interrupt is looked at again where it is raised.
#pragma once

#include <cstdint>
#include <mutex>

#include "io/fd_entry.hpp"

namespace weft::inline v0::detail {

template <class Task>
struct OperationOf {
  static constexpr std::uint32_t closing_number = std::uint32_t{1} << 31;  // of its node: only a close claims it

  explicit OperationOf(FdEntryOf<Task>& at) { entry.store(&at, std::memory_order_release); }
  OperationOf(const OperationOf&) = delete;
  OperationOf& operator=(const OperationOf&) = delete;

  seam::Atomic<FdEntryOf<Task>*> entry{nullptr};  // release before it is submitted, acquire by who completes it
  std::uint64_t mark = 0;
  // Guarded by the entry's lock.
  WaitSpotOf<Task> spot;
  bool done = false;
  int result = 0;

  // The final completion. Returns whose wait it has ended, to be delivered; or null.
  [[nodiscard]] Task* complete(int what) {
    FdEntryOf<Task>& at = *entry.load(std::memory_order_acquire);
    const std::lock_guard guard(at.lock);
    result = what;
    done = true;  // [LP operation done] under the entry's lock
    if (!spot.node.linked) return nullptr;
    WaitNodeOf<Task>* node = at.waiters.claim(spot.node, WakeReason::data);
    return node != nullptr ? node->task : nullptr;
  }
  bool is_done() {
    const std::lock_guard guard(entry.load(std::memory_order_relaxed)->lock);
    return done;
  }
};

// Done, or, while nobody has asked for its end, a reason to: the descriptor closes, or leave_it() says so.
template <class Task>
class OperationWaitOf {
 public:
  OperationWaitOf(OperationOf<Task>& operation, bool owned, bool asked)
      : operation_(operation), entry_(*operation.entry.load(std::memory_order_relaxed)), owned_(owned), asked_(asked) {}
  bool try_complete() {
    const std::lock_guard guard(entry_.lock);
    return is_over();
  }
  Published publish(Task& me) {
    const std::lock_guard guard(entry_.lock);
    if (is_over()) return Published::done;
    operation_.spot.node.number = OperationOf<Task>::closing_number;
    operation_.spot.park_in(entry_.waiters, me);
    return Published::parking;
  }
  void unpublish() {
    if (operation_.spot.claimed()) return;
    const std::lock_guard guard(entry_.lock);
    entry_.waiters.remove(operation_.spot.node);
  }

 protected:
  OperationOf<Task>& operation_;
  FdEntryOf<Task>& entry_;

 private:
  bool is_over() const { return operation_.done || (!asked_ && owned_ && entry_.closing()); }
  const bool owned_;
  const bool asked_;
};

struct OperationRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Outcome = Published;
  template <class Task>
  using Entry = FdEntryOf<Task>;
  template <class Task>
  using Operation = OperationOf<Task>;
  template <class Task>
  using Wait = OperationWaitOf<Task>;
  template <class Task>
  using Claimed = ClaimedOf<Task>;
};

}  // namespace weft::inline v0::detail
