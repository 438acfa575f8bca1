// SPDX-License-Identifier: MIT
// What: the way from the scheduler to the engine of the floor io, which is linked but not included from here.
// Threads: io_submit and io_block_on by a task of the runtime, or by a plain thread, which then waits in poll(2).
#pragma once

#include <cstdint>

#include "sched/runtime_core.hpp"
#include "weft/io_request.hpp"

namespace weft::inline v0::detail {

// Performs the request. Throws Cancelled only, and not if it is quiet. Asks nobody above [src/io/submit.cpp].
IoResult io_submit(RuntimeCore& runtime, IoRequest& request);
// By whatever the caller is: a task of some runtime, or a plain thread.
IoResult io_submit_here(IoRequest& request);
// Until the descriptor is ready for one of `events` (IoReady); answers which, or the error.
IoResult io_block_on(RuntimeCore& runtime, int fd, std::uint32_t events, std::int64_t deadline);

}  // namespace weft::inline v0::detail
