// SPDX-License-Identifier: MIT
#pragma once
// What: a ring as src/io/kernel_ring.hpp has it, and a kernel behind it: serve() ends requests, in a logical thread of
// its own, and whoever submits a cancel looks for its request and then posts the answer, so the schedule decides which
// completion comes first. As long as a request is in there, the kernel may write where it was told to.
#include <linux/io_uring.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <vector>

#include "explorer/registry.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {

// What the kernel does.
struct RingPlan {
  int answer = 0;        // to the first cancel that finds a request; to the next it is 0
  int result = 1;        // of a request that somebody wanted to cancel
  bool hangs = false;    // ends only when a cancel was answered by 0
  bool drops = false;    // the first request ends by ECANCELED, though nobody asked
  bool refuses = false;  // takes nothing while completions have found no room, as kernels before 5.19
  int unwilling = 0;     // takes nothing that many times, for no reason
  unsigned places = 4;   // of the submission ring
  unsigned room = 4;     // of the completion ring
  bool late = false;     // cancels are answered by a thread of their own, answer()
};

class FakeRing {
 public:
  static constexpr int written = 7;
  static constexpr std::size_t buffers = 2;

  RingPlan plan;

  // --- As the kernel's ring.
  io_uring_sqe* next() {
    if (unsubmitted() == plan.places) return nullptr;
    io_uring_sqe* place = &entries_[tail_ % plan.places];
    std::memset(place, 0, sizeof *place);
    return place;
  }
  void commit() {
    count_.fetch_add(1, std::memory_order_release);
    ++tail_;
  }
  unsigned unsubmitted() const { return count_.load(std::memory_order_acquire); }

  long enter(unsigned count, unsigned least, const std::int64_t* limit) {
    if (count != 0 && plan.refuses && wants_entry()) return -EBUSY;
    if (count != 0 && unwilling_.load(std::memory_order_relaxed) < plan.unwilling) {
      unwilling_.fetch_add(1, std::memory_order_relaxed);
      return -EAGAIN;
    }
    if (count != 0) take(count);
    if (count == 0 || least != 0) {
      for (;;) {
        const std::uint32_t seen = posted_.load(std::memory_order_acquire);
        make_room();
        if (least == 0 || !completions_.empty()) break;
        const std::int64_t deadline = limit != nullptr ? *limit : seam::no_deadline;
        if (seam::futex_wait(posted_, seen, deadline) == seam::WaitResult::timed_out) return -ETIME;
      }
    }
    return static_cast<long>(count);
  }
  const io_uring_cqe* peek() const {
    (void)posted_.load(std::memory_order_acquire);
    return completions_.empty() ? nullptr : &completions_.front();
  }
  void seen() {
    if (completions_.front().user_data > 1) ++finals_seen;
    completions_.pop_front();
  }
  bool wants_entry() const {
    (void)posted_.load(std::memory_order_acquire);
    return !kept_.empty();
  }

  bool overflows() const { return !kept_.empty(); }

  // --- The kernel's threads.
  // Ends that many requests, of those that are there the newest first.
  void serve(int times) {
    while (times != 0) {
      const std::uint32_t seen = door_.load(std::memory_order_acquire);
      const Request* next = nullptr;
      for (const Request& request : requests_)
        if (!plan.hangs || request.is_over) next = &request;
      if (next == nullptr) {
        (void)seam::futex_wait(door_, seen, seam::no_deadline);
        continue;
      }
      check(!returned[next->buffer], "the kernel wrote into a buffer that was given back");
      memory[next->buffer].write(written);
      finish(next->mark);
      --times;
    }
  }
  void answer() {
    for (;;) {
      const std::uint32_t seen = late_.load(std::memory_order_acquire);
      if (!cancels_.empty()) {
        const io_uring_sqe cancel = cancels_.front();
        cancels_.pop_front();
        answer(cancel);
        continue;
      }
      if (stopped_) return;
      (void)seam::futex_wait(late_, seen, seam::no_deadline);
    }
  }
  void stop() {
    late_.fetch_add(1, std::memory_order_acq_rel);
    stopped_ = true;
    seam::futex_wake(late_, all);
  }

  // --- For checks. `returned` and `wanted` are written by who waits.
  bool holds(std::size_t buffer) const {
    for (const Request& request : requests_)
      if (request.buffer == buffer) return true;
    return false;
  }
  std::array<Plain<int>, buffers> memory;
  std::array<bool, buffers> returned{};
  std::array<bool, buffers> wanted{};  // somebody asked for the end of what is in there
  std::array<int, buffers> final{};    // what the last completion said
  int finals_seen = 0;                 // completions of requests that were read

 private:
  struct Request {
    std::uint64_t mark;
    std::size_t buffer;
    int asked = 0;
    bool is_over = false;
  };
  static constexpr int all = std::numeric_limits<int>::max();

  template <class F>
  Request* find(F&& is_it) {
    for (Request& request : requests_)
      if (is_it(request)) return &request;
    return nullptr;
  }
  // What follows an operation of the seam happens with it.
  void take(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      count_.fetch_sub(1, std::memory_order_release);
      const io_uring_sqe entry = entries_[head_++ % plan.places];
      if (entry.opcode == IORING_OP_NOP) {
        post(entry.user_data, 0);
      } else if (entry.opcode != IORING_OP_ASYNC_CANCEL) {
        door_.fetch_add(1, std::memory_order_acq_rel);
        requests_.push_back({entry.user_data, entry.addr});
        seam::futex_wake(door_, all);
      } else if (plan.late) {
        late_.fetch_add(1, std::memory_order_acq_rel);
        cancels_.push_back(entry);
        seam::futex_wake(late_, all);
      } else {
        answer(entry);
      }
    }
  }
  void answer(const io_uring_sqe& cancel) {
    int said = -ENOENT;
    if (Request* found = find([&](const Request& r) { return r.mark == cancel.addr; })) {
      check(wanted[found->buffer], "a cancel met a request that nobody wanted to end");
      said = found->asked++ == 0 ? plan.answer : 0;
      found->is_over = found->is_over || said == 0;
      if (plan.hangs && found->is_over) {
        door_.fetch_add(1, std::memory_order_acq_rel);
        seam::futex_wake(door_, all);
      }
    }
    post(cancel.user_data, said);
  }
  void finish(std::uint64_t mark) {
    posted_.fetch_add(1, std::memory_order_acq_rel);
    const bool dropped = plan.drops && !has_dropped_;
    has_dropped_ = true;
    std::erase_if(requests_, [&](const Request& request) {
      if (request.mark != mark) return false;
      final[request.buffer] = dropped ? -ECANCELED : request.asked != 0 ? plan.result : 1;
      keep(mark, final[request.buffer]);
      return true;
    });
    seam::futex_wake(posted_, all);
  }
  void post(std::uint64_t mark, int result) {
    posted_.fetch_add(1, std::memory_order_acq_rel);
    keep(mark, result);
    seam::futex_wake(posted_, all);
  }
  void keep(std::uint64_t mark, int result) {
    io_uring_cqe completion{};
    completion.user_data = mark;
    completion.res = result;
    kept_.push_back(completion);
    if (kept_.size() == 1) make_room();
  }
  void make_room() {
    while (!kept_.empty() && completions_.size() < plan.room) {
      completions_.push_back(kept_.front());
      kept_.pop_front();
    }
  }

  seam::Atomic<std::uint32_t> count_{0};   // committed, and not taken
  seam::Atomic<std::uint32_t> door_{0};    // changes when serve() has something to do
  seam::Atomic<std::uint32_t> late_{0};    // the same for answer()
  seam::Atomic<std::uint32_t> posted_{0};  // changes when there is a completion
  std::array<io_uring_sqe, 4> entries_{};
  unsigned head_ = 0, tail_ = 0;
  std::vector<Request> requests_;
  std::deque<io_uring_sqe> cancels_;
  std::deque<io_uring_cqe> completions_;
  seam::Atomic<int> unwilling_{0};  // times; relaxed: under the engine's mutex
  std::deque<io_uring_cqe> kept_;   // that found no room
  bool stopped_ = false;
  bool has_dropped_ = false;
};

}  // namespace weft::inline v0::verify
