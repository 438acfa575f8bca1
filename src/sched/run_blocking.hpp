// SPDX-License-Identifier: MIT
// What: weft::blocking for the runtime itself, which chooses what a cancel does before the call begins.
#pragma once

#include "weft/blocking.hpp"
#include "weft/detail/wait_core.hpp"

namespace weft::inline v0::detail {

// With Raise::yes a cancelled task does not begin the call; else whoever calls has asked.
void run_blocking(BlockingCall& call, Raise raise);

}  // namespace weft::inline v0::detail
