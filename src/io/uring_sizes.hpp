// SPDX-License-Identifier: MIT
#pragma once

namespace weft::inline v0::detail {

// Of the rings of engines that are made from now on. A test makes them small.
struct UringSizes {
  unsigned entries = 256;
  unsigned completions = 4096;
};
extern UringSizes uring_sizes;

}  // namespace weft::inline v0::detail
