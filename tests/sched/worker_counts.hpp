// SPDX-License-Identifier: MIT
// What: the numbers of workers that tests of whole runtimes go through, and what a run of the matrix leaves of them
// (cmake/WeftMatrix.cmake): it sets WEFT_WORKERS, WEFT_POLICY and WEFT_SPEC_ASSERT.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

namespace weft_test {

// Does this run leave the variable open, or has it this value?
inline bool leaves_open(const char* variable, const std::string& value) {
  const char* set = std::getenv(variable);
  return set == nullptr || value == set;
}

inline std::vector<unsigned> worker_counts(unsigned least = 1) {
  std::vector<unsigned> counts;
  for (const unsigned count : {1U, 2U, 4U, 8U})
    if (count >= least && leaves_open("WEFT_WORKERS", std::to_string(count))) counts.push_back(count);
  return counts;
}

// For tests about the checks of the task lifecycle.
inline bool checks_are_on() {
  return leaves_open("WEFT_SPEC_ASSERT", "1");
}

// For tests about stealing: under the other policy there is nothing to see.
inline bool may_steal() {
  return leaves_open("WEFT_POLICY", "steal");
}

// For tests about children on their joiner's stack: the global policy runs nothing there.
inline bool may_run_in_place() {
  return may_steal() && leaves_open("WEFT_IN_PLACE", "1");
}

}  // namespace weft_test
