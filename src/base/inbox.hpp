// SPDX-License-Identifier: MIT
//
// What: the mailbox of a worker. Anybody pushes; the owner pops in the order of the pushes; anybody may take the whole
// content at once, which is how a stuck worker's mail is rescued.
//
//   push ----> arrived_ (newest first) --- the owner reverses all of it ---> sorted_ (oldest first) ----> pop
//                   \__________________________ take_all ______________________/
//
// Invariants:
//   [INBOX-1] Both cells are emptied only by exchange, so an item has one taker; neither is ever popped by CAS, so
//             there is no ABA, whatever is recycled meanwhile.
//   [INBOX-2] Only the owner writes a list into sorted_, and only while it holds the content of sorted_ itself (it is
//             empty then), so that store loses nothing.
//   [INBOX-3] Outside of pop everything that was pushed and not taken can be reached by take_all.
//   [INBOX-4] push returns true for exactly one push per filling of arrived_: that pusher wakes the owner. The owner
//             must look at empty() after announcing that it sleeps.
// Threads: push, take_all, empty: any. pop: the owner.
// Rejected: Vyukov's linked MPSC queue: a pusher that is preempted between its two stores hides everything pushed after
// it, and only one thread may ever consume, so no rescue. A list private to the owner for the reversed part: out of the
// rescuer's reach.
// Relaxed: a guess before an exchange that checks it, or a look that costs nothing when it is wrong.
#pragma once

#include <cstdint>

#include "weft/detail/cache_line.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/entry.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

class Inbox {
 public:
  Inbox() = default;
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // True: it was empty, so nobody else is going to wake the owner.
  bool push(Entry entry) {
    std::uintptr_t head = arrived_.load(std::memory_order_relaxed);
    do {
      entry.link()->next_ = Entry::from_word(head);
      // release: the item and its link, for the acquire of whoever exchanges [INBOX-1]. Pushes before ours are covered
      // too, since a CAS continues their release sequences. A failure needs no order: the link is just written again.
    } while (!arrived_.compare_exchange_weak(head, entry.word(), std::memory_order_release, std::memory_order_relaxed));
    return head == 0;
  }

  // Oldest first. Owner, or a rescuer: what the other one has taken just is not there.
  Chain take_all() {
    Chain all;
    for (Entry next = take(sorted_); next;) {
      const Entry entry = next;
      next = entry.link()->next_;  // before push_back writes it
      all.push_back(entry);
    }
    for (Entry next = oldest_first(take(arrived_)); next;) {
      const Entry entry = next;
      next = entry.link()->next_;
      all.push_back(entry);
    }
    return all;
  }

  Entry pop() {
    Entry first = take(sorted_);
    if (!first) first = oldest_first(take(arrived_));
    if (!first) return first;
    if (const Entry rest = first.link()->next_) {
      // release: the links as reversed and the items, for a rescuer's exchange [INBOX-2].
      sorted_.store(rest.word(), std::memory_order_release);
    }
    return first;
  }

  // A look for the sleep handshake; the fence that goes with it is the caller's.
  bool empty() const {
    return arrived_.load(std::memory_order_acquire) == 0 && sorted_.load(std::memory_order_acquire) == 0;
  }

 private:
  using Cell = seam::Atomic<std::uintptr_t>;

  static Entry take(Cell& cell) {
    // Looking first keeps the line shared while there is nothing.
    if (cell.load(std::memory_order_relaxed) == 0) return {};
    // acquire: pairs with the releases in push and pop.
    return Entry::from_word(cell.exchange(0, std::memory_order_acquire));
  }

  static Entry oldest_first(Entry newest) {
    Entry reversed;
    while (newest) {
      const Entry next = newest.link()->next_;
      newest.link()->next_ = reversed;
      reversed = newest;
      newest = next;
    }
    return reversed;
  }

  alignas(cache_line) Cell arrived_{0};  // written by all
  alignas(cache_line) Cell sorted_{0};   // written by the owner and a rescuer
};

}  // namespace weft::inline v0::detail
