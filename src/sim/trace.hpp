// SPDX-License-Identifier: MIT
// What: what has happened in a run, as bytes that are equal wherever the run is repeated, and as lines to be read.
// Invariants
//   [TRACE-1] No address, no real time, no source line (compilers differ on those of a default argument), nothing whose
//             width depends on the machine: kinds, numbers as little-endian groups of seven bits, and names of the
//             program's own.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::inline v0::detail {

class SimTrace {
 public:
  enum Kind : char {
    begins = 'B',   // task, name: seen for the first time
    goes_on = 'R',  // task
    chooses = 'C',  // stream, value, limit
    waits = 'W',    // task, kind: comes to a suspension point
    time = 'T',     // ns
    answer = 'I',   // descriptor, result, op
    note = 'N',     // 0, text
    fails = 'F',    // kind of failure
  };

  void add(Kind kind, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0, std::string_view text = {});
  const std::string& bytes() const { return bytes_; }
  std::uint64_t hash() const;

  // What stands where two of them begin to differ: "event 12: ... / ..."; empty if they are equal.
  static std::string difference(const SimTrace& first, const SimTrace& second);
  std::string text() const;

 private:
  std::string bytes_;
};

}  // namespace weft::inline v0::detail
