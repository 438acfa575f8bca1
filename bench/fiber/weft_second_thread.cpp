// SPDX-License-Identifier: MIT
// The same operations while a second thread exists: what libraries do more cheaply in a process with one thread shows
// here.
#include <atomic>
#include <string_view>
#include <thread>

#include "bench/harness.hpp"

namespace bench {
namespace {

bool repeated(std::string_view workload) {
  return workload == "resume_yield" || workload == "resume_yield_sites" || workload == "generator" ||
         workload == "create_run_destroy" || workload == "protect";
}

std::vector<Reading> with_second_thread() {
  std::atomic<bool> stop{false};
  std::thread sleeper([&] { stop.wait(false); });
  std::vector<Reading> readings;
  for (const Contestant& c : registry().contestants) {
    if (c.side != Side::weft || std::string_view(c.group) != "fiber" || std::string_view(c.name) != "weft") continue;
    if (!repeated(c.workload)) continue;
    Batch batch(300'000, c.clock, false);
    c.body(batch);
    readings.push_back({std::string("second_thread/") + c.workload, "ns", batch.ns_per_op()});
  }
  stop.store(true);
  stop.notify_all();
  sleeper.join();
  return readings;
}

const Register entry(Probe{"fiber", "second_thread", Side::weft, 15, with_second_thread});

}  // namespace
}  // namespace bench
