// SPDX-License-Identifier: MIT
// What: every task of every runtime of the process, as text: the tree of tasks, nurseries and children, each task with
// its id, name, state, what it waits for and how long, who holds that, where it was spawned, and its stack across
// fibers.
//
//   task 7 "server" PARKED sleep 12.5ms, spawned at main.cpp:31
//     in fiber 1029
//       at weft::v0::sleep(...) (runtime.cpp:371)
//       at serve() (main.cpp:18)
//     nursery of task 7: 1 child
//       task 9 RUNNING on worker 1, spawned at main.cpp:20
//
// Times are coarse (a quarter of a millisecond, a few while the runtime is idle). Tasks run on meanwhile: each line is
// right for one moment, and the moments differ. Stacks of running tasks are taken by a signal (SIGURG) on their
// threads, so a call of theirs may return EINTR, as for any signal.
// With WEFT_DUMP_SIGNAL=1 or RuntimeOptions::dump_signal the process writes it to stderr when it gets SIGQUIT.
// Threads: any, also tasks; not from a signal handler.
#pragma once

#include <cstdint>
#include <string>

namespace weft::inline v0 {

std::string dump();

// How many values of this process were sent into a channel, received by nobody, and destroyed with it.
// WEFT_LEAK_REPORT=1 tells it when a runtime is shut down.
std::uint64_t undelivered_values() noexcept;

}  // namespace weft::inline v0
