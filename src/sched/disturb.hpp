// SPDX-License-Identifier: MIT
// What: the signal that gets a thread out of a system call.
// Threads: any.
#pragma once

namespace weft::inline v0::detail {

// A real-time signal that the program does not use, with a handler that does nothing and without SA_RESTART; 0: all of
// them have handlers. Installed at the first call.
int disturbing_signal();

}  // namespace weft::inline v0::detail
