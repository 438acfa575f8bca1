// SPDX-License-Identifier: MIT
// Go's twins, each a process of bench/peers/go, which CMake builds where a Go compiler is installed.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/harness.hpp"

namespace bench {
namespace {

double ask(const std::string& workload) {
  const std::string command = std::string(WEFT_BENCH_GO) + " " + workload;
  FILE* pipe = popen(command.c_str(), "r");
  char text[64] = {};
  const bool read = pipe != nullptr && std::fgets(text, sizeof text, pipe) != nullptr;
  const bool ended = pipe != nullptr && pclose(pipe) == 0;
  if (!read || !ended) std::abort();  // the probe's child dies, and the row is missing
  return std::atof(text);
}

template <int row>
std::vector<Reading> probe();
struct GoRow {
  const char* name;
  const char* unit;
};
constexpr GoRow rows[] = {{"switch", "ns"},         {"spawn_join_1w", "ns"},  {"spawn_join_2w", "ns"},
                          {"skynet_join_1w", "ms"}, {"skynet_join_2w", "ms"}, {"sleep_100k", "ms"},
                          {"sleep_1m", "ms"}};
template <int row>
std::vector<Reading> probe() {
  return {{std::string(rows[row].name) + "/go", rows[row].unit, ask(rows[row].name)}};
}

const Register entries[] = {
    Register(Probe{"sched", "switch/go", Side::peer, 5, probe<0>}),
    Register(Probe{"sched", "spawn_join_1w/go", Side::peer, 5, probe<1>}),
    Register(Probe{"sched", "spawn_join_2w/go", Side::peer, 5, probe<2>}),
    Register(Probe{"sched", "skynet_join_1w/go", Side::peer, 3, probe<3>}),
    Register(Probe{"sched", "skynet_join_2w/go", Side::peer, 3, probe<4>}),
    Register(Probe{"sched", "sleep_100k/go", Side::peer, 3, probe<5>}),
    Register(Probe{"sched", "sleep_1m/go", Side::peer, 3, probe<6>}),
};

}  // namespace
}  // namespace bench
