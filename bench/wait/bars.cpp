// SPDX-License-Identifier: MIT
// What channels and select have to reach. A bar in nanoseconds is for the machine of the peers' table; where another
// one runs, the same row against Go's in the same run tells more.
#include "bench/harness.hpp"

namespace bench {
namespace {

Bar limit(const char* row, const char* unit, double value, bool at_most) {
  return {"wait", row,     unit,
          value,  at_most, [row](const Results& results, Taken which) { return value_of(results, which, row); }};
}
Bar against_go(const char* row, double value) {
  return {"wait", std::string(row) + ", against Go", "x", value, true, [row](const Results& results, Taken which) {
            return compared(results, which, row, std::string(row) + "/go", [](double a, double b) { return a / b; });
          }};
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
    // Go's on the machine of the bars: 734, 158, 176, 265, 280, 202, 491.
    Register(against_go("skynet_chan_2w", 150.0 / 734)),
    Register(against_go("ring_1w", 60.0 / 158)),
    Register(against_go("ring_2w", 65.0 / 176)),
    Register(against_go("pingpong_1w", 60.0 / 265)),
    Register(against_go("pingpong_2w", 70.0 / 280)),
    Register(against_go("select2", 90.0 / 206)),
    Register(against_go("select8", 180.0 / 503)),
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
