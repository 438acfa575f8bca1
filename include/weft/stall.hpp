// SPDX-License-Identifier: MIT
// What: a task that kept its worker from everything else for too long: sysmon's record of it, one per stall.
#pragma once

#include <chrono>
#include <cstdint>
#include <source_location>
#include <string>

#include "weft/trace.hpp"

namespace weft::inline v0 {

struct StallReport {
  enum class Kind : std::uint8_t {
    blocked,    // in the kernel: a call that weft::blocking should have made
    computing,  // on a processor, or waiting for one, without a suspension point
  };
  Kind kind = Kind::blocked;
  unsigned worker = 0;
  std::uint64_t task = 0;  // id
  std::string name;
  std::source_location site;            // where it was spawned
  std::chrono::nanoseconds duration{};  // when it was noticed
  Trace stack;                          // empty if the thread did not answer
};
const char* to_string(StallReport::Kind kind);
std::string to_string(const StallReport& report);

}  // namespace weft::inline v0
