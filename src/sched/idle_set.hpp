// SPDX-License-Identifier: MIT
// What: which workers are ACTIVE, which search, which sleep, and which sleeper is the watch.
//
//             begin_search                 announce
//   ACTIVE ------------------> searching ------------> sleeping (untimed, or as the watch)
//          <------------------           <------------
//              found_work         retract, or moved by a waker (wake_one, found_work of another) before its futex
//
// A pusher: push (release); if (wants_wake()) notify(*wake_one()). A thread that is no worker puts a seq_cst fence
// between the two. A worker about to sleep: announce(); heavy fence; look at all queues; something there: retract(),
// else sleep(). The watch's time is up: keep_watch(); true: look at all queues and slots, retract() if there is
// something; false: sleep() on without a deadline.
//
// Invariants
//   [IDLE-1] (W) While a worker is ACTIVE and another sleeps, somebody searches or one sleeper is the watch, who sleeps
//            with a deadline and looks at everything. So no work waits beside a sleeper for longer than a period.
//   [IDLE-2] Each change of state is one step under the lock. A sleeper that a waker moves counts as searching from
//            then on, not from when its thread runs: the next pusher wakes nobody else.
//   [IDLE-3] The last searcher (the watch included) that finds work while somebody sleeps and there is no watch wakes
//            one, which searches and then becomes the watch.
//   [IDLE-4] A move sends one wake token; it may arrive when its receiver has long searched on. A token may also come
//            without a move (a kick: look at your flags). So whoever wakes asks retract() whether it was moved, and a
//            flag is looked at after announce() and the fence, not before.
//   [IDLE-5] With nobody ACTIVE there is no watch for longer than a period: an idle runtime has no timer.
//   [IDLE-6] Where a sleeper sleeps stands in the word of its token: it goes into the poller by exchanging `none` for
//            `in_poller`, and a waker exchanges whatever it finds for the token. So either the sleeper finds the token
//            and stays out, or the waker learns that the poller must be interrupted.
// Threads: any worker for itself; wake_one, wants_wake and notify anybody. Nodes outlive the set's use of them.
// Workers that join later: add_worker() makes one ACTIVE, which may break W until it has searched; so its first act is
// begin_search(). One that ends leaves as ACTIVE.
// Rejected: all of it in one compare-exchanged word (a list of sleepers does not fit, and going idle costs a futex call
// anyway); a timed sleep for each sleeper (an idle runtime would tick); waking the watch first (its successor would
// have to be woken too, so it is taken only when nobody else sleeps).
// Relaxed: the summary is a hint, the truth is under the lock; tokens carry no data.
#pragma once

#include <cstdint>
#include <mutex>

#include "sched/poller.hpp"
#include "weft/detail/assert.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

struct IdleNode {
  static constexpr std::uint32_t none = 0, token = 1, in_poller = 2;

  IdleNode* next = nullptr;                // guarded by the set's lock
  seam::Atomic<std::uint32_t> wake{none};  // the token [IDLE-4], by notify; the rest by the sleeper [IDLE-6]
  Poller* poller = nullptr;                // that it sleeps in; written before `in_poller`
  bool asleep = false;                     // guarded by the set's lock
  bool watch = false;                      // guarded by the set's lock
  void* worker = nullptr;
};

class IdleSet {
 public:
  enum class [[nodiscard]] Sleep : std::uint8_t { untimed, watch };

  IdleSet() = default;
  IdleSet(const IdleSet&) = delete;
  IdleSet& operator=(const IdleSet&) = delete;

  void add_worker() {
    const std::lock_guard guard(lock_);
    ++total_;
    publish();
  }
  void remove_worker() {
    const std::lock_guard guard(lock_);
    WEFT_DEBUG(active_now() > 0, "a worker leaves the set as ACTIVE");
    --total_;
    publish();
  }

  // ACTIVE -> searching.
  void begin_search() {
    const std::lock_guard guard(lock_);
    WEFT_DEBUG(active_now() > 0, "only an ACTIVE worker begins to search");
    ++searchers_;
    publish();
  }

  // searching -> ACTIVE. Returns a sleeper to notify(), or null [IDLE-3].
  [[nodiscard]] IdleNode* found_work() {
    const std::lock_guard guard(lock_);
    WEFT_DEBUG(searchers_ > 0, "only a searcher finds work");
    --searchers_;
    IdleNode* successor = nullptr;
    if (searchers_ == 0 && watch_ == nullptr) successor = move_one();
    publish();
    return successor;
  }

  // searching -> sleeping, in one step. Then a heavy fence and a look at all queues, before sleep().
  Sleep announce(IdleNode& node) {
    const std::lock_guard guard(lock_);
    WEFT_DEBUG(searchers_ > 0 && !node.asleep, "only a searcher goes to sleep");
    --searchers_;
    ++sleepers_;
    node.asleep = true;
    if (watch_ == nullptr && active_now() > 0) {
      node.watch = true;
      watch_ = &node;
    } else {
      push(node);
    }
    publish();
    return node.watch ? Sleep::watch : Sleep::untimed;
  }

  // sleeping -> searching, by the sleeper itself. False: a waker has moved it already; its token is there or on the
  // way.
  [[nodiscard]] bool retract(IdleNode& node) {
    const std::lock_guard guard(lock_);
    if (!node.asleep) return false;
    if (node.watch) {
      take_watch();
    } else {
      unlink(node);
    }
    to_searching(node);
    publish();
    return true;
  }

  // The watch's time is up. False: nobody is ACTIVE, so it is an untimed sleeper from now on [IDLE-5]; or a waker has
  // moved it, and an untimed sleep() finds the token there.
  [[nodiscard]] bool keep_watch(IdleNode& node) {
    const std::lock_guard guard(lock_);
    if (!node.asleep || !node.watch) return false;
    if (active_now() > 0) return true;
    take_watch();
    push(node);
    publish();
    return false;
  }

  // sleeping -> searching of one sleeper, who is to be notify()ed. Null: nobody sleeps, or somebody searches already.
  [[nodiscard]] IdleNode* wake_one(bool even_if_searching) {
    const std::lock_guard guard(lock_);
    if (searchers_ > 0 && !even_if_searching) return nullptr;
    IdleNode* node = move_one();
    publish();
    return node;
  }

  // One relaxed load, for pushers. A look that misses a worker that is just falling asleep is made good by that
  // worker's recheck (fences) or by the watch.
  bool wants_wake() const {
    const std::uint64_t now = look();
    return sleepers_of(now) > 0 && searchers_of(now) == 0;
  }

  // All of one moment.
  struct Census {
    unsigned active;
    unsigned searchers;
    unsigned sleepers;
    bool watch;
  };
  static Census census_of(std::uint64_t now) {
    return {total_of(now) - searchers_of(now) - sleepers_of(now), searchers_of(now), sleepers_of(now), now >> 48 != 0};
  }
  Census census() const { return census_of(look()); }
  unsigned sleepers() const { return sleepers_of(look()); }
  unsigned searchers() const { return searchers_of(look()); }
  unsigned active() const { return census().active; }

  // For who has no more than a pointer to it (WorkerCore::idle).
  const seam::Atomic<std::uint64_t>& summary() const { return summary_; }

  // For whom the set returned, once; or a kick [IDLE-4].
  static void notify(IdleNode& node) {
    // [LP wake token] release: what it stands for; acquire: which poller
    const std::uint32_t where = node.wake.exchange(IdleNode::token, std::memory_order_acq_rel);
    if (where == IdleNode::in_poller) return node.poller->interrupt();
    seam::futex_wake(node.wake, 1);
  }

  // `woken`: a token is consumed; with no kicks about, the worker searches. `timed_out`: it sleeps still, as far as it
  // knows.
  static seam::WaitResult sleep(IdleNode& node, std::int64_t deadline) {
    while (node.wake.load(std::memory_order_acquire) == 0) {
      const seam::WaitResult result = seam::futex_wait(node.wake, 0, deadline);
      if (result == seam::WaitResult::timed_out && node.wake.load(std::memory_order_acquire) == 0) return result;
    }
    node.wake.store(0, std::memory_order_relaxed);  // whatever it stood for is looked at before the next sleep [IDLE-4]
    return seam::WaitResult::woken;
  }

  // The same by who is inside the poller. `changed`: there may be something to reap; it sleeps still, as far as it
  // knows.
  static seam::WaitResult sleep_in(Poller& poller, IdleNode& node, std::int64_t deadline) {
    if (node.poller != &poller) node.poller = &poller;  // once: a late waker may still read it
    std::uint32_t seen = IdleNode::none;
    bool in_time = true;
    // [LP sleeps in the poller] [IDLE-6]
    if (node.wake.compare_exchange_strong(seen, IdleNode::in_poller, std::memory_order_release,
                                          std::memory_order_relaxed))
      in_time = poller.wait(deadline);
    if (node.wake.exchange(IdleNode::none, std::memory_order_acquire) == IdleNode::token)
      return seam::WaitResult::woken;
    return in_time ? seam::WaitResult::changed : seam::WaitResult::timed_out;
  }

 private:
  //   63      48 47      32 31       16 15        0
  //   | watch:16 | total:16 | sleepers:16 | searchers:16 |
  static unsigned searchers_of(std::uint64_t word) { return static_cast<std::uint16_t>(word); }
  static unsigned sleepers_of(std::uint64_t word) { return static_cast<std::uint16_t>(word >> 16); }
  static unsigned total_of(std::uint64_t word) { return static_cast<std::uint16_t>(word >> 32); }
  std::uint64_t look() const { return summary_.load(std::memory_order_relaxed); }

  unsigned active_now() const { return total_ - searchers_ - sleepers_; }

  void publish() {
    WEFT_DEBUG(searchers_ + sleepers_ <= total_, "a worker is counted twice");
    summary_.store(std::uint64_t{searchers_} | std::uint64_t{sleepers_} << 16 | std::uint64_t{total_} << 32 |
                       std::uint64_t{watch_ != nullptr} << 48,
                   std::memory_order_relaxed);
  }
  void push(IdleNode& node) {
    node.next = stack_;
    stack_ = &node;
  }
  void unlink(IdleNode& node) {
    IdleNode** place = &stack_;
    while (*place != &node) place = &(*place)->next;
    *place = node.next;
    node.next = nullptr;
  }
  IdleNode* take_watch() {
    IdleNode* node = watch_;
    watch_ = nullptr;
    node->watch = false;
    return node;
  }
  void to_searching(IdleNode& node) {
    node.asleep = false;
    --sleepers_;
    ++searchers_;
  }
  // The latest untimed sleeper, else the watch, else null.
  IdleNode* move_one() {
    IdleNode* node = stack_;
    if (node != nullptr) {
      unlink(*node);
    } else if (watch_ != nullptr) {
      node = take_watch();
    } else {
      return nullptr;
    }
    to_searching(*node);
    return node;
  }

  // Guarded by lock_.
  IdleNode* stack_ = nullptr;  // sleepers without the watch, latest first
  IdleNode* watch_ = nullptr;
  unsigned searchers_ = 0;
  unsigned sleepers_ = 0;  // the watch included
  unsigned total_ = 0;
  seam::SpinLock lock_;

  seam::Atomic<std::uint64_t> summary_{0};  // written under lock_, read by anybody; a hint, so relaxed
};

}  // namespace weft::inline v0::detail
