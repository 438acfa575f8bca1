// SPDX-License-Identifier: MIT
// What: how soon sysmon looks again, and how it is not missed when it slows down [SYSM-1].
//
//   sysmon                                     who does what it must know of (arms a timer, finds work)
//   heard = bell                               does it
//   looks                                      light fence
//   pace = how slow; heavy fence               the pace is slower than that allows: rings
//   looks again; sleeps unless the bell rang
//
// Either sysmon's second look sees it, or the other one sees the pace. A ring before the sleep is heard by the bell's
// number, which is read before everything.
// Threads: settle, back: sysmon. too_slow: any.
// Relaxed: the pace is ordered by the two fences.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

// How soon sysmon looks again.
enum class SysmonPace : std::uint8_t {
  fast,    // within a period
  slow,    // within longest_nap: who arms a timer that may be due before wakes it
  asleep,  // not by itself: who finds work wakes it, too
};

struct Pace {
  static constexpr std::int64_t longest_nap = 10'000'000;
  // By a worker's coarse clock, which may be as old as a nap, because sysmon sets it at each look.
  static constexpr std::int64_t soon = 2 * longest_nap;

  struct Rest {
    SysmonPace pace;
    std::int64_t until;
  };

  // plan(): a look at what there is. Returns how long to rest.
  template <class F>
  static Rest settle(seam::Atomic<SysmonPace>& pace, F&& plan) {
    Rest rest = plan();
    if (rest.pace == SysmonPace::fast) return rest;
    pace.store(rest.pace, std::memory_order_relaxed);
    seam::heavy_fence();
    const Rest again = plan();
    if (again.pace < rest.pace) rest = again;
    rest.until = std::min(rest.until, again.until);
    return rest;
  }
  static void back(seam::Atomic<SysmonPace>& pace) { pace.store(SysmonPace::fast, std::memory_order_relaxed); }

  // After the deed. True: ring.
  static bool too_slow(const seam::Atomic<SysmonPace>& pace, SysmonPace from) {
    seam::light_fence();
    return pace.load(std::memory_order_relaxed) >= from;
  }
};

}  // namespace weft::inline v0::detail
