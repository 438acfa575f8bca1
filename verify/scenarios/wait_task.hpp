// SPDX-License-Identifier: MIT
#pragma once
// What: a task as small as scenarios of wait/ need it: a word, a place in a run queue, a flag that asks it to stop. One
// logical thread is its stack and, once it was left, its successor.
#include <cstdint>
#include <string>
#include <utility>

#include "explorer/registry.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {

template <class Rules>
struct WaitTask {
  using Word = typename Rules::Word;
  using Reason = typename Rules::Reason;

  WaitTask() { word.make_fresh(), (void)word.run_on(1); }

  void enqueue() {
    check(word.look().left(), "queued before its stack was left");
    word.make_runnable();
    publish();
  }
  void publish() {
    check(queued.exchange(1, std::memory_order_release) == 0, "queued twice");
    seam::futex_wake(queued, 1);
  }
  // The word is PARKING.
  Reason park() {
    seam::light_fence();
    if (asked() && word.claim_own(Reason::cancel) == Word::Claimed::yes) return word.stay();
    if (word.delivered()) return word.stay();
    if (word.leave() == Word::Queue::you) enqueue();
    std::int64_t until = deadline;
    while (queued.exchange(0, std::memory_order_acquire) == 0) {
      if (seam::futex_wait(queued, 0, until) != seam::WaitResult::timed_out) continue;
      wake(Reason::timeout);  // by a timer, which may come too late
      until = seam::no_deadline;
    }
    return word.run_on(2);
  }
  void deliver() {
    if (word.deliver_runnable() == Word::Queue::you) publish();
  }
  // Asked to stop: by a flag and a wake that brings nothing.
  void cancel() {
    stop.store(1, std::memory_order_relaxed);
    seam::heavy_fence();
    wake(Reason::cancel);
  }
  bool asked() const { return stop.load(std::memory_order_relaxed) != 0; }
  void wake(Reason reason) {
    if (word.wake(word.look().ticket(), reason) == Word::Wake::queue_it) enqueue();
  }

  Word word;
  seam::Atomic<std::uint32_t> queued{0};
  seam::Atomic<int> stop{0};
  std::int64_t deadline = seam::no_deadline;  // of its waits, set before the threads start
};

// A time for it: any moment once it sleeps, and surely when nobody else can go on.
inline constexpr std::int64_t some_time = 2'000'000'000;

// A value that knows whether it was moved from.
struct Item {
  explicit Item(int n) : number(n) {}
  Item(Item&& other) noexcept : number(std::exchange(other.number, 0)) {}
  Item& operator=(Item&&) = delete;
  ~Item() = default;
  int number;
};

}  // namespace weft::inline v0::verify
