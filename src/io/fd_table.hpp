// SPDX-License-Identifier: MIT
// What: the descriptors of the process, by number.
// Invariants
//   [FD-5] Entries stay where they are for ever.
// Threads: any.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "io/fd_entry.hpp"
#include "weft/detail/wait_core.hpp"

namespace weft::inline v0::detail {

using FdEntry = FdEntryOf<TaskCore>;

inline constexpr std::size_t fd_chunk_size = 256;
inline constexpr std::size_t fd_chunk_count = 16384;  // four million: more than the kernel's default limit allows
struct FdChunk {
  FdEntry entries[fd_chunk_size];
};
extern seam::Atomic<FdChunk*> fd_chunks[fd_chunk_count];
// Null: there is no memory.
FdChunk* make_fd_chunk(seam::Atomic<FdChunk*>& place) noexcept;

// Of any number that may be a descriptor; null: it cannot be one, or there is no memory.
inline FdEntry* fd_entry(int fd) noexcept {
  const auto number = static_cast<std::size_t>(fd);  // of a negative one: far too large
  if (number >= fd_chunk_count * fd_chunk_size) return nullptr;
  seam::Atomic<FdChunk*>& place = fd_chunks[number / fd_chunk_size];
  FdChunk* chunk = place.load(std::memory_order_acquire);
  if (chunk == nullptr) [[unlikely]] {
    chunk = make_fd_chunk(place);
    if (chunk == nullptr) return nullptr;
  }
  return &chunk->entries[number % fd_chunk_size];
}

// The descriptor is ours from now on. Returns its issue, 0 without memory.
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

// A task's wait for a descriptor, as dumps and the deadlock watch see it.
class FdWait : public FdWaitOf<TaskCore> {
 public:
  FdWait(FdEntry& entry, const IoRequest& request, std::uint32_t want)
      : FdWaitOf<TaskCore>(entry, request.issue != 0, want), op_(request.op) {}
  WaitInfo info() const {
    WaitInfo info{to_string(op_), &entry_};
    info.outside = true;
    return info;
  }

 private:
  const IoOp op_;
};

}  // namespace weft::inline v0::detail
