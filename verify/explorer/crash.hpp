// SPDX-License-Identifier: MIT
#pragma once
// What: while one of these lives, a crash of the code under test (bad access, abort, overflow of a logical thread's
//   stack) is a failure of the scenario, with its schedule, instead of the end of the program. Crashes of anything else
//   stay what they are. Not with AddressSanitizer, which has more to say about a bad access than we do.
// Threads: the one OS thread that explores.

#include <signal.h>

#include <cstddef>
#include <memory>

namespace weft::inline v0::verify {

class CrashGuard {
 public:
  CrashGuard();
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

 private:
  static constexpr int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  static constexpr std::size_t alternate_size = 64 * 1024;  // the handler writes the report's first line, no more

  std::unique_ptr<std::byte[]> alternate_;
  stack_t outer_stack_{};
  struct sigaction outer_[sizeof signals / sizeof signals[0]] = {};
};

}  // namespace weft::inline v0::verify
