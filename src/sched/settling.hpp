// SPDX-License-Identifier: MIT
// What: those who wait until nothing else can run (weft::settle), and the look that finds it so.
// Threads: any.
// Relaxed: a hint for who goes to sleep; the truth is under the mutex.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/detail/seam.hpp"
#include "weft/io.hpp"

namespace weft::inline v0::detail {

struct RuntimeCore;
struct Worker;

class Settling {
 public:
  bool anybody() const { return count_.load(std::memory_order_relaxed) != 0; }
  void add(const ParkToken& park) {
    const std::lock_guard guard(mutex_);
    waiting_.push_back(park);
    count_.store(1, std::memory_order_relaxed);
  }
  // False: it was taken.
  bool remove(const ParkToken& park) {
    const std::lock_guard guard(mutex_);
    const bool there = std::erase(waiting_, park) != 0;
    if (waiting_.empty()) count_.store(0, std::memory_order_relaxed);
    return there;
  }
  std::vector<ParkToken> take_all() {
    const std::lock_guard guard(mutex_);
    count_.store(0, std::memory_order_relaxed);
    return std::exchange(waiting_, {});
  }
  // One at a time looks.
  seam::Mutex& looking() { return looking_; }

 private:
  seam::Mutex mutex_;
  seam::Mutex looking_;
  std::vector<ParkToken> waiting_;  // guarded by mutex_
  seam::Atomic<std::uint32_t> count_{0};
};

// By a worker that has announced its sleep: if nothing can run in the whole runtime, wakes who settles, or moves the
// virtual time (not past `limit`). True: there is something to do now.
bool move_on_if_quiet(RuntimeCore& runtime, Worker& worker, std::int64_t limit);

// While one lives the world owes the runtime an answer: virtual time stands.
class Outside {
 public:
  explicit Outside(RuntimeCore& runtime);
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  RuntimeCore& runtime_;
};

}  // namespace weft::inline v0::detail
