// SPDX-License-Identifier: MIT
// What: a barrier: who arrives waits until all of this phase have; then the next phase begins.
//
// Invariants
//   [BAR-1] The last to arrive begins the next phase and claims all who wait, in one step under the lock. Who arrives
//           for the next phase meanwhile is not among them [B12].
//   [BAR-2] An arrival stands: a cancel or a deadline ends the wait for the others, not the arrival.
//   [BAR-3] Delivered after the unlock, which is the last access: whoever goes on first may destroy it.
// Threads: any, under the lock.
#pragma once

#include <cstdint>
#include <mutex>

#include "weft/detail/seam.hpp"
#include "weft/detail/wait_spot.hpp"

namespace weft::inline v0::detail {

template <class Task>
class BarrierCoreOf {
 public:
  explicit BarrierCoreOf(std::int64_t parties) : parties_(parties) {}

  struct Arrival {
    std::uint64_t phase;
    bool last;
  };
  Arrival arrive(std::int64_t leaving) {
    ClaimedOf<Task> claimed;
    Arrival arrival{};
    {
      const std::lock_guard guard(lock_);
      parties_ -= leaving;
      arrived_ += 1 - leaving;
      arrival = {phase_, arrived_ >= parties_};
      if (arrival.last) {
        arrived_ = 0;
        ++phase_;
        while (auto* node = list_.claim_first(WakeReason::data)) claimed.add(node);
      }
    }
    claimed.deliver([](Task* task) { deliver_wake(task); });
    return arrival;
  }
  bool is_over(std::uint64_t phase) {
    const std::lock_guard guard(lock_);
    return phase_ != phase;
  }
  Published publish(Task& me, WaitSpotOf<Task>& spot, std::uint64_t phase) {
    const std::lock_guard guard(lock_);
    if (phase_ != phase) return Published::done;
    spot.park_in(list_, me);
    return Published::parking;
  }
  void leave(WaitSpotOf<Task>& spot) {
    const std::lock_guard guard(lock_);
    list_.remove(spot.node);
  }
  std::int64_t parties() {
    const std::lock_guard guard(lock_);
    return parties_;
  }

 private:
  // Guarded by lock_.
  std::int64_t parties_;
  std::int64_t arrived_ = 0;
  std::uint64_t phase_ = 0;
  WaitListOf<Task> list_;
  seam::SpinLock lock_;
};

template <class Task>
class BarrierWaitOf {
 public:
  BarrierWaitOf(BarrierCoreOf<Task>& barrier, std::uint64_t phase) : barrier_(barrier), phase_(phase) {}
  bool try_complete() { return barrier_.is_over(phase_); }
  Published publish(Task& me) { return barrier_.publish(me, spot_, phase_); }
  void unpublish() {
    if (!spot_.claimed()) barrier_.leave(spot_);
  }

 private:
  BarrierCoreOf<Task>& barrier_;
  std::uint64_t phase_;
  WaitSpotOf<Task> spot_;
};

struct BarrierRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Outcome = Published;
  template <class Task>
  using Core = BarrierCoreOf<Task>;
  template <class Task>
  using Wait = BarrierWaitOf<Task>;
};

}  // namespace weft::inline v0::detail
