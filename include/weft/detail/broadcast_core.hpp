// SPDX-License-Identifier: MIT
// What: the last `capacity` values, numbered, and those who wait for the next one. Nobody holds up the sender: a reader
// that is too slow finds the numbers it has missed gone.
//
//   numbers   ... [oldest kept] ... [newest]  next      reader at `at`: at < oldest kept: it has lagged
//
// Invariants
//   [CAST-1] A value gets its number, and all who wait are claimed, under one lock: nobody who comes later is among
//            them, nobody of them is left behind [B12].
//   [CAST-2] received + missed of a reader = the numbers it has passed. It never passes one twice.
//   [CAST-3] Nobody parks once it is closed, nor while there is a number it has not passed.
// Threads: any; a reader's position is its own. V's copy and move must not throw; they run under the lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "weft/detail/seam.hpp"
#include "weft/detail/wait_spot.hpp"

namespace weft::inline v0::detail {

enum class [[nodiscard]] Heard : std::uint8_t { value, nothing, closed };

template <class V, class Task>
class BroadcastCoreOf {
 public:
  using Spot = WaitSpotOf<Task>;
  using Claimed = ClaimedOf<Task>;

  explicit BroadcastCoreOf(std::size_t capacity) : kept_(capacity) {}

  // False: closed. The value that had to go is left in `value`, to be destroyed by the caller.
  bool send(V& value, Claimed& woken) {
    const std::lock_guard guard(lock_);
    if (closed_) return false;
    // [LP broadcast] numbered and all waiters claimed under the lock [CAST-1]
    std::swap(kept_[next_ % kept_.size()], value);
    next_ = next_ + 1;
    claim_all(WakeReason::data, woken);
    return true;
  }
  bool close(Claimed& woken) {
    const std::lock_guard guard(lock_);
    if (closed_) return false;
    closed_ = true;
    claim_all(WakeReason::closed, woken);
    return true;
  }

  // Moves `at` past what was missed and what is heard.
  Heard hear(std::uint64_t& at, std::uint64_t& missed, std::optional<V>& into) {
    const std::lock_guard guard(lock_);
    return look(at, missed, into);
  }
  Heard hear_or_park(std::uint64_t& at, std::uint64_t& missed, std::optional<V>& into, Task& task, Spot& spot) {
    const std::lock_guard guard(lock_);
    const Heard heard = look(at, missed, into);
    if (heard == Heard::nothing) spot.park_in(waiting_, task);
    return heard;
  }
  void leave(Spot& spot) {
    const std::lock_guard guard(lock_);
    waiting_.remove(spot.node);
  }

  // Advice.
  std::uint64_t next() const { return next_; }
  bool is_closed() const { return closed_; }
  std::size_t waiting() {
    const std::lock_guard guard(lock_);
    return waiting_.count();
  }

 private:
  Heard look(std::uint64_t& at, std::uint64_t& missed, std::optional<V>& into) {
    missed = 0;
    const std::uint64_t next = next_;
    if (at == next) return closed_ ? Heard::closed : Heard::nothing;
    const std::uint64_t oldest = next > kept_.size() ? next - kept_.size() : 0;
    if (at < oldest) {
      missed = oldest - at;
      at = oldest;
    }
    into.emplace(kept_[at % kept_.size()]);
    ++at;
    return Heard::value;
  }
  void claim_all(WakeReason reason, Claimed& woken) {
    while (auto* node = waiting_.claim_first(reason)) woken.add(node);
  }

  // Guarded by lock_; next() and is_closed() are advice.
  seam::SpinLock lock_;
  seam::Guessed<bool> closed_ = false;
  seam::Guessed<std::uint64_t> next_ = 0;
  WaitListOf<Task> waiting_;
  std::vector<V> kept_;
};

// For scenarios and their broken twins.
struct BroadcastRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Hear = Heard;
  template <class Task>
  using Spot = WaitSpotOf<Task>;
  template <class Task>
  using Claims = ClaimedOf<Task>;
  template <class V, class Task>
  using Core = BroadcastCoreOf<V, Task>;
};

}  // namespace weft::inline v0::detail
