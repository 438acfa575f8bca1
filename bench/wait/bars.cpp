// SPDX-License-Identifier: MIT
// What channels, select and mutexes have to reach.
#include "bench/harness.hpp"

namespace bench {
namespace {

Bar limit(const char* row, const char* unit, double value, bool at_most) {
  return {"wait", row,     unit,
          value,  at_most, [row](const Results& results, Taken which) { return value_of(results, which, row); }};
}

const Register bars[] = {
    Register(limit("skynet_chan_2w", "ms", 150, true)),
    Register(limit("ring_1w", "ns", 60, true)),
    Register(limit("ring_2w", "ns", 65, true)),
    Register(limit("pingpong_1w", "ns", 60, true)),
    Register(limit("pingpong_2w", "ns", 70, true)),
    Register(limit("spsc", "M/s", 70, false)),
    Register(limit("mpmc_4x4", "M/s", 70, false)),
    Register(limit("select2", "ns", 90, true)),
    Register(limit("select8", "ns", 180, true)),
    Register(limit("mutex_1w", "ns", 6, true)),
    Register(limit("mutex_2w", "ns", 12, true)),
    // Go's on the machine of the bars: 734, 158, 176, 265, 280, 24.7, 13.8, 206, 503, 6.2, 29.5.
    Register(against_go("wait", "skynet_chan_2w", 150.0 / 734)),
    Register(against_go("wait", "ring_1w", 60.0 / 158)),
    Register(against_go("wait", "ring_2w", 65.0 / 176)),
    Register(against_go("wait", "pingpong_1w", 60.0 / 265)),
    Register(against_go("wait", "pingpong_2w", 70.0 / 280)),
    Register(against_go("wait", "spsc", 70.0 / 24.7, false)),
    Register(against_go("wait", "mpmc_4x4", 70.0 / 13.8, false)),
    Register(against_go("wait", "select2", 90.0 / 206)),
    Register(against_go("wait", "select8", 180.0 / 503)),
    Register(against_go("wait", "mutex_1w", 6.0 / 6.2)),
    Register(against_go("wait", "mutex_2w", 12.0 / 29.5)),
    Register(Bar{"wait", "a pipeline with work, two workers against one", "x", 1.7, false,
                 [](const Results& results, Taken which) {
                   return compared(results, which, "pipeline_1w", "pipeline_2w",
                                   [](double a, double b) { return a / b; });
                 }}),
    Register(Bar{"wait", "batches against single messages", "x", 1.0, false,
                 [](const Results& results, Taken which) {
                   return compared(results, which, "spsc_batched", "spsc", [](double a, double b) { return a / b; });
                 }}),
};

}  // namespace
}  // namespace bench
