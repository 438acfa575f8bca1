// SPDX-License-Identifier: MIT
// What: marks functions that a signal handler on the alternate stack runs and that have locals whose addresses are
//   taken. ASan (detect_stack_use_after_return) gives such locals a place among those of the interrupted stack; after a
//   throw it takes the places of all frames below the asking one for free. Seen from the alternate stack these are the
//   frames of a fiber that will go on with them.
#pragma once

#define WEFT_IN_HANDLER [[gnu::no_sanitize_address]]
