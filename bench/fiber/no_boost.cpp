// SPDX-License-Identifier: MIT
// Compiled instead of the Boost contestants where Boost.Context is not installed.
#include "bench/harness.hpp"

namespace bench {
namespace {
const bool told = [] {
  registry().missing_peers.emplace_back(
      "weft_bench: built without Boost.Context 1.81 (libboost-context1.81-dev): its rows are left out");
  return true;
}();
}  // namespace
}  // namespace bench
