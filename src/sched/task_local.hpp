// SPDX-License-Identifier: MIT
#pragma once

#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {

// The task ends on this root: its values die as a part of it.
void drop_locals(FiberCore* root, TaskCore* task);

}  // namespace weft::inline v0::detail
