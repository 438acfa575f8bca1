// SPDX-License-Identifier: MIT
// What: runs a probe in a forked child, so that what it does to the address space stays there.
#pragma once

#include <vector>

#include "bench/harness.hpp"

namespace bench {

// Empty, with a message on stderr, when the child died.
std::vector<Reading> in_child(std::vector<Reading> (*body)());

struct MemoryUse {
  double rss_bytes;
  double page_table_bytes;
};
MemoryUse memory_use();

}  // namespace bench
