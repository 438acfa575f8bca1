// SPDX-License-Identifier: MIT
//
// What: a FIFO of entries, linked through the items; no allocation. What an inbox hands out and an overflow list is
// made of.
// Invariants:
//   [CHAIN-1] head_ and tail_ are both empty or both not; the tail's link is empty.
// Threads: one at a time (the owner, or under the owner's lock).
#pragma once

#include <utility>

#include "weft/detail/entry.hpp"

namespace weft::inline v0::detail {

class Chain {
 public:
  Chain() = default;
  Chain(Chain&& from) noexcept : head_(std::exchange(from.head_, {})), tail_(std::exchange(from.tail_, {})) {}
  Chain& operator=(Chain&& from) noexcept {
    WEFT_ASSERT(empty() || this == &from, "a chain with entries would be lost");
    head_ = std::exchange(from.head_, {});
    tail_ = std::exchange(from.tail_, {});
    return *this;
  }

  bool empty() const { return !head_; }
  Entry front() const { return head_; }
  static Entry after(Entry entry) { return entry.link()->next_; }

  void push_back(Entry entry) {
    entry.link()->next_ = {};
    if (tail_) {
      tail_.link()->next_ = entry;
    } else {
      head_ = entry;
    }
    tail_ = entry;
  }

  void push_front(Entry entry) {
    entry.link()->next_ = head_;
    head_ = entry;
    if (!tail_) tail_ = entry;
  }

  Entry pop_front() {
    const Entry first = head_;
    if (!first) return first;
    head_ = first.link()->next_;
    if (!head_) tail_ = {};
    return first;
  }

  void append(Chain&& other) {
    if (other.empty()) return;
    if (tail_) {
      tail_.link()->next_ = other.head_;
    } else {
      head_ = other.head_;
    }
    tail_ = std::exchange(other.tail_, {});
    other.head_ = {};
  }

 private:
  Entry head_;
  Entry tail_;
};

}  // namespace weft::inline v0::detail
