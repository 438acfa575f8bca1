// SPDX-License-Identifier: MIT
// What: the halves of Io that the runtime and BlockingIo share: a permit of the running task, whatever runs it.
#pragma once

#include "sched/park_timers.hpp"
#include "weft/io.hpp"

namespace weft::inline v0::detail {

ParkToken open_park();
WaitResult wait_for_permit(const ParkToken& park, const ParkWish& wish, ParkTimers& timers, const TaskCore* holder);
void give_permit(const ParkToken& park) noexcept;
// Throws unless the token is one of the running task.
void check_own(const ParkToken& park, const char* verb);
[[noreturn]] void refuse_null_entry();

// Of the process, for threads without one.
Io& process_io();

}  // namespace weft::inline v0::detail
