// SPDX-License-Identifier: MIT
#include "io/fd_table.hpp"

#include <new>

#include "base/sys.hpp"

namespace weft::inline v0::detail {

seam::Atomic<FdChunk*> fd_chunks[fd_chunk_count];

FdChunk* make_fd_chunk(seam::Atomic<FdChunk*>& place) noexcept {
  auto* made = new (std::nothrow) FdChunk;
  FdChunk* there = nullptr;
  if (made == nullptr ||
      place.compare_exchange_strong(there, made, std::memory_order_acq_rel, std::memory_order_acquire))
    return made;
  delete made;
  return there;
}

std::uint32_t adopt_fd(int fd, FdKind kind) noexcept {
  FdEntry* entry = fd_entry(fd);
  if (entry == nullptr) return 0;
  const std::uint32_t issue = entry->adopt(kind);
  ClaimedOf<TaskCore> strays;  // who waited for a number that was closed behind our back
  entry->claim(~std::uint32_t{0}, strays);
  deliver_all(strays);
  return issue;
}

void close_left_fd(int fd) noexcept {
  (void)sys::close(fd);
}

}  // namespace weft::inline v0::detail
