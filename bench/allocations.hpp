// SPDX-License-Identifier: MIT
// What: counts calls of malloc and its family, operator new included, while counting is on.
// Rejected: replacing operator new only: it does not see __cxa_allocate_exception and C code. Counting always: an
// atomic add in every malloc would slow down the contestants that allocate.
#pragma once

#include <cstdint>

namespace bench {

bool allocations_are_counted();  // false under sanitizers, which bring their own malloc
void start_counting_allocations();
std::uint64_t stop_counting_allocations();

}  // namespace bench
