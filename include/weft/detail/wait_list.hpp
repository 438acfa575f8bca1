// SPDX-License-Identifier: MIT
// What: those who wait for one object, oldest first, and how one of them is taken out. Nodes lie on the waiters'
// stacks; a select has one per case.
//
//   waiter                                            who brings something
//   lock; look for it while RUNNING                   lock; node = list.claim_first(reason)
//   none: ticket = begin_park(); list.push(node)      move value and winning case into the wait block
//   unlock; finish_wait(); then under the lock        unlock: the last access to the object
//   list.remove(node)                                 deliver: from here on the waiter runs
//
// Invariants
//   [LIST-1] A list is touched under its object's lock only, the claim of its nodes included.
//   [LIST-2] A node that was claimed is out of its list. Its siblings (other cases of one select) stay where they are
//            until their waiter takes them out; claiming one of them fails by its ticket.
//   [LIST-3] Of a claimed node everything is read before deliver(): from then on its frame may go.
//   [LIST-4] A lost claim means the next node, never "nobody waits". A node whose claim is lost leaves the list on the
//            way: its wait is over.
// Threads: any, under the object's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/task_word.hpp"

namespace weft::inline v0::detail {

// What publishing a wait led to: it is done, and the task is RUNNING still, or it is linked and PARKING.
enum class [[nodiscard]] Published : bool { done, parking };

template <class Task>
struct WaitNodeOf {
  WaitNodeOf* next = nullptr;
  WaitNodeOf* prev = nullptr;
  Task* task = nullptr;
  Ticket ticket{};
  WaitNodeOf** winner = nullptr;  // of its wait block: the node that was claimed
  void* slot = nullptr;           // what is sent, or the place for what is received
  std::uint32_t number = 0;       // which case of its select; the object's own use elsewhere
  bool linked = false;
};

template <class Task>
class WaitListOf {
 public:
  using Node = WaitNodeOf<Task>;

  bool empty() const { return first() == nullptr; }  // without the lock: advice
  Node* first() const { return head_; }
  std::size_t count() const {
    std::size_t nodes = 0;
    for (const Node* node = head_; node != nullptr; node = node->next) ++nodes;
    return nodes;
  }

  void push(Node& node) {
    node.next = nullptr;
    node.prev = tail_;
    node.linked = true;
    link(node);
  }

  // PARKING, and linked as the youngest, under the object's lock, after a look that found nothing.
  void park(Node& node, Task& task) {
    node.task = &task;
    node.ticket = task.word.begin_park();
    push(node);
  }
  // The same on a worker of which nobody wants checks; the node is written here only, each field once.
  [[gnu::always_inline]] void park_new(Node& node, Task& task, void* slot) {
    node.next = nullptr;
    node.prev = tail_;
    node.task = &task;
    node.ticket = task.word.template begin_park<false>();
    node.winner = nullptr;
    node.slot = slot;
    node.number = 0;
    node.linked = true;
    link(node);
  }

  // Before all others: it was at the head already, and what woke it was gone again.
  void push_front(Node& node) {
    node.prev = nullptr;
    node.next = head_;
    node.linked = true;
    (head_ != nullptr ? head_->prev : tail_) = &node;
    head_ = &node;
  }

  // Whatever ended its wait; does nothing if it is out already.
  void remove(Node& node) {
    if (!node.linked) return;
    node.linked = false;
    if (node.prev != nullptr) {
      node.prev->next = node.next;
    } else {
      head_ = node.next;
    }
    (node.next != nullptr ? node.next->prev : tail_) = node.prev;
  }

  // The oldest wait that is still open is now the caller's to end, its node taken out; null if there is none.
  Node* claim_first(WakeReason reason) {
    while (Node* oldest = head_) {
      Node* next = oldest->next;
      head_ = next;
      (next != nullptr ? next->prev : tail_) = nullptr;
      oldest->linked = false;
      if (Node* node = claim_out(*oldest, reason)) return node;
    }
    return nullptr;
  }

  // This one. Null: its wait was over; it is out, too [LIST-4].
  Node* claim(Node& node, WakeReason reason) {
    remove(node);
    return claim_out(node, reason);
  }

 private:
  void link(Node& node) {
    if (tail_ != nullptr) {
      tail_->next = &node;
    } else {
      head_ = &node;
    }
    tail_ = &node;
  }
  Node* claim_out(Node& node, WakeReason reason) {
    // [LP wait claimed] under the object's lock; the claim's own order is the word's
    if (node.task->word.claim(node.ticket, reason) != TaskWord::Claimed::yes) return nullptr;
    if (node.winner != nullptr) *node.winner = &node;
    return &node;
  }

  seam::Guessed<Node*> head_ = nullptr;
  Node* tail_ = nullptr;
};

// Claimed under a lock, delivered after it [LIST-3].
template <class Task>
class ClaimedOf {
 public:
  using Node = WaitNodeOf<Task>;

  void add(Node* node) {
    node->next = nullptr;
    *last_ = node;
    last_ = &node->next;
  }
  bool empty() const { return first_ == nullptr; }

  // end(task) for each, in the order of their claims.
  template <class F>
  void deliver(F&& end) {
    Node* next = first_;
    first_ = nullptr;
    last_ = &first_;
    while (next != nullptr) {
      Task* task = next->task;
      next = next->next;
      end(task);
    }
  }

 private:
  Node* first_ = nullptr;
  Node** last_ = &first_;
};

}  // namespace weft::inline v0::detail
