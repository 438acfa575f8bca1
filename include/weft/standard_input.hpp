// SPDX-License-Identifier: MIT
// What: descriptor 0, a pipe, a file or a terminal, read without holding a worker. It belongs to others as well (the
// shell, other processes of the same terminal): it is not made non-blocking, and never closed.
//
//   char room[4096];
//   while (const std::size_t n = weft::standard_input().read(room)) use(room, n);
//
// Verbs: as of Stream. Threads: any; who reads at the same time as another process may get what is there after it.
#pragma once

#include "weft/stream.hpp"

namespace weft::inline v0 {

class StandardInput {
 public:
  // At least one byte, unless there is no room; 0: the end.
  std::size_t read(Room room) const { return read_until(room, never); }
  std::size_t read_for(Room room, std::chrono::nanoseconds span) const;
  std::size_t read_until(Room room, Deadline deadline) const;
  IoResult read_result(Room room, Deadline deadline = never) const;
};

inline StandardInput standard_input() {
  return {};
}

}  // namespace weft::inline v0
