// SPDX-License-Identifier: MIT
#include "io/fd_table.hpp"

#include <cstddef>
#include <new>

#include "base/sys.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr std::size_t chunk_entries = 256;
constexpr std::size_t chunk_count = 16384;  // four million descriptors: more than the kernel's default limit allows

struct Chunk {
  FdEntry entries[chunk_entries];
};
seam::Atomic<Chunk*> chunks[chunk_count];

}  // namespace

FdEntry* fd_entry(int fd) noexcept {
  if (fd < 0 || static_cast<std::size_t>(fd) >= chunk_count * chunk_entries) return nullptr;
  const auto number = static_cast<std::size_t>(fd);
  seam::Atomic<Chunk*>& place = chunks[number / chunk_entries];
  Chunk* chunk = place.load(std::memory_order_acquire);
  if (chunk == nullptr) [[unlikely]] {
    auto* made = new (std::nothrow) Chunk;
    if (made == nullptr) return nullptr;
    if (place.compare_exchange_strong(chunk, made, std::memory_order_acq_rel, std::memory_order_acquire)) {
      chunk = made;
    } else {
      delete made;
    }
  }
  return &chunk->entries[number % chunk_entries];
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
