// SPDX-License-Identifier: MIT
// What: WEFT_JUMPS_BACK, for a function that usually returns on another stack than the one it was called on last. It
// does so by an indirect jump (docs/adr/0016): a `ret` is guessed to go where the task before had called from, which is
// wrong wherever two places of a program take turns; the jump is guessed by where it went before.
// Rejected: for functions that often return without a switch, whose callers' own `ret` is then guessed wrong.
#pragma once

#if defined(__x86_64__) && !defined(WEFT_CONTEXT_BOOST)
// To __x86_return_thunk, src/fiber/entry_x86_64.S.
#define WEFT_JUMPS_BACK __attribute__((function_return("thunk-extern")))
#else
#define WEFT_JUMPS_BACK
#endif
