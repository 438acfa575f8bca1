// SPDX-License-Identifier: MIT
// Switches between two tasks, wakes and starts others, ten thousand times each, without a trace: trace_cost.py counts
// what looking for one costs.
#include <cstdio>

#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

int main() {
  weft::RuntimeOptions options;
  options.workers = 1;
  options.sysmon = false;
  options.spec_assert = false;  // it wants to see each switch, too
  weft::Runtime runtime(options);
  constexpr int rounds = 10'000;
  long sum = 0;
  runtime.run([&] {
    weft::Channel<int> there{0};
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        for (int i = 0; i < rounds; ++i) sum += there.recv().value_or(0);
      });
      n.start([&] {
        for (int i = 0; i < rounds; ++i) weft::yield_now();
      });
      for (int i = 0; i < rounds; ++i) there.send(1);
      for (int i = 0; i < rounds; ++i) sum += n.spawn([] { return 1; }).join();
    });
  });
  std::printf("%ld\n", sum);
  return sum == 2 * rounds ? 0 : 1;
}
