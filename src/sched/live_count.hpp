// SPDX-License-Identifier: MIT
// What: does any task live? Two counters that only grow, started and finished, in one shard per worker.
//
// Invariants
//   [LIVE-1] A task that nobody waits for is counted as started before it is pushed. A child is counted when it begins,
//            if it is more than a call in its joiner's place [PLACE-1]: until then, and for calls always, the owner of
//            its nursery stands for it, who ends later. Each is counted as finished after its last action that another
//            task or a reader may care for.
//   [LIVE-2] A reader reads all of finished, then all of started. Who was counted as finished has its own start and
//            those of all it spawned in view (release in finished, acquire in the reader), so equal sums mean that
//            nothing lived at the moment between the two.
//   [LIVE-3] Shard i < shards has one writer, worker i: a load and a store, no RMW. The shard outside() is for
//            everybody else and pays one.
// Threads: as [LIVE-3] says; the totals by anybody.
// Rejected: one counter up and down per shard. A task that moves between two reads is seen on neither.
// Relaxed: a shard's one writer reads its own value; started is ordered before the task by the push that publishes it
// [LIVE-1].
#pragma once

#include <cstdint>
#include <memory>

#include "weft/detail/cache_line.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

class LiveCount {
 public:
  explicit LiveCount(unsigned shards) : shards_(shards), shard_(std::make_unique<Shard[]>(shards + 1)) {}

  unsigned outside() const { return shards_; }

  void started(unsigned shard) { count(shard, shard_[shard].started, std::memory_order_relaxed); }
  void finished(unsigned shard) { count(shard, shard_[shard].finished, std::memory_order_release); }

  bool none_alive() const {
    const std::uint64_t finished = finished_total();
    return finished == started_total();
  }
  std::uint64_t started_total() const { return sum<&Shard::started>(); }
  std::uint64_t finished_total() const { return sum<&Shard::finished>(); }

 private:
  struct alignas(cache_line) Shard {
    seam::Atomic<std::uint64_t> started{0};
    seam::Atomic<std::uint64_t> finished{0};
  };
  static_assert(sizeof(Shard) == cache_line);

  void count(unsigned shard, seam::Atomic<std::uint64_t>& counter, std::memory_order order) {
    if (shard == shards_) [[unlikely]]
      counter.fetch_add(1, order);
    else
      counter.store(counter.load(std::memory_order_relaxed) + 1, order);
  }
  template <seam::Atomic<std::uint64_t> Shard::* counter>
  std::uint64_t sum() const {
    std::uint64_t total = 0;
    for (unsigned shard = 0; shard <= shards_; ++shard)
      total += (shard_[shard].*counter).load(std::memory_order_acquire);
    return total;
  }

  const unsigned shards_;
  const std::unique_ptr<Shard[]> shard_;
};

}  // namespace weft::inline v0::detail
