// SPDX-License-Identifier: MIT
// What: the place where one idle worker sleeps while others outside (descriptors, completions) may bring work. The
// engine of the floor io implements it; without one workers sleep on their futexes only.
//
//   who finds nothing          try_enter: wait() until something can be reaped, interrupt() or its time is up
//   who passes by              try_enter: reap() what is there
//   a waker                    IdleSet::notify: by the futex, or by interrupt() if its sleeper is in here
//
// Invariants
//   [POLL-1] One at a time is inside. Whoever could not enter has left word, and who leaves is told so: it looks again
//            itself before it sleeps, or, if it is no worker, wakes one [POLL-2].
//   [POLL-2] While a poller is there and all workers sleep, one of them is inside: a worker that is about to sleep
//            tries; if it fails, then somebody is inside who sleeps, or is awake and tries later.
//   [POLL-3] interrupt() is not lost: it ends the present wait(), or the next.
//   [POLL-4] A worker's visit brings few tasks (most_at_once): what it touches of each, in the kernel and here, is in
//            the cache still when that one runs. The rest stays where the next visit finds it.
// Rejected: as many as there are. With a thousand connections everything was fetched twice: echo by epoll, thousand
// requests a second in one alternating run of ten: 115 with 256 at once, 118 with 64, 135 with 32, 127 with 16.
// Threads: try_enter, interrupt, flush any; the rest by who is inside.
// Relaxed: the time of the last reap is a hint for sysmon.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/chain.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

// The way in.
class PollerRole {
 public:
  [[nodiscard]] bool try_enter() {
    std::uint32_t seen = role_.load(std::memory_order_relaxed);
    for (;;) {
      // acquire: what the last one inside left behind
      if (seen == open) {
        if (role_.compare_exchange_weak(seen, taken, std::memory_order_acquire, std::memory_order_relaxed)) return true;
      } else if (seen == wanted || role_.compare_exchange_weak(seen, wanted, std::memory_order_relaxed)) {
        return false;
      }
    }
  }
  // For who would not sleep instead: leaves no word.
  [[nodiscard]] bool try_pass() {
    std::uint32_t seen = role_.load(std::memory_order_relaxed);
    return seen == open &&
           role_.compare_exchange_strong(seen, taken, std::memory_order_acquire, std::memory_order_relaxed);
  }
  // True: somebody wanted in meanwhile.
  bool leave() { return role_.exchange(open, std::memory_order_release) == wanted; }
  bool is_open() const { return role_.load(std::memory_order_relaxed) == open; }

 private:
  static constexpr std::uint32_t open = 0, taken = 1, wanted = 2;
  seam::Atomic<std::uint32_t> role_{open};
};

class Poller {
 public:
  static constexpr unsigned most_at_once = 32;  // events of one reap() [POLL-4]

  Poller() = default;
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  virtual ~Poller() = default;

  PollerRole role;
  seam::Atomic<std::int64_t> reaped_at{0};

  // Until there may be something to reap, an interrupt, or the deadline; may end for nothing. False: its time is up.
  virtual bool wait(std::int64_t deadline) = 0;
  virtual void interrupt() = 0;
  // Does not wait, and may leave some for the next. Ready tasks go to `into`, but for those that are queued already
  // (pinned, of a strand, threads', of other runtimes). Returns how many are in `into`.
  virtual std::size_t reap(Chain& into) = 0;
  // Readable when there may be something to reap; -1: it has none.
  virtual int descriptor() const { return -1; }
  // By anybody, before it sleeps and now and then: what tasks have asked for goes to the kernel.
  virtual void flush() {}
};

}  // namespace weft::inline v0::detail
