// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace weft::inline v0::detail {

// Of the rings of engines that are made from now on, and of what goes through them. A test makes them small.
struct UringSizes {
  unsigned entries = 256;
  unsigned completions = 4096;
  unsigned bytes = 1U << 30;           // that one request moves at most
  std::int64_t gathering_ns = 50'000;  // that what is sent in company waits for the next who sends, at most
};
extern UringSizes uring_sizes;

}  // namespace weft::inline v0::detail
