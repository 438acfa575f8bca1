// SPDX-License-Identifier: MIT
// What: the two rings of io_uring, set up and entered by our own system calls, so that every one of them goes through
// the syscall seam. What the kernel shares with us is read and written here only.
// Invariants
//   [RING-1] The tail of the submission ring moves after the entry is written (release); the head of the completion
//            ring moves after the entry was read (release), and its tail is acquired.
// Threads: submission by one at a time (the engine's mutex), completion by one at a time (who is inside the poller);
// enter by any.
// Rejected: liburing. Its system calls cannot be made to fail by a test, and programs would have to link it.
#pragma once

#include <linux/io_uring.h>

#include <cstddef>
#include <cstdint>

struct timespec;

namespace weft::inline v0::detail {

class KernelRing {
 public:
  KernelRing() = default;
  ~KernelRing();
  KernelRing(const KernelRing&) = delete;
  KernelRing& operator=(const KernelRing&) = delete;

  // 0, or the negated error number; ENOSYS as well if the kernel has io_uring without what we need.
  long open(unsigned entries, unsigned completions);

  int descriptor() const { return fd_; }
  // A place for the next request, cleared; null: the ring is full.
  io_uring_sqe* next();
  void commit();                 // it is written
  unsigned unsubmitted() const;  // a look from anywhere

  // Submits up to `count`, and waits for `least` completions if that is not 0. What the kernel says.
  long enter(unsigned count, unsigned least, const timespec* limit) const;

  const io_uring_cqe* peek() const;  // the oldest completion, or null
  void seen();                       // it was read
  bool wants_entry() const;          // the kernel keeps completions that found no room, or that somebody has to fetch
  bool overflows() const;            // the former
  bool polls_first() const { return polls_first_; }  // it knows IORING_RECVSEND_POLL_FIRST

 private:
  int fd_ = -1;
  bool polls_first_ = false;
  void* rings_ = nullptr;
  std::size_t rings_size_ = 0;
  io_uring_sqe* entries_ = nullptr;
  std::size_t entries_size_ = 0;
  const io_uring_cqe* completions_ = nullptr;
  unsigned* sq_head_ = nullptr;
  unsigned* sq_tail_ = nullptr;
  unsigned* sq_flags_ = nullptr;
  unsigned sq_mask_ = 0;
  unsigned* cq_head_ = nullptr;
  unsigned* cq_tail_ = nullptr;
  unsigned cq_mask_ = 0;
};

}  // namespace weft::inline v0::detail
