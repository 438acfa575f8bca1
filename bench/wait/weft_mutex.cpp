// SPDX-License-Identifier: MIT
// A hundred tasks that lock one mutex again and again, and count.
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

namespace bench {
namespace {

double mutex_ns(unsigned workers) {
  constexpr std::uint64_t tasks = 100;
  weft::RuntimeOptions options;
  options.workers = workers;
  weft::Runtime runtime(options);
  const auto round = [](std::uint64_t each) {
    weft::Mutex mutex;
    std::uint64_t count = 0;
    const std::uint64_t t0 = now_ns(Clock::wall);
    weft::with_nursery([&](weft::Nursery& n) {
      for (std::uint64_t k = 0; k < tasks; ++k)
        n.start([&mutex, &count, each] {
          for (std::uint64_t i = 0; i < each; ++i) {
            const std::lock_guard guard(mutex);
            ++count;
          }
        });
    });
    const double ns = static_cast<double>(now_ns(Clock::wall) - t0) / static_cast<double>(tasks * each);
    if (count != tasks * each) throw std::logic_error("a wrong count in mutex");
    return ns;
  };
  return runtime.run([&] {
    (void)round(1000);
    return round(100'000);
  });
}

Bar at_most(const char* row, double limit) {
  return {"wait", row,  "ns",
          limit,  true, [row](const Results& results, Taken which) { return value_of(results, which, row); }};
}

const Register entries[] = {
    Register(Probe{"wait", "mutex_1w", Side::weft, 15,
                   [] { return std::vector<Reading>{{"mutex_1w", "ns", mutex_ns(1)}}; }}),
    Register(Probe{"wait", "mutex_2w", Side::weft, 15,
                   [] { return std::vector<Reading>{{"mutex_2w", "ns", mutex_ns(2)}}; }}),
    Register(at_most("mutex_1w", 6)),
    Register(at_most("mutex_2w", 12)),
};

}  // namespace
}  // namespace bench
