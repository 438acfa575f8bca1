// SPDX-License-Identifier: MIT
// What: SIGQUIT writes weft::dump() to stderr, as long as at least one of these lives. The handler only rings; a thread
// of its own writes. The handler that was there before comes back with the last of them.
// Threads: any.
#pragma once

#include <cstdint>

namespace weft::inline v0::detail {

class DumpSignal {
 public:
  DumpSignal();  // throws std::system_error: no thread to be had
  ~DumpSignal();
  DumpSignal(const DumpSignal&) = delete;
  DumpSignal& operator=(const DumpSignal&) = delete;
};

// How many dumps were written because of a signal.
std::uint32_t signalled_dumps();

}  // namespace weft::inline v0::detail
