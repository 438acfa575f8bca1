// SPDX-License-Identifier: MIT
// What: what time it is for a task, and steering a clock that does not run by itself. With RuntimeOptions::clock set to
// virtual, time starts at 0 and moves only when no task can run, no request to the outside is under way and nobody else
// is known who may do something: then to the next deadline at once. So a sleep of an hour takes microseconds, and two
// runs see the same times. Known are: an ExternalWait; a plain thread that has waited in a primitive or woken a task of
// this runtime, unless it has ended, drives a runtime or waits in a primitive without a deadline; another runtime that
// runs, or has a timer or a request out. A thread that has done neither yet is not known: let an ExternalWait speak for
// it.
//
//   weft::RuntimeOptions options;
//   options.clock = weft::RuntimeOptions::Clock::virtual_;
//   weft::run(options, [] {
//     auto reminder = weft::async([] { weft::sleep(1h); remind(); });
//     weft::advance(59min);  CHECK(!reminded);
//     weft::advance(1min);   CHECK(reminded);
//   });
//
// Deadlines are made from weft::now(), not from std::chrono::steady_clock::now().
#pragma once

#include <chrono>

namespace weft::inline v0 {

// Of the Io in force.
std::chrono::steady_clock::time_point now();

// Until no other task of the runtime can run: all have ended, or wait. Time does not move meanwhile if it is virtual.
void settle();

// Lets this much virtual time pass, with all that happens in it, until everything waits again.
void advance(std::chrono::nanoseconds span);

}  // namespace weft::inline v0
