// SPDX-License-Identifier: MIT
//
// What: the one-word currency of all run queues: the address of a QueueLink and three kind bits.
// Invariants:
//   [ENTRY-1] An entry is one lock-free word, so no queue can tear it into one item's pointer and another's kind.
//   [ENTRY-2] An item stands in at most one linked queue (chain, inbox, overflow list): it has one link. Deque and ring
//             do not use the link.
// Rejected: pointer plus generation (two words: a Chase-Lev thief would read half of each); a separate node per queue
// position (an allocation on every push).
#pragma once

#include <cstdint>

#include "weft/detail/assert.hpp"

namespace weft::inline v0::detail {

class QueueLink;

class Entry {
 public:
  static constexpr unsigned kind_bits = 3;
  static constexpr unsigned kinds = 1u << kind_bits;

  constexpr Entry() = default;
  explicit Entry(QueueLink* link, unsigned kind = 0) : word_(reinterpret_cast<std::uintptr_t>(link) | kind) {
    WEFT_DEBUG(kind < kinds && link != nullptr, "an entry needs an item and a kind below 8");
  }
  static constexpr Entry from_word(std::uintptr_t word) {
    Entry entry;
    entry.word_ = word;
    return entry;
  }

  constexpr std::uintptr_t word() const { return word_; }
  constexpr explicit operator bool() const { return word_ != 0; }
  constexpr unsigned kind() const { return static_cast<unsigned>(word_ & (kinds - 1)); }
  QueueLink* link() const { return reinterpret_cast<QueueLink*>(word_ & ~static_cast<std::uintptr_t>(kinds - 1)); }

  // T derives from QueueLink; the caller knows by the kind that it is a T.
  template <class T>
  T* as() const {
    return static_cast<T*>(link());
  }

  friend constexpr bool operator==(Entry, Entry) = default;

 private:
  std::uintptr_t word_ = 0;  // 0: no entry
};

static_assert(sizeof(Entry) == sizeof(void*));

// Base of everything that can be queued.
class alignas(Entry::kinds) QueueLink {
 private:
  friend class Chain;
  friend class Inbox;
  Entry next_;  // belongs to the queue that the item stands in, to nobody otherwise
};

}  // namespace weft::inline v0::detail
