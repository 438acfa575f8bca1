// SPDX-License-Identifier: MIT
// oneTBB's reduce, grain 1000, on two threads.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_reduce.h>

#include <vector>

#include "bench/harness.hpp"

namespace bench {
namespace {

std::vector<Reading> reduce() {
  const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism, 2);
  const std::vector<double> values(10'000'000, 1.0);
  double ms = 0;
  for (int round = 0; round < 2; ++round) {  // the first one warms
    const std::uint64_t t0 = now_ns(Clock::wall);
    const double sum = oneapi::tbb::parallel_reduce(
        oneapi::tbb::blocked_range<std::size_t>(0, values.size(), 1000), 0.0,
        [&](const oneapi::tbb::blocked_range<std::size_t>& r, double part) {
          for (std::size_t i = r.begin(); i != r.end(); ++i) part += values[i];
          return part;
        },
        std::plus<>{});
    ms = static_cast<double>(now_ns(Clock::wall) - t0) / 1e6;
    keep(sum);
  }
  return {{"reduce_2w/tbb", "ms", ms}};
}

const Register entry(Probe{"sched", "reduce_2w/tbb", Side::peer, 15, reduce});

}  // namespace
}  // namespace bench
