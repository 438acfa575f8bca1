// SPDX-License-Identifier: MIT
// What: how a plain thread waits for a descriptor, in poll(2), and how who closes the descriptor gets it out of there.
// Invariants
//   [BELL-1] A closer that finds n threads in an entry puts n tokens into the bell, and each of those threads, whatever
//            woke it, takes one.
// Threads: wait: plain threads. ring: any.
#pragma once

#include <cstdint>

#include "io/fd_table.hpp"

namespace weft::inline v0::detail {

// Until the descriptor is ready for one of `want` (IoReady), or its entry closes. Answers what it is ready for, or the
// negated error number: ETIMEDOUT, EBADF.
long wait_on_thread(FdEntry& entry, int fd, bool owned, std::uint32_t want, std::int64_t deadline);
// For the threads that were counted in a closing entry.
void ring_thread_bell(std::uint32_t threads);

}  // namespace weft::inline v0::detail
