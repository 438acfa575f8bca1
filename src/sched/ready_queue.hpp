// SPDX-License-Identifier: MIT
// What: the tasks of one worker that have started and may go on: a slot for the one woken last, and a FIFO.
//
//   wake ----> slot --(displaced)--> FIFO ----> owner
//   yield ---------------------------^   \----> a thief takes the older half, slot included, by the age rule
//
// Invariants
//   [RDY-1] Everything is plain data under an OwnerLock: the owner, who comes at each dispatch, pays no RMW.
//   [RDY-2] `size` is a hint for others; the owner's own look is exact.
// Threads: *_owner by the worker; steal by others.
// Rejected: a second Chase-Lev deque with the owner at its old end (one locked instruction per dispatch, 7 ns of 15).
// Relaxed: the size is written under the lock and is a hint to everybody else [RDY-2].
#pragma once

#include <cstddef>

#include "sched/owner_lock.hpp"
#include "weft/detail/chain.hpp"

namespace weft::inline v0::detail {

class ReadyQueue {
 public:
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }

  [[gnu::always_inline]] void push_slot(Entry entry) {
    lock_.lock_owner();
    if (slot_) fifo_.push_back(slot_);
    slot_ = entry;
    resize(+1);
    lock_.unlock_owner();
  }
  [[gnu::always_inline]] void push_back(Entry entry) {
    lock_.lock_owner();
    // [LP queued as ready] under the owner's lock, whose unlocking releases it
    fifo_.push_back(entry);
    resize(+1);
    lock_.unlock_owner();
  }
  // The slot's if it may go first, else the oldest, else the slot's.
  [[gnu::always_inline]] Entry pop(bool slot_first) {
    if (size() == 0) return {};
    lock_.lock_owner();
    Entry entry;
    if (slot_ && (slot_first || fifo_.empty())) {
      entry = slot_;
      slot_ = {};
    } else {
      entry = fifo_.pop_front();
    }
    if (entry) resize(-1);
    lock_.unlock_owner();
    return entry;
  }
  [[gnu::always_inline]] Entry pop_slot() {
    if (size() == 0) return {};
    lock_.lock_owner();
    const Entry entry = slot_;
    slot_ = {};
    if (entry) resize(-1);
    lock_.unlock_owner();
    return entry;
  }
  [[gnu::always_inline]] Entry pop_front() {
    if (size() == 0) return {};
    lock_.lock_owner();
    const Entry entry = fifo_.pop_front();
    if (entry) resize(-1);
    lock_.unlock_owner();
    return entry;
  }
  void append(Chain& chain, std::size_t count) {
    lock_.lock_owner();
    while (const Entry entry = chain.pop_front()) fifo_.push_back(entry);
    resize(static_cast<std::ptrdiff_t>(count));
    lock_.unlock_owner();
  }

  // The older half (all of it if `everything`), at most `limit`. Returns how many.
  std::size_t steal(Chain& into, std::size_t limit, bool everything) {
    if (size() == 0) return 0;
    lock_.lock_other();
    const std::size_t present = size();
    const std::size_t wanted = everything ? present : (present + 1) / 2;
    std::size_t taken = 0;
    while (taken < wanted && taken < limit) {
      Entry entry = fifo_.pop_front();
      if (!entry) {
        entry = slot_;
        slot_ = {};
      }
      if (!entry) break;
      into.push_back(entry);
      ++taken;
    }
    resize(-static_cast<std::ptrdiff_t>(taken));
    lock_.unlock_other();
    return taken;
  }

 private:
  void resize(std::ptrdiff_t by) {
    size_.store(size_.load(std::memory_order_relaxed) + static_cast<std::size_t>(by), std::memory_order_relaxed);
  }

  OwnerLock lock_;
  Entry slot_;                         // guarded by lock_
  Chain fifo_;                         // guarded by lock_
  seam::Atomic<std::size_t> size_{0};  // written under lock_
};

}  // namespace weft::inline v0::detail
