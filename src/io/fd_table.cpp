// SPDX-License-Identifier: MIT
// Relaxed: an entry's first life, before anybody knows its issue.
#include "io/fd_table.hpp"

#include <memory>
#include <mutex>
#include <new>

#include "base/sys.hpp"
#include "io/thread_bell.hpp"

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

void FdEntry::claim(std::uint32_t bits, ClaimedOf<TaskCore>& claimed) {
  const std::lock_guard guard(lock);
  for (WaitNode* node = waiters.first(); node != nullptr;) {
    WaitNode* next = node->next;
    if ((node->number & bits) != 0)
      if (WaitNode* mine = waiters.claim(*node, WakeReason::data)) claimed.add(mine);
    node = next;
  }
}

std::uint32_t adopt_fd(int fd, FdKind kind) noexcept {
  FdEntry* entry = fd_entry(fd);
  if (entry == nullptr) return 0;
  std::uint32_t issue = entry->issue() + 1;
  if (issue == 0) issue = 1;
  entry->kind = kind;
  entry->engine.store(0, std::memory_order_relaxed);
  entry->ready.store(io_readable | io_writable, std::memory_order_relaxed);  // to be tried
  entry->use.store(std::uint64_t{issue} << 32, std::memory_order_release);
  ClaimedOf<TaskCore> strays;  // who waited for a number that was closed behind our back
  entry->claim(~std::uint32_t{0}, strays);
  deliver_all(strays);
  return issue;
}

void close_left_fd(int fd) noexcept {
  (void)sys::close(fd);
}

Published FdWait::publish(TaskCore& me) {
  const std::lock_guard guard(entry_.lock);
  if (try_complete()) return Published::done;
  spot_.node.number = want_ | io_hung_up;
  spot_.park_in(entry_.waiters, me);
  return Published::parking;
}

void FdWait::unpublish() {
  if (spot_.claimed()) return;
  const std::lock_guard guard(entry_.lock);
  entry_.waiters.remove(spot_.node);
}

}  // namespace weft::inline v0::detail
