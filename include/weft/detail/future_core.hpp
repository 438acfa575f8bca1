// SPDX-License-Identifier: MIT
// What: how the end of a future and those who wait for it meet. A future has a list of nodes; a node belongs to a
// gathering, where somebody waits for the first of one or more futures. Waiting itself is Io's: a gathering only keeps
// the permit of its next wait.
//
//   gathering (await: of one; race: of all)           who ends the future
//   join(future, node): linked, or arrived at once    lock future: it is over; take a node, put it among the arrived
//   next(): lock; one has arrived? take it            of its gathering, copy that one's permit; unlock
//     none: note a new permit, unlock, wait           ready(permit); again while there are nodes
//   leave(future, node)
//
// Invariants
//   [FUT-1] A future is over once, under its lock; who joins later arrives at once. So nobody waits for one that is
//           over.
//   [FUT-2] A node moves from its future to the arrived of its gathering while the future is locked. leave() takes
//           that lock: afterwards nobody but the gathering's owner knows the node, and its frame may go.
//   [FUT-3] Arrivals are in the order of the ends: the first of a race is the one that ended first.
//   [FUT-4] The permit is copied with the arrival, under the gathering's lock, and used after both locks: it is a value
//           and touches no frame. Looking for arrivals and noting a permit are one step, so an arrival is seen, or the
//           permit it finds is that of the wait to come.
// Threads: any; locks are taken in the order future, gathering.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

template <class Permit>
class GatheringOf;

template <class Permit>
struct FutureNodeOf {
  FutureNodeOf* next = nullptr;  // in the list of the future, then among the arrived
  GatheringOf<Permit>* gathering = nullptr;
  std::size_t index = 0;
  bool linked = false;  // guarded by the future's lock
};

template <class Permit>
class GatheringOf {
 public:
  using Node = FutureNodeOf<Permit>;

  // The permit of whoever waits; an empty one if nobody has waited yet.
  [[nodiscard]] Permit arrive(Node& node) {
    const std::lock_guard guard(lock_);
    node.next = nullptr;
    *last_ = &node;
    last_ = &node.next;
    return permit_;
  }
  // The oldest that has arrived; or null, and make() gives the permit of the wait to come.
  template <class F>
  [[nodiscard]] Node* take_or(F&& make) {
    const std::lock_guard guard(lock_);
    if (Node* node = first_) {
      first_ = node->next;
      if (first_ == nullptr) last_ = &first_;
      return node;
    }
    permit_ = make();
    return nullptr;
  }

 private:
  seam::SpinLock lock_;
  Node* first_ = nullptr;  // guarded by lock_, as the rest
  Node** last_ = &first_;
  Permit permit_{};
};

template <class Permit>
class FutureCoreOf {
 public:
  using Node = FutureNodeOf<Permit>;

  // acquire: the result was written before.
  bool is_over() const { return over_.load(std::memory_order_acquire) != 0; }

  void join(Node& node) {
    {
      const std::lock_guard guard(lock_);
      if (over_.load(std::memory_order_relaxed) == 0) {  // relaxed: written under the lock [FUT-1]
        node.next = nullptr;
        node.linked = true;
        *last_ = &node;
        last_ = &node.next;
        return;
      }
    }
    (void)node.gathering->arrive(node);
  }
  // [FUT-2]
  void leave(Node& node) {
    const std::lock_guard guard(lock_);
    if (!node.linked) return;
    node.linked = false;
    Node** place = &first_;
    while (*place != &node) place = &(*place)->next;
    *place = node.next;
    if (node.next == nullptr) last_ = place;
  }

  // Once. ready(permit) for each gathering that somebody waits at. must_hurry(permit): what it would use may be gone
  // once its owner has left; it is used under the lock, which leave() takes.
  template <class F, class G>
  void end(F&& ready, G&& must_hurry) {
    for (;;) {
      Permit permit{};
      {
        const std::lock_guard guard(lock_);
        over_.store(1, std::memory_order_release);  // [LP future over] under the lock
        Node* node = first_;
        if (node == nullptr) return;
        first_ = node->next;
        if (first_ == nullptr) last_ = &first_;
        node->linked = false;
        permit = node->gathering->arrive(*node);
        if (must_hurry(permit)) ready(std::exchange(permit, Permit{}));
      }
      ready(permit);  // [FUT-4]
    }
  }

 private:
  seam::SpinLock lock_;
  seam::Atomic<std::uint32_t> over_{0};
  Node* first_ = nullptr;  // guarded by lock_
  Node** last_ = &first_;
};

struct FutureRules {
  template <class Permit>
  using Core = FutureCoreOf<Permit>;
  template <class Permit>
  using Gathering = GatheringOf<Permit>;
};

}  // namespace weft::inline v0::detail
