// SPDX-License-Identifier: MIT
// What: the reporter of stack overflows. A touch of a fiber's guard prints the fiber's name, id, site and stack size
// from an alternate stack, then the process dies of SIGSEGV as it would have.
// Threads: installed once per process (the handler) and per thread (the alternate stack), at first use of a fiber.
#pragma once

namespace weft::inline v0::detail {

// An alternate signal stack for this thread unless it has one; null then. Also installs the process's handler.
void* install_alt_stack();
void remove_alt_stack(void* stack) noexcept;

}  // namespace weft::inline v0::detail
