// SPDX-License-Identifier: MIT
// What: the timers of Io: times at which a wait that a ParkToken names is to end. They are kept beside the wait and
// looked at by it: suspend_raw waits until the earliest of its own at most. So an armed timer costs no task and no
// place in a wheel, and an evicted one has no effect, even on a wait that has begun: it goes on.
// Threads: any, under the mutex; `count_` is exact for the task that armed.
// Relaxed: a task looks for what it has armed itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>

#include "weft/detail/seam.hpp"
#include "weft/io.hpp"

namespace weft::inline v0::detail {

class ParkTimers {
 public:
  TimerToken arm(std::int64_t when, const ParkToken& park) {
    const std::lock_guard guard(mutex_);
    timers_.emplace(park.task, Timer{++last_, park.number, when});
    count_.fetch_add(1, std::memory_order_relaxed);
    return {park.task, last_};
  }
  bool cancel(const TimerToken& token) {
    const std::lock_guard guard(mutex_);
    const auto range = timers_.equal_range(token.timer);
    for (auto at = range.first; at != range.second; ++at) {
      if (at->second.id != token.number) continue;
      erase(at);
      return true;
    }
    return false;
  }
  // Of this wait; no_deadline: none.
  std::int64_t earliest(const ParkToken& park) {
    std::int64_t first = seam::no_deadline;
    if (count_.load(std::memory_order_relaxed) == 0) return first;
    const std::lock_guard guard(mutex_);
    const auto range = timers_.equal_range(park.task);
    for (auto at = range.first; at != range.second; ++at)
      if (at->second.park == park.number) first = std::min(first, at->second.when);
    return first;
  }
  // The wait is over: its timers with it, fired or not.
  void forget(const ParkToken& park) {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    const std::lock_guard guard(mutex_);
    auto [at, end] = timers_.equal_range(park.task);
    while (at != end) at = erase(at);
  }

 private:
  struct Timer {
    std::uint64_t id;
    std::uint64_t park;
    std::int64_t when;
  };
  using Map = std::multimap<void*, Timer>;

  Map::iterator erase(Map::iterator at) {
    count_.fetch_sub(1, std::memory_order_relaxed);
    return timers_.erase(at);
  }

  seam::Atomic<std::uint32_t> count_{0};
  seam::Mutex mutex_;
  Map timers_;  // guarded by mutex_, as is last_
  std::uint64_t last_ = 0;
};

}  // namespace weft::inline v0::detail
