// SPDX-License-Identifier: MIT
// Go's twins, each a process of bench/peers/go, which CMake builds where a Go compiler is installed.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness.hpp"

namespace bench {
namespace {

struct GoRow {
  const char* group;
  const char* name;  // the twin's workload, and "/go"
  const char* unit;
  int runs;
  bool much_memory = false;
};
constexpr GoRow rows[] = {
    {"sched", "switch/go", "ns", 5},
    {"sched", "spawn_join_1w/go", "ns", 5},
    {"sched", "spawn_join_2w/go", "ns", 5},
    {"sched", "skynet_join_1w/go", "ms", 3},
    {"sched", "skynet_join_2w/go", "ms", 3},
    {"sched", "sleep_100k/go", "ms", 3},
    {"sched", "sleep_1m/go", "ms", 3, true},
    {"wait", "skynet_chan_2w/go", "ms", 3},
    {"wait", "ring_1w/go", "ns", 5},
    {"wait", "ring_2w/go", "ns", 5},
    {"wait", "pingpong_1w/go", "ns", 5},
    {"wait", "pingpong_2w/go", "ns", 5},
    {"wait", "spsc/go", "M/s", 5},
    {"wait", "mpmc_4x4/go", "M/s", 5},
    {"wait", "select2/go", "ns", 5},
    {"wait", "select8/go", "ns", 5},
    {"wait", "mutex_1w/go", "ns", 5},
    {"wait", "mutex_2w/go", "ns", 5},
    {"sched", "start_park_wake_join_1m/go", "ms", 3, true},
};

double ask(const std::string& workload) {
  const std::string command = std::string(WEFT_BENCH_GO) + " " + workload;
  FILE* pipe = popen(command.c_str(), "r");
  char text[64] = {};
  const bool read = pipe != nullptr && std::fgets(text, sizeof text, pipe) != nullptr;
  const bool ended = pipe != nullptr && pclose(pipe) == 0;
  if (!read || !ended) std::abort();  // the probe's child dies, and the row is missing
  return std::atof(text);
}

template <std::size_t row>
std::vector<Reading> probe() {
  const std::string name = rows[row].name;
  return {{name, rows[row].unit, ask(name.substr(0, name.find('/')))}};
}

const bool registered = []<std::size_t... row>(std::index_sequence<row...>) {
  (Register(Probe{rows[row].group, rows[row].name, Side::peer, rows[row].runs, probe<row>, rows[row].much_memory}),
   ...);
  return true;
}(std::make_index_sequence<std::size(rows)>{});

}  // namespace
}  // namespace bench
