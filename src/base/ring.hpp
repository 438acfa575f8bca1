// SPDX-License-Identifier: MIT
//
// What: a bounded FIFO for any number of pushers and poppers, after Vyukov: each cell's sequence number says whose turn
// it is.
//
//   cell i, lap n:   sequence == position       free for the push with that position
//                    sequence == position + 1   filled, for the pop with that position
//                    sequence == position + capacity   free for the next lap
//
// Invariants:
//   [RING-1] A position is claimed by one CAS on pushed_ (or popped_); only its claimant touches the cell until it
//            stores the next sequence number.
//   [RING-2] All comparisons are differences modulo the counter's width, so wraparound is harmless as long as nobody
//            sleeps through a whole turn of the counter between its load and its CAS: with 64 bits, for ever.
//   [RING-3] pop may say "nothing" although a later push is complete, while an earlier pusher has claimed its cell and
//            not yet filled it. That pusher will announce its entry after filling, as every pusher does, so nothing is
//            forgotten. empty() counts claims: it is false then, and is the one to ask before going to sleep.
// Threads: any.
// Rejected: blocking or spinning for a slow neighbour (unfair under preemption): both sides give up instead, a full
// ring has an overflow list behind it.
// Relaxed: positions are handed out by their CAS alone, the cells' sequence numbers carry the data [RING-1].
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "weft/detail/cache_line.hpp"
#include "weft/detail/entry.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

// Counter is narrow only in tests of the wraparound.
template <class Counter>
class BasicRing {  // NOLINT(clang-analyzer-optin.performance.Padding): shared words on lines of their own
  using Difference = std::make_signed_t<Counter>;

 public:
  // The capacity is rounded up to a power of two, at least 2 (with one cell "filled" and "free again" were the same).
  explicit BasicRing(std::size_t capacity = 4096, Counter first_position = 0)
      : mask_(std::bit_ceil(std::max<std::size_t>(capacity, 2)) - 1),
        cells_(new Cell[mask_ + 1]),
        pushed_(first_position),
        popped_(first_position) {
    for (std::size_t i = 0; i <= mask_; ++i) {
      const Counter position = static_cast<Counter>(first_position + i);
      // relaxed: whoever hands the ring to other threads publishes it.
      cells_[position & mask_].sequence.store(position, std::memory_order_relaxed);
    }
  }
  BasicRing(const BasicRing&) = delete;
  BasicRing& operator=(const BasicRing&) = delete;

  std::size_t capacity() const { return mask_ + 1; }

  // False: full, or a popper a whole lap behind has not left its cell yet.
  [[nodiscard]] bool push(Entry entry) noexcept {
    // relaxed: a guess that the cell's sequence and the CAS check.
    Counter position = pushed_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[position & mask_];
      // acquire: pairs with the release in pop: its read of the entry is over.
      const Difference turn = difference(cell.sequence.load(std::memory_order_acquire), position);
      if (turn < 0) return false;
      if (turn > 0) {
        position = pushed_.load(std::memory_order_relaxed);
        continue;
      }
      // relaxed: it only hands out the position; the entry travels with the sequence [RING-1].
      if (pushed_.compare_exchange_weak(position, static_cast<Counter>(position + 1), std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
        cell.entry = entry;
        // release: the entry and the item, for the acquire in pop.
        cell.sequence.store(static_cast<Counter>(position + 1), std::memory_order_release);
        return true;
      }
    }
  }

  Entry pop() noexcept {
    Counter position = popped_.load(std::memory_order_relaxed);  // a guess, as in push
    for (;;) {
      Cell& cell = cells_[position & mask_];
      // acquire: pairs with the release in push.
      const Difference turn =
          difference(cell.sequence.load(std::memory_order_acquire), static_cast<Counter>(position + 1));
      if (turn < 0) return {};
      if (turn > 0) {
        position = popped_.load(std::memory_order_relaxed);
        continue;
      }
      if (popped_.compare_exchange_weak(position, static_cast<Counter>(position + 1), std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
        const Entry entry = cell.entry;
        // release: our read is over, for the acquire of the push one lap later.
        cell.sequence.store(static_cast<Counter>(position + mask_ + 1), std::memory_order_release);
        return entry;
      }
    }
  }

  // Claimed and not yet claimed by a pop [RING-3]; exact when nobody is at work. popped_ first: read the other way
  // round, a pop between the two looks could make a ring that was never empty look so.
  std::size_t size() const noexcept {
    // acquire, so that the second load is not done before the first.
    const Counter popped = popped_.load(std::memory_order_acquire);
    const Difference length = difference(pushed_.load(std::memory_order_acquire), popped);
    return length > 0 ? static_cast<std::size_t>(length) : 0;
  }
  bool empty() const noexcept { return size() == 0; }

 private:
  struct Cell {
    seam::Atomic<Counter> sequence;
    Entry entry;  // its claimant's [RING-1]
  };

  static Difference difference(Counter later, Counter earlier) { return static_cast<Difference>(later - earlier); }

  const std::size_t mask_;
  const std::unique_ptr<Cell[]> cells_;
  alignas(cache_line) seam::Atomic<Counter> pushed_;  // pushers
  alignas(cache_line) seam::Atomic<Counter> popped_;  // poppers
};

using Ring = BasicRing<std::uint64_t>;

}  // namespace weft::inline v0::detail
