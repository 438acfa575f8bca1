// SPDX-License-Identifier: MIT
// What: names for code addresses: libbacktrace where it was found at configure time (file and line, inlined calls),
// else the dynamic symbol table.
// Threads: any. Not for signal handlers.
#pragma once

#include <vector>

#include "weft/trace.hpp"

namespace weft::inline v0::detail {

// `address` is a return address unless `exact`: the call before it is what is named.
void resolve_address(const void* address, bool exact, std::vector<ResolvedFrame>& frames);

}  // namespace weft::inline v0::detail
