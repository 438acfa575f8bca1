// SPDX-License-Identifier: MIT
// What: how work leaves a worker that will not run it: because it ends, or because it is stuck in the kernel.
// Invariants
//   [HAND-1] Everything that others may run goes to the shared queue; pinned tasks stay, they may run nowhere else.
//   [HAND-2] A worker that ends gives its timers to a base worker with a thread of its own; without one they stay, for
//            sysmon, or for the next who takes the place.
//   [HAND-3] Of a worker that is stuck a thousand at a time, while it stays so: it may have waited for a page only, and
//            a million tasks, moved one by one, would take longer than that.
// Threads: rescue_*: any. hand_over: the worker itself, on its own stack.
#pragma once

#include <cstddef>

#include "sched/runtime_core.hpp"

namespace weft::inline v0::detail {

// Returns how many entries were moved.
std::size_t rescue_inbox(RuntimeCore& runtime, Worker& from);
std::size_t rescue_queues(RuntimeCore& runtime, Worker& from);  // inbox, ready ones, unstarted ones

// DRAINING [WKR-3].
void hand_over(Worker& worker);

}  // namespace weft::inline v0::detail
