// SPDX-License-Identifier: MIT
// What: the deadline of a verb that was given a span.
#pragma once

#include <chrono>

#include "weft/scope.hpp"
#include "weft/stream.hpp"

namespace weft::inline v0::detail {

// Throws for a negative span. Never, if that is further away than the clock can say.
inline Deadline deadline_for(std::chrono::nanoseconds span) {
  const std::int64_t when = deadline_after(span);
  return when == seam::no_deadline ? never : Deadline(std::chrono::nanoseconds(when));
}

}  // namespace weft::inline v0::detail
