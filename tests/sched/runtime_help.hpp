// SPDX-License-Identifier: MIT
// What: what tests of whole runtimes share.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "doctest/doctest.h"
#include "sched/patience.hpp"
#include "sched/worker_counts.hpp"
#include "weft/runtime.hpp"

namespace weft_test {

using Clock = std::chrono::steady_clock;

inline weft::RuntimeOptions with_workers(unsigned workers) {
  weft::RuntimeOptions options;
  options.workers = workers;
  return options;
}

// Uses the processor, and never comes to a suspension point.
inline void compute_for(std::chrono::nanoseconds span) {
  const auto end = Clock::now() + span;
  while (Clock::now() < end) {
  }
}

// Somewhere to block: until somebody writes.
class Pipe {
 public:
  Pipe() { REQUIRE(pipe(ends_) == 0); }
  ~Pipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void wait() {
    char byte = 0;
    while (read(ends_[0], &byte, 1) < 0 && errno == EINTR) {  // a cancel disturbs it, and changes nothing
    }
  }
  void release(unsigned readers) {
    for (unsigned i = 0; i < readers; ++i) (void)!write(ends_[1], "x", 1);
  }

 private:
  int ends_[2];
};

}  // namespace weft_test
