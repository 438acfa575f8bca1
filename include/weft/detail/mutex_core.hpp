// SPDX-License-Identifier: MIT
// What: the mutex of tasks: who runs may barge in, who waits long enough gets it handed over.
//
//   word   | holder's record: 61 | WOKEN | QUEUED | HELD |          0: free, nobody waits
//
//   free --lock: one CAS--> HELD --unlock: one CAS--> free
//                             |
//                             +--unlock with QUEUED and without WOKEN, under `lock_`, of the oldest waiter:
//                                  lost `patience` times: HELD for it (handed over; reason data)
//                                  else: free and WOKEN, it tries again (reason flag)
//
// Invariants
//   [MTX-1] QUEUED and WOKEN are set under `lock_` only. QUEUED is cleared under it; WOKEN by the one who was woken.
//   [MTX-2] Free and QUEUED implies WOKEN: somebody is on the way who looks, and who passes the wake on if it leaves
//           without the mutex (cancel, deadline). So nobody sleeps beside a free mutex.
//   [MTX-3] One is woken at a time. Who comes too late goes back to the head of the list, and WOKEN with it; after
//           `patience` times it does not have to race any more.
//   [MTX-4] The exchange that frees it is the last access of unlock() if nobody waits; else the unlocking of `lock_`
//           is, before which whoever was claimed has not run.
//   [MTX-5] The holder is information: nobody compares it with who unlocks.
//   [MTX-6] `beside_` is a guess at QUEUED and WOKEN, so that one exchange is enough beside waiters, too; the exchange
//           decides. It is corrected by who has guessed wrong, while the mutex is held.
// Threads: any.
// Rejected: handing over always (each unlock is a switch: ten times slower when held briefly); waking without WOKEN
// (each unlock of a barger wakes one more, who finds it held).
// Relaxed: a first look that the exchange checks; bits that only say who should look, which are set under the lock.
#pragma once

#include <cstdint>
#include <mutex>

#include "weft/detail/seam.hpp"
#include "weft/detail/wait_list.hpp"

namespace weft::inline v0::detail {

template <class Task>
class MutexCoreOf {
 public:
  using Node = WaitNodeOf<Task>;
  // So often a waiter may come too late.
  static constexpr std::uint32_t patience = WEFT_SEAM_VERIFY ? 1 : 4;
  static constexpr std::uint32_t handed_over = 0xffffffff;  // in Node::number, where its losses are counted

  // Null: a thread that has never waited.
  [[gnu::always_inline]] bool try_lock(const Task* me) {
    std::uint64_t now = beside_;
    // [LP mutex locked] acquire: what the last holder wrote
    if (word_.compare_exchange_strong(now, now | bits_of(me) | held, std::memory_order_acquire,
                                      std::memory_order_relaxed)) [[likely]]
      return true;
    return try_barge(now, me, 0);
  }
  // By the one who was woken.
  bool try_lock_woken(const Task* me) { return try_barge(word_.load(std::memory_order_relaxed), me, woken); }

  // Whoever is claimed is delivered by deliver_wake(Task*), found where Task lives. `guess`: who has probably locked
  // it; a load of the word right after the exchange that wrote it would cost as much as a quarter of the pair.
  [[gnu::always_inline]] void unlock(const Task* guess = nullptr) {
    const std::uint64_t rest = beside_;  // QUEUED alone never: nobody would be on the way
    std::uint64_t now = bits_of(guess) | held | rest;
    // [LP mutex unlocked] nobody waits, or who does is on the way; release: what its holder wrote [MTX-4]
    if (!word_.compare_exchange_strong(now, rest, std::memory_order_release, std::memory_order_relaxed)) [[unlikely]]
      unlock_as(now);
  }

  // Links the node, unless the mutex is free now. `was_woken`: it comes back.
  Published publish(Task& me, Node& node, bool was_woken) {
    const std::lock_guard guard(lock_);
    const std::uint64_t mine = was_woken ? woken : 0;
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (!(now & held)) {
        if (word_.compare_exchange_weak(now, (now & ~mine) | bits_of(&me) | held, std::memory_order_acquire,
                                        std::memory_order_relaxed))
          return Published::done;
      } else if (word_.compare_exchange_weak(now, (now & ~mine) | queued, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
        break;
      }
    }
    node.task = &me;
    node.ticket = me.word.begin_park();
    was_woken ? list_.push_front(node) : list_.push(node);
    return Published::parking;
  }

  // Of one that nobody claimed.
  void leave(Node& node) {
    const std::lock_guard guard(lock_);
    list_.remove(node);
    if (list_.empty()) word_.fetch_and(~queued, std::memory_order_relaxed);
  }

  // Of one that was woken and leaves without the mutex [MTX-2].
  void pass_on() {
    Node* next = nullptr;
    {
      const std::lock_guard guard(lock_);
      std::uint64_t now = word_.load(std::memory_order_relaxed);
      for (;;) {
        if (!(now & held) && !list_.empty()) {
          next = list_.claim_first(WakeReason::flag);
          if (list_.empty()) now = word_.fetch_and(~queued, std::memory_order_relaxed) & ~queued;
          if (next != nullptr) break;  // WOKEN is its from now on
        }
        // With QUEUED left to the holder, who sees that nobody is on the way.
        if (word_.compare_exchange_weak(now, now & ~woken, std::memory_order_relaxed, std::memory_order_relaxed)) break;
      }
      if (next != nullptr) ++next->number;
    }
    if (next != nullptr) deliver_wake(next->task);
  }

  bool is_held() const { return word_.load(std::memory_order_relaxed) & held; }
  bool has_waiters() const { return word_.load(std::memory_order_relaxed) & (queued | woken); }
  // A guess, for dumps and for who considers to spin; records are type-stable.
  const Task* holder() const { return reinterpret_cast<const Task*>(word_.load(std::memory_order_relaxed) & ~flags); }
  // For WaitInfo::holder_at.
  const void* holder_at() const { return &word_; }

 private:
  static constexpr std::uint64_t held = 1;
  static constexpr std::uint64_t queued = 2;
  static constexpr std::uint64_t woken = 4;
  static constexpr std::uint64_t flags = held | queued | woken;

  static std::uint64_t bits_of(const Task* task) { return reinterpret_cast<std::uintptr_t>(task); }

  bool try_barge(std::uint64_t now, const Task* me, std::uint64_t mine) {
    while (!(now & held)) {
      if (word_.compare_exchange_weak(now, (now & ~mine) | bits_of(me) | held, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        guess_beside(now & ~mine);
        return true;
      }
    }
    return false;
  }

  // By the holder [MTX-4]. Without somebody on the way the next unlock has to look, which the wrong guess makes it do.
  void guess_beside(std::uint64_t now) {
    const std::uint64_t rest = now & woken ? now & (queued | woken) : 0;
    if (rest != beside_) beside_ = rest;
  }

  // The word is not what was guessed: another's, or somebody waits.
  [[gnu::noinline]] void unlock_as(std::uint64_t now) {
    while ((now & (queued | woken)) != queued) {
      guess_beside(now);
      // [LP mutex unlocked beside a waiter] who is on the way already; release: what its holder wrote
      if (word_.compare_exchange_weak(now, now & (queued | woken), std::memory_order_release,
                                      std::memory_order_relaxed))
        return;
    }
    unlock_slow();
  }

  [[gnu::noinline]] void unlock_slow() {
    Node* next = nullptr;
    {
      const std::lock_guard guard(lock_);
      while (Node* first = list_.first()) {
        const bool hand_over = first->number >= patience;
        next = list_.claim(*first, hand_over ? WakeReason::data : WakeReason::flag);
        if (next == nullptr) continue;
        const std::uint64_t rest = list_.empty() ? 0 : queued;
        // Held by the caller, and under the lock: nobody else changes the word now.
        if (hand_over) {
          next->number = handed_over;
          word_.store(bits_of(next->task) | held | rest, std::memory_order_release);
        } else {
          ++next->number;
          word_.store(woken | rest, std::memory_order_release);
        }
        break;
      }
      if (next == nullptr) word_.fetch_and(~queued, std::memory_order_relaxed);
    }
    if (next == nullptr) return unlock(holder());  // all who waited have left: as if nobody had [MTX-4]
    deliver_wake(next->task);
  }

  seam::Atomic<std::uint64_t> word_{0};
  seam::Guessed<std::uint64_t> beside_ = 0;
  WaitListOf<Task> list_;  // guarded by lock_
  seam::SpinLock lock_;
};

// One attempt to lock: what wait_on() performs.
template <class Task>
class LockWaitOf {
 public:
  LockWaitOf(MutexCoreOf<Task>& mutex, Task* me) : mutex_(mutex), me_(me) { node_.winner = &claimed_; }
  ~LockWaitOf() {
    if (woken_) mutex_.pass_on();
  }
  LockWaitOf(const LockWaitOf&) = delete;
  LockWaitOf& operator=(const LockWaitOf&) = delete;

  bool try_complete() {
    if (!woken_) return mutex_.try_lock(me_);
    if (!mutex_.try_lock_woken(me_)) return false;
    woken_ = false;
    return true;
  }
  Published publish(Task& me) {
    me_ = &me;
    claimed_ = nullptr;
    const Published outcome = mutex_.publish(me, node_, woken_);
    woken_ = false;
    return outcome;
  }
  void unpublish() {
    if (claimed_ == nullptr) return mutex_.leave(node_);
    woken_ = node_.number != MutexCoreOf<Task>::handed_over;
  }

 private:
  MutexCoreOf<Task>& mutex_;
  Task* me_;
  WaitNodeOf<Task> node_;
  WaitNodeOf<Task>* claimed_ = nullptr;
  bool woken_ = false;  // and has neither the mutex nor a place in the list
};

// What a scenario of it needs, under names that do not depend on the namespace they come from.
struct MutexRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Outcome = Published;
  template <class Task>
  using Core = MutexCoreOf<Task>;
  template <class Task>
  using Wait = LockWaitOf<Task>;
};

}  // namespace weft::inline v0::detail
