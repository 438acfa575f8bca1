// SPDX-License-Identifier: MIT
// What: who may run a fiber: at most one thread at a time. Biased towards the thread that made it, which takes and
// gives it up by plain stores; another thread first revokes the bias, for good, and from then on all use one CAS.
//
//   bias     number of the favoured thread, `revoking` while one takes the bias away, 0 when nobody is favoured
//   busy     1 while the favoured thread (or a single owner) runs it; written by that thread only
//   shared   1 while somebody runs it who won the CAS
//
// Invariants
//   [CLM-1] Favoured thread: busy = 1; light fence; bias still mine. Revoker: bias = revoking; heavy fence; busy?
//           Of the two at least one sees the other's store (SEAM-2), so they never both go on.
//   [CLM-2] Everybody who finds the bias neither his own nor 0 runs a heavy fence of his own before he looks at busy;
//           who finds 0 looks after a fence that somebody has finished (release/acquire on bias).
//   [CLM-3] The last action of a run is the release store of 0 to busy or shared; the next run begins with an acquire
//           of it, so everything the fiber did is visible.
// Threads: any. Two resumers that meet in the very moment of the revocation may both be refused, never both admitted.
// Rejected: a locked compare-exchange for every resume (+8 ns of 12: it drains the store buffer in front of a path
// that is all stores); plain loads and stores while the handle is unshared (two threads may share one handle object).
// Relaxed: the favoured thread's own flag and its guess of the bias, settled by the fences of [CLM-1]; a failed
// exchange reads nothing.
#pragma once

#include <cstdint>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

enum class ClaimKind : std::uint8_t { refused, biased, shared };

class Claim {
 public:
  static constexpr std::uint32_t nobody = 0;
  static constexpr std::uint32_t revoking = ~std::uint32_t{0};

  void favour(std::uint32_t thread) { bias_.store(thread, std::memory_order_relaxed); }

  // The fast path of the favoured thread. False: try take().
  [[gnu::always_inline]] bool take_biased(std::uint32_t me) {
    if (bias_.load(std::memory_order_relaxed) != me || busy_.load(std::memory_order_relaxed) != 0) return false;
    busy_.store(1, std::memory_order_relaxed);
    seam::light_fence();  // [CLM-1]
    if (bias_.load(std::memory_order_relaxed) == me) [[likely]]
      return true;
    busy_.store(0, std::memory_order_release);
    return false;
  }
  [[gnu::always_inline]] void give_up_biased() { busy_.store(0, std::memory_order_release); }

  // For a fiber that one owner holds, who hands it on with synchronisation of his own.
  [[gnu::always_inline]] bool take_owned() {
    if (busy_.load(std::memory_order_relaxed) != 0) return false;
    busy_.store(1, std::memory_order_relaxed);
    return true;
  }

  ClaimKind take(std::uint32_t me);
  void give_up(ClaimKind kind) { (kind == ClaimKind::biased ? busy_ : shared_).store(0, std::memory_order_release); }

  // Somebody runs it, or ran it when its chain froze.
  bool held() const {
    return busy_.load(std::memory_order_acquire) != 0 || shared_.load(std::memory_order_acquire) != 0;
  }

 private:
  seam::Atomic<std::uint32_t> bias_{nobody};
  seam::Atomic<std::uint32_t> busy_{0};
  seam::Atomic<std::uint32_t> shared_{0};
};

inline ClaimKind Claim::take(std::uint32_t me) {
  if (take_biased(me)) return ClaimKind::biased;
  const std::uint32_t bias = bias_.load(std::memory_order_acquire);
  if (bias == me) return ClaimKind::refused;  // its own thread runs it already
  if (bias != nobody) {
    bias_.store(revoking, std::memory_order_relaxed);
    seam::heavy_fence();  // [CLM-1] [CLM-2]
    bias_.store(nobody, std::memory_order_release);
  }
  std::uint32_t free = 0;
  if (!shared_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed))
    return ClaimKind::refused;
  if (busy_.load(std::memory_order_acquire) != 0) {
    shared_.store(0, std::memory_order_release);
    return ClaimKind::refused;
  }
  return ClaimKind::shared;
}

}  // namespace weft::inline v0::detail
