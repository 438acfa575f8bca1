// SPDX-License-Identifier: MIT
// What: what the process knows of its descriptors: which use of a number is meant, who uses it just now, whether it is
// ready as far as an engine has heard, and who waits for that.
//
//   adopt -> an issue      enter ... leave by each operation      close: nobody enters any more, who waits is woken;
//                                                                 the last to leave closes the descriptor
//
// Invariants
//   [FD-1] A number is given back to the kernel only when nobody is between enter() and leave(): an operation never
//          meets the next owner of its number.
//   [FD-2] An event carries the issue for which it was asked. One of an earlier issue changes nothing.
//   [FD-3] `ready` is a hint that may be true for nothing, never false while the kernel has told otherwise: who was
//          told EAGAIN takes back what it saw, and not what has come since (the tick).
//   [FD-4] An event sets `ready` before it looks for waiters under the lock; a waiter looks at `ready` under the lock
//          before it links itself.
//   [FD-5] Entries stay where they are for ever.
// Threads: any.
// Relaxed: a word's first look, which its compare-exchange checks.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "weft/detail/wait_core.hpp"
#include "weft/detail/wait_spot.hpp"
#include "weft/io_request.hpp"

namespace weft::inline v0::detail {

// What is said when a descriptor is adopted.
enum FdKind : std::uint8_t {
  fd_plain = 0,
  fd_stream = 1,  // a short transfer means that there is no more
};

struct alignas(64) FdEntry {
  static constexpr std::uint64_t closing_bit = std::uint64_t{1} << 31;
  static constexpr std::uint64_t users_mask = closing_bit - 1;
  static constexpr std::uint32_t tick = 8;  // above the bits of IoReady

  seam::Atomic<std::uint64_t> use{0};    // issue:32, closing:1, users:31
  seam::Atomic<std::uint32_t> ready{0};  // IoReady, tick
  seam::SpinLock lock;
  WaitListOf<TaskCore> waiters;           // guarded by lock; a node's number holds what it waits for
  seam::Atomic<std::uint64_t> engine{0};  // that watches this issue
  std::uint32_t threads = 0;              // guarded by lock; plain threads in poll(2)
  FdKind kind = fd_plain;

  std::uint32_t issue() const { return static_cast<std::uint32_t>(use.load(std::memory_order_acquire) >> 32); }
  bool closing() const { return (use.load(std::memory_order_acquire) & closing_bit) != 0; }

  // False: it is closed, or another issue.
  [[nodiscard]] bool enter(std::uint32_t mine) {
    std::uint64_t now = use.load(std::memory_order_relaxed);
    do {
      if (now >> 32 != mine || (now & closing_bit) != 0) return false;
    } while (!use.compare_exchange_weak(now, now + 1, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
  }
  // True: the caller is the last, and closes the descriptor.
  [[nodiscard]] bool leave() {
    const std::uint64_t before = use.fetch_sub(1, std::memory_order_acq_rel);
    return (before & closing_bit) != 0 && (before & users_mask) == 1;
  }

  // What was seen in `before` is not so any more.
  void unready(std::uint32_t before, std::uint32_t bits) {
    ready.compare_exchange_strong(before, before & ~bits, std::memory_order_relaxed);
  }
  // For who knows that it is not, whatever was heard.
  void unready(std::uint32_t bits) { ready.fetch_and(~bits, std::memory_order_relaxed); }
  // An engine has heard: sets the bits and claims who waits for one of them.
  void heard(std::uint32_t bits, ClaimedOf<TaskCore>& claimed) {
    std::uint32_t now = ready.load(std::memory_order_relaxed);
    // release: for who acquires it and then asks the kernel
    while (
        !ready.compare_exchange_weak(now, (now | bits) + tick, std::memory_order_release, std::memory_order_relaxed)) {
    }
    claim(bits, claimed);
  }
  void claim(std::uint32_t bits, ClaimedOf<TaskCore>& claimed);
};

// Of any number that may be a descriptor; null: it cannot be one, or there is no memory.
FdEntry* fd_entry(int fd) noexcept;

// The descriptor is ours from now on, non-blocking where that has a meaning. Returns its issue, 0 without memory.
std::uint32_t adopt_fd(int fd, FdKind kind) noexcept;
// Who has just left as the last one.
void close_left_fd(int fd) noexcept;

// One operation on a descriptor [FD-1].
class FdUse {
 public:
  explicit FdUse(const IoRequest& request) : fd_(request.fd), owned_(request.issue != 0) {
    entry_ = fd_entry(fd_);
    if (entry_ != nullptr && owned_ && !entry_->enter(request.issue)) entry_ = nullptr;
  }
  ~FdUse() {
    if (entry_ != nullptr && owned_ && entry_->leave()) close_left_fd(fd_);
  }
  FdUse(const FdUse&) = delete;
  FdUse& operator=(const FdUse&) = delete;

  explicit operator bool() const { return entry_ != nullptr; }
  FdEntry& operator*() const { return *entry_; }
  FdEntry* operator->() const { return entry_; }
  bool owned() const { return owned_; }

 private:
  const int fd_;
  const bool owned_;
  FdEntry* entry_;
};

// A task's wait until a descriptor is ready for `want`, or closed.
class FdWait {
 public:
  FdWait(FdEntry& entry, const IoRequest& request, std::uint32_t want)
      : entry_(entry), request_(request), want_(want) {}
  WaitInfo info() const {
    WaitInfo info{to_string(request_.op), &entry_};
    info.outside = true;
    return info;
  }
  bool try_complete() {
    return (entry_.ready.load(std::memory_order_acquire) & want_) != 0 || (request_.issue != 0 && entry_.closing());
  }
  Published publish(TaskCore& me);
  void unpublish();

 private:
  FdEntry& entry_;
  const IoRequest& request_;
  const std::uint32_t want_;
  WaitSpotOf<TaskCore> spot_;
};

}  // namespace weft::inline v0::detail
