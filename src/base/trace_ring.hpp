// SPDX-License-Identifier: MIT
//
// What: the flight recorder of one worker: the last records of what it did, each of fixed size. The worker writes and
// never waits; somebody else may copy the records out at any time, also from a crash handler.
//
//   one slot:  stamp | time | a | b       stamp = (number + 1) << 16 | kind; 0: never written
//
// Invariants:
//   [TRACE-1] One writer. It overwrites the oldest record, without looking whether anybody reads.
//   [TRACE-2] The writer changes a slot's stamp first, then its three words, and raises next_ last. The reader looks
//             below next_ only, and keeps a slot only if the stamp is the expected one before and after reading the
//             words. The words are stored with release and loaded with acquire: a word of a newer record brings the
//             newer stamp with it. So torn records are seen and skipped.
//   [TRACE-3] Switched off, a record costs one relaxed load and a branch.
// Threads: record: the one writer. switch_on, snapshot: any.
// Rejected: one seqlock for the whole ring (a busy writer would starve the reader); fences instead of release stores
// (no cheaper on x86-64, and TSan does not follow them).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/detail/cache_line.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

struct TraceRecord {
  std::uint64_t number;  // counts all records of the ring, from 0
  std::int64_t time;     // as given by the writer
  std::uint64_t a;
  std::uint64_t b;
  std::uint16_t kind;
};

class TraceRing {
 public:
  struct Copied {
    std::size_t records = 0;    // at the front of the span, oldest first
    std::size_t skipped = 0;    // overwritten while we were reading
    std::uint64_t dropped = 0;  // written once, but overwritten or left out before we came
  };

  // Rounded up to a power of two. first_number is for tests of the wraparound.
  explicit TraceRing(std::size_t capacity, std::uint64_t first_number = 0)
      : mask_(std::bit_ceil(std::max<std::size_t>(capacity, 2)) - 1),
        first_(first_number),
        slots_(new Slot[mask_ + 1]()),
        next_(first_number) {}
  TraceRing(const TraceRing&) = delete;
  TraceRing& operator=(const TraceRing&) = delete;

  std::size_t capacity() const { return mask_ + 1; }

  // relaxed, both: what is recorded around the switching does not matter.
  void switch_on(bool on) noexcept { on_.store(on, std::memory_order_relaxed); }
  bool is_on() const noexcept { return on_.load(std::memory_order_relaxed); }

  void record(std::uint16_t kind, std::uint64_t a = 0, std::uint64_t b = 0) noexcept {
    if (is_on()) [[unlikely]]
      write(seam::monotonic_ns(), kind, a, b);
  }
  // With the time of a clock of the caller's, a virtual one for instance.
  void record_at(std::int64_t time, std::uint16_t kind, std::uint64_t a = 0, std::uint64_t b = 0) noexcept {
    if (is_on()) [[unlikely]]
      write(time, kind, a, b);
  }

  // The newest that fit into the span. Allocates nothing.
  Copied snapshot(std::span<TraceRecord> into) const noexcept {
    Copied copied;
    // acquire: pairs with the release in write; all records below are complete or overwritten.
    const std::uint64_t end = next_.load(std::memory_order_acquire);
    const std::uint64_t length = std::min<std::uint64_t>({end - first_, capacity(), into.size()});
    copied.dropped = end - first_ - length;
    for (std::uint64_t number = end - length; number != end; ++number) {
      if (read(number, into[copied.records])) {
        ++copied.records;
      } else {
        ++copied.skipped;
      }
    }
    return copied;
  }

 private:
  struct Slot {
    seam::Atomic<std::uint64_t> stamp;
    seam::Atomic<std::uint64_t> time;
    seam::Atomic<std::uint64_t> a;
    seam::Atomic<std::uint64_t> b;
  };

  // The number modulo 2^48, never 0. A reader would have to sleep through 2^48 records to be deceived.
  static std::uint64_t stamp_of(std::uint64_t number, std::uint16_t kind) {
    const std::uint64_t counted = (number + 1) << 16;
    return (counted != 0 ? counted : std::uint64_t{1} << 63) | kind;
  }

  [[gnu::noinline]] void write(std::int64_t time, std::uint16_t kind, std::uint64_t a, std::uint64_t b) noexcept {
    const std::uint64_t number = next_.load(std::memory_order_relaxed);  // own value
    Slot& slot = slots_[number & mask_];
    // relaxed: ordered before the words by their release, and published by next_ [TRACE-2].
    slot.stamp.store(stamp_of(number, kind), std::memory_order_relaxed);
    slot.time.store(static_cast<std::uint64_t>(time), std::memory_order_release);
    slot.a.store(a, std::memory_order_release);
    slot.b.store(b, std::memory_order_release);
    // release: the whole record, for the acquire in snapshot.
    next_.store(number + 1, std::memory_order_release);
  }

  bool read(std::uint64_t number, TraceRecord& record) const noexcept {
    const Slot& slot = slots_[number & mask_];
    // relaxed: next_ has published the record; a newer stamp just does not match.
    const std::uint64_t stamp = slot.stamp.load(std::memory_order_relaxed);
    const auto kind = static_cast<std::uint16_t>(stamp & 0xffff);
    if (stamp != stamp_of(number, kind)) return false;
    record.number = number;
    record.kind = kind;
    // acquire: before the second look, and pairs with the releases in write [TRACE-2].
    record.time = static_cast<std::int64_t>(slot.time.load(std::memory_order_acquire));
    record.a = slot.a.load(std::memory_order_acquire);
    record.b = slot.b.load(std::memory_order_acquire);
    return slot.stamp.load(std::memory_order_relaxed) == stamp;
  }

  const std::size_t mask_;
  const std::uint64_t first_;
  const std::unique_ptr<Slot[]> slots_;
  seam::Atomic<bool> on_{false};                          // any thread writes, rarely
  alignas(cache_line) seam::Atomic<std::uint64_t> next_;  // the writer
};

}  // namespace weft::inline v0::detail
