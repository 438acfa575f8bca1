// SPDX-License-Identifier: MIT
#include <atomic>
#include <thread>

#include "doctest/doctest.h"
#include "sched/runtime_core.hpp"
#include "sched/runtime_help.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;

TEST_CASE("active count: it is the number of workers inside a task [W-079]") {
  for (const unsigned workers : worker_counts()) {
    CAPTURE(workers);
    RuntimeOptions options = with_workers(workers);
    options.sysmon = false;
    Runtime runtime(options);
    RuntimeCore& core = runtime.core();
    std::atomic<unsigned> inside{0};
    std::atomic<bool> go_on{false};
    runtime.run([&] {
      with_nursery([&](Nursery& nursery) {
        for (unsigned i = 0; i + 1 < workers; ++i) {
          nursery.start([&] {
            ++inside;
            while (!go_on.load()) std::this_thread::yield();
          });
        }
        while (inside.load() < workers - 1) std::this_thread::yield();
        CHECK(core.idle.active() == workers);
        go_on = true;
      });
      // All but this one are idle now.
      CHECK(eventually([&] { return core.idle.active() == 1; }));
    });
    CHECK(eventually([&] { return core.idle.active() == 0; }));
  }
}
