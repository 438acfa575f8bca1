// SPDX-License-Identifier: MIT
// What: runs a probe in a forked child, so that what it does to the address space stays there.
#pragma once

#include <vector>

#include "bench/harness.hpp"

namespace bench {

// Empty, with a message on stderr, when the child died.
std::vector<Reading> in_child(std::vector<Reading> (*body)());

// Touches gigabytes in a child and gives them back. Some hosts take from a guest what has been free for two seconds: a
// first touch then takes 10 us a page instead of 1.6, whoever comes first pays, and rows tell what ran before them.
void back_memory();

struct MemoryUse {
  double rss_bytes;
  double page_table_bytes;
};
MemoryUse memory_use();

}  // namespace bench
