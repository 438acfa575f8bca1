// SPDX-License-Identifier: MIT
// What: the environment variables of this floor that are not about the size or guard of stacks (those are read where
// stacks are made). Read once, when the first fiber of the process is made; what cannot be understood is a FiberError
// that names the variable, and is looked at again the next time.
// Threads: read_options from any; the flags are constant afterwards.
#pragma once

namespace weft::inline v0::detail {

// WEFT_MAX_DEPTH: the bound on nested resumes. WEFT_STACK_WATERMARK=1: see watermark.hpp.
void read_options();

extern bool option_watermark;

}  // namespace weft::inline v0::detail
