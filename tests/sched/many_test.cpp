// SPDX-License-Identifier: MIT
// Few workers, any number of tasks.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "doctest/doctest.h"
#include "sched/runtime_core.hpp"
#include "sched/runtime_help.hpp"
#include "sched/sysmon.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

TEST_CASE("many: two workers never become more than four, and a million tasks complete on them [W-005]") {
  weft::RuntimeOptions options = with_workers(2);
  options.stall_report = false;
  options.stall_after = 2ms;
  options.scale_interval = 2ms;
  weft::Runtime runtime(options);
  CHECK(runtime.options().max_workers == 4);
  std::atomic<unsigned> most = 0;
  std::atomic<bool> watching = true;
  std::thread watcher([&] {
    while (watching) {
      most = std::max(most.load(), runtime.core().threads());
      std::this_thread::sleep_for(100us);
    }
  });
  Pipe pipe;
  std::atomic<int> blocked = 0;
  std::atomic<int> done = 0;
  std::thread outside([&] {
    // Six that block hold all four for a while: nobody comes for the fifth and the sixth.
    CHECK(eventually([&] { return blocked == 4; }));
    const auto capped = [&] { return runtime.core().sysmon->pressure().block_capped; };
    CHECK(eventually([&, before = capped()] { return capped() > before + 1; }));
    CHECK(blocked == 4);
    CHECK(runtime.core().threads() == 4);
    pipe.release(6);
  });
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 6; ++i)
        n.start([&] {
          ++blocked;
          pipe.wait();
        });
    });
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 1'000'000; ++i) n.start([&] { done.fetch_add(1, std::memory_order_relaxed); });
    });
  });
  outside.join();
  watching = false;
  watcher.join();
  CHECK(done == 1'000'000);
  CHECK(most <= 4);
}
