// SPDX-License-Identifier: MIT
// What: options of an exploration that prints nothing.
#pragma once

#include <cstdint>

#include "weft/sim.hpp"

namespace weft_test {

inline weft::sim::ExploreOptions quietly(std::uint64_t seeds) {
  weft::sim::ExploreOptions options;
  options.seeds = seeds;
  options.quiet = true;
  return options;
}

}  // namespace weft_test
