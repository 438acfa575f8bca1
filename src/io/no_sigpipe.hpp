// SPDX-License-Identifier: MIT
#pragma once

namespace weft::inline v0::detail {

// SIGPIPE is ignored from now on, unless the program has its own handler.
void ignore_sigpipe();

}  // namespace weft::inline v0::detail
