// SPDX-License-Identifier: MIT
// What: how many scenarios each area has, and how far they go: weft_verify --table.
#pragma once

namespace weft::inline v0::verify {

// To stdout. False: fewer than is promised are complete at two preemptions, or a scenario file stands in no area.
bool print_table();

}  // namespace weft::inline v0::verify
