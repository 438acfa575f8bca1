// SPDX-License-Identifier: MIT
// What: the tasks of one worker that have started and may go on: a slot for the one woken last, and a FIFO.
//
//   wake ----> slot --(displaced)--> FIFO ----> owner
//   yield ---------------------------^   \----> a thief takes the older half, slot included, by the age rule
//
// Invariants
//   [RDY-1] Everything is plain data under an OwnerLock: the owner, who comes at each dispatch, pays no RMW.
//   [RDY-2] Without the lock slot and size are hints for others; the owner's own look is exact, but for thieves.
// Threads: steal by others, the rest by the worker. <true>: by one that knows fences to be asymmetric.
// Rejected: a second Chase-Lev deque with the owner at its old end (one locked instruction per dispatch, 7 ns of 15); a
// size that counts the slot (three more writes for each task that goes through it).
#pragma once

#include <cstddef>
#include <utility>

#include "sched/owner_lock.hpp"
#include "sched/warm.hpp"
#include "weft/detail/chain.hpp"

namespace weft::inline v0::detail {

class ReadyQueue {
 public:
  std::size_t size() const { return waiting_ + (Entry{slot_} ? 1 : 0); }
  bool empty() const { return !Entry{slot_} && waiting_ == 0; }

  template <bool Free = false>
  [[gnu::always_inline]] void push_slot(Entry entry) {
    lock<Free>();
    const Entry displaced = slot_;
    slot_ = entry;
    if (displaced) [[unlikely]]
      append(displaced);
    lock_.unlock_owner();
  }
  // The same without a call: false, and nothing has changed, if the slot is taken or somebody else is here.
  [[gnu::always_inline]] bool fill_slot(Entry entry) {
    if (!lock_.try_lock_owner_free()) [[unlikely]]
      return false;
    const bool room = !Entry{slot_};
    if (room) [[likely]]
      slot_ = entry;
    lock_.unlock_owner();
    return room;
  }
  template <bool Free = false>
  [[gnu::always_inline]] void push_back(Entry entry) {
    lock<Free>();
    // [LP queued as ready] under the owner's lock, whose unlocking releases it
    append(entry);
    lock_.unlock_owner();
  }
  // The slot's if it may go first, else the oldest, else the slot's.
  template <bool Free = false>
  [[gnu::always_inline]] Entry pop(bool slot_first) {
    lock<Free>();
    Entry entry = slot_;
    if (entry && (slot_first || fifo_.empty())) {
      slot_ = Entry{};
    } else {
      entry = take_oldest();
    }
    lock_.unlock_owner();
    return entry;
  }
  Entry pop_slot() {
    if (!Entry{slot_}) return {};
    lock<false>();
    const Entry entry = slot_;
    slot_ = Entry{};
    lock_.unlock_owner();
    return entry;
  }
  Entry pop_front() {
    if (waiting_ == 0) return {};
    lock<false>();
    const Entry entry = take_oldest();
    lock_.unlock_owner();
    return entry;
  }
  // So many, in one step.
  void append(Chain&& chain, std::size_t count) {
    lock<false>();
    append_all(std::move(chain), count);
    lock_.unlock_owner();
  }
  // As if each of so many went through the slot, and `last` at the end.
  void push_all(Chain&& chain, std::size_t count, Entry last) {
    lock<false>();
    if (const Entry displaced = slot_) append(displaced);
    append_all(std::move(chain), count);
    slot_ = last;
    lock_.unlock_owner();
  }

  // The older half (all of it if `everything`), at most `limit`. Returns how many.
  std::size_t steal(Chain& into, std::size_t limit, bool everything) {
    if (empty()) return 0;
    lock_.lock_other();
    const std::size_t present = size();
    const std::size_t wanted = everything ? present : (present + 1) / 2;
    std::size_t taken = 0;
    while (taken < wanted && taken < limit) {
      Entry entry = take_oldest();
      if (!entry) {
        entry = slot_;
        slot_ = Entry{};
      }
      if (!entry) break;
      into.push_back(entry);
      ++taken;
    }
    lock_.unlock_other();
    return taken;
  }

 private:
  template <bool Free>
  [[gnu::always_inline]] void lock() {
    if constexpr (Free) {
      lock_.lock_owner_free();
    } else {
      lock_.lock_owner();
    }
  }
  void append(Entry entry) {
    fifo_.push_back(entry);
    waiting_ += 1;
  }
  void append_all(Chain&& chain, std::size_t count) {
    fifo_.append(std::move(chain));
    waiting_ += count;
  }
  Entry take_oldest() {
    const Entry entry = fifo_.pop_front();
    if (entry) waiting_ += static_cast<std::size_t>(-1);
    if (waiting_ >= crowd) [[unlikely]]
      look_ahead();
    return entry;
  }
  [[gnu::noinline]] void look_ahead() const { warm_next(fifo_); }

  static constexpr std::size_t crowd = 4096;  // of so many the next ones are in no cache

  // All written under lock_.
  OwnerLock lock_;
  seam::Guessed<Entry> slot_;
  Chain fifo_;
  seam::Guessed<std::size_t> waiting_ = 0;  // in fifo_
};

}  // namespace weft::inline v0::detail
