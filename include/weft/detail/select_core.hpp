// SPDX-License-Identifier: MIT
// What: waiting for the first of several. A select is a task, an array of cases and one wait block.
//
//   one by one, RUNNING      a case that looks ready: lock its object, look, unlock. Done? Return.
//   all at once              lock all objects, each once, in address order; look at all again
//                              one is ready: claim its partner, unlock all, deliver, return
//                              none: PARKING, link everywhere, unlock all, park
//   woken                    losers are unlinked, one lock at a time; then it returns
//
// Invariants
//   [SEL-1] Whoever claims a partner is RUNNING and linked nowhere. So nobody is ever claimed in two places, there is
//           no tentative claim and no restart; a lost claim means the next node.
//   [SEL-2] The look that finds nothing, PARKING and all links are one critical section over all objects: nobody can
//           come between, and two selects that could serve each other see each other.
//   [SEL-3] Locks are taken in address order, each once though several cases name it.
//   [SEL-4] When a select returns or throws, none of its nodes is in any list. The winner's was taken out by its claim.
//   [SEL-5] A case that did not win has moved nothing: a losing send keeps its value.
//   [SEL-6] Own nodes never meet: nothing is linked while it looks.
//   [SEL-7] Deadline and cancel are flags of the task; a case that is one, too (the end of a task), is looked at again
//           after PARKING, behind a heavy fence.
// Threads: the selecting task; its nodes are touched by others under the locks of their objects.
// Rejected: publishing object by object with a tentative claim of oneself (a wake is lost between claim and restart,
// and two that meet on two channels at once restart for ever); cases in the order they are written (starves the last).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "weft/detail/seam.hpp"
#include "weft/detail/wait_list.hpp"

namespace weft::inline v0::detail {

enum class CaseKind : std::uint8_t {
  object,     // found by its node
  flag,       // looked at again after PARKING [SEL-7]
  deadline,   // of the task
  otherwise,  // nothing else is ready
};

// What one case knows. A case without an object (a deadline) has no lock and is never linked.
template <class Task>
class SelectCaseOf {
 public:
  using Node = WaitNodeOf<Task>;

  // Advice, without the lock: false lets the first round pass it by.
  virtual bool looks_ready() const = 0;
  virtual seam::SpinLock* lock() = 0;
  // Under the lock, RUNNING. True: it has won, everything is moved; `woken` is to be delivered after the unlock.
  virtual bool look(Task*& woken) = 0;
  // Under the lock; the node has task, ticket and winner.
  virtual void link(Task& task) = 0;
  virtual void unlink() = 0;
  // Its node was claimed by somebody.
  virtual void claimed() = 0;

  // For deadlock reports: what it is, and who could end it or used its other side last.
  struct About {
    const char* kind = "case";
    const void* object = nullptr;
    const Task* holder = nullptr;
    const Task* last_seen = nullptr;
  };
  virtual About about() const { return {}; }

  CaseKind kind() const { return kind_; }
  Node node;

 protected:
  explicit SelectCaseOf(CaseKind kind = CaseKind::object) : kind_(kind) {}
  SelectCaseOf(const SelectCaseOf&) = default;
  SelectCaseOf& operator=(const SelectCaseOf&) = default;
  ~SelectCaseOf() = default;

 private:
  CaseKind kind_;
};

template <class Task>
class SelectOf {
 public:
  using Case = SelectCaseOf<Task>;
  using Node = WaitNodeOf<Task>;
  static constexpr std::size_t nobody = ~std::size_t{0};

  // `locks` has room for `count`.
  SelectOf(Case** cases, seam::SpinLock** locks, std::size_t count) : cases_(cases), locks_(locks), count_(count) {}

  // Which case has won.
  std::size_t won() const { return won_; }

  // One by one. random(n) is a number below n.
  template <class Random>
  bool look_one_by_one(Random&& random, Task*& woken) {
    std::size_t ready = 0;
    for (std::size_t i = 0; i < count_; ++i) ready += cases_[i]->looks_ready();
    if (ready == 0) return false;
    std::size_t skip = ready == 1 ? 0 : random(ready);
    std::size_t first = 0;  // stays 0 if what looked ready is over meanwhile: any start will do then
    for (std::size_t i = 0; ready > 1 && i < count_; ++i) {
      if (!cases_[i]->looks_ready() || skip-- > 0) continue;
      first = i;
      break;
    }
    for (std::size_t k = 0; k < count_; ++k) {
      const std::size_t i = first + k < count_ ? first + k : first + k - count_;
      Case& one = *cases_[i];
      if (!one.looks_ready()) continue;
      seam::SpinLock* lock = one.lock();
      if (lock != nullptr) lock->lock();
      const bool done = one.look(woken);
      if (lock != nullptr) lock->unlock();
      if (done) {
        won_ = i;
        return true;
      }
    }
    return false;
  }

  // All at once. True: one has won and the task is RUNNING. False: PARKING, linked everywhere.
  bool look_or_park(Task& task, std::size_t first, Task*& woken) {
    if (lock_count_ == 0) sort_locks();
    for (std::size_t i = 0; i < lock_count_; ++i) locks_[i]->lock();  // [SEL-3]
    bool done = false;
    for (std::size_t k = 0; k < count_ && !done; ++k) {
      const std::size_t i = first + k < count_ ? first + k : first + k - count_;
      done = cases_[i]->look(woken);
      if (done) won_ = i;
    }
    if (!done) {
      winner_ = nullptr;
      // [LP select published] PARKING and every link under the locks of all its objects [SEL-2]
      const Ticket ticket = task.word.begin_park();
      for (std::size_t i = 0; i < count_; ++i) {
        Node& node = cases_[i]->node;
        node.task = &task;
        node.ticket = ticket;
        node.winner = &winner_;
        node.number = static_cast<std::uint32_t>(i);
        cases_[i]->link(task);
      }
    }
    for (std::size_t i = lock_count_; i-- > 0;) locks_[i]->unlock();
    return done;
  }

  // After any wake, before anything else. The claimed node is out; its object may be gone.
  void unlink_losers() {
    for (std::size_t i = 0; i < count_; ++i) {
      Case& one = *cases_[i];
      if (&one.node == winner_) continue;
      seam::SpinLock* lock = one.lock();
      if (lock == nullptr) continue;
      lock->lock();
      one.unlink();
      lock->unlock();
    }
    if (winner_ == nullptr) return;
    won_ = winner_->number;
    cases_[won_]->claimed();
  }

  void set_won(std::size_t which) { won_ = which; }

 private:
  void sort_locks() {
    for (std::size_t i = 0; i < count_; ++i) {
      seam::SpinLock* lock = cases_[i]->lock();
      if (lock == nullptr) continue;
      std::size_t at = lock_count_;
      while (at > 0 && std::less<>{}(lock, locks_[at - 1])) --at;
      if (at > 0 && locks_[at - 1] == lock) continue;
      for (std::size_t k = lock_count_; k > at; --k) locks_[k] = locks_[k - 1];
      locks_[at] = lock;
      ++lock_count_;
    }
  }

  Case** cases_;
  seam::SpinLock** locks_;
  std::size_t count_;
  std::size_t lock_count_ = 0;
  Node* winner_ = nullptr;  // written by who claims, before it delivers
  std::size_t won_ = nobody;
};

}  // namespace weft::inline v0::detail
