// SPDX-License-Identifier: MIT
// What the scheduler has to reach.
#include "bench/harness.hpp"

namespace bench {
namespace {

Bar at_most(const char* row, const char* unit, double limit) {
  return {"sched", row,  unit,
          limit,   true, [row](const Results& results, Taken which) { return value_of(results, which, row); }};
}

const Register bars[] = {
    Register(at_most("switch", "ns", 15)),
    Register(at_most("spawn_join_1w", "ns", 15)),
    Register(at_most("spawn_join_2w", "ns", 20)),
    Register(at_most("skynet_join_1w", "ms", 15)),
    Register(at_most("skynet_join_2w", "ms", 15)),
    Register(at_most("fib_1w", "ns", 9)),
    Register(at_most("fib_2w", "ns", 6)),
    Register(at_most("park_rss_100k", "bytes", 4500)),
    Register(at_most("park_rss_1m", "bytes", 4500)),
    Register(Bar{"sched", "reduce_2w, against oneTBB", "x", 1.1, true,
                 [](const Results& results, Taken which) {
                   return compared(results, which, "reduce_2w", "reduce_2w/tbb",
                                   [](double a, double b) { return a / b; });
                 }}),
    // Go's on the machine of the bars: 46.9, 222, 236, 829, 734.
    Register(against_go("sched", "switch", 15 / 46.9)),
    Register(against_go("sched", "spawn_join_1w", 15.0 / 222)),
    Register(against_go("sched", "spawn_join_2w", 20.0 / 236)),
    Register(against_go("sched", "skynet_join_1w", 15.0 / 829)),
    Register(against_go("sched", "skynet_join_2w", 15.0 / 734)),
    Register(against_go("sched", "sleep_1m", 1)),
    Register(against_go("sched", "start_park_wake_join_1m", 1)),
};

}  // namespace
}  // namespace bench
