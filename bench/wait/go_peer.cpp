// SPDX-License-Identifier: MIT
// Go's twins of channels, each a process of bench/peers/go, which CMake builds where a Go compiler is installed.
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
constexpr GoRow rows[] = {{"skynet_chan_2w", "ms"}, {"ring_1w", "ns"},     {"ring_2w", "ns"},
                          {"pingpong_1w", "ns"},    {"pingpong_2w", "ns"}, {"spsc", "M/s"},
                          {"mpmc_4x4", "M/s"},      {"select2", "ns"},     {"select8", "ns"}};
template <int row>
std::vector<Reading> probe() {
  return {{std::string(rows[row].name) + "/go", rows[row].unit, ask(rows[row].name)}};
}

const Register entries[] = {
    Register(Probe{"wait", "skynet_chan_2w/go", Side::peer, 3, probe<0>}),
    Register(Probe{"wait", "ring_1w/go", Side::peer, 5, probe<1>}),
    Register(Probe{"wait", "ring_2w/go", Side::peer, 5, probe<2>}),
    Register(Probe{"wait", "pingpong_1w/go", Side::peer, 5, probe<3>}),
    Register(Probe{"wait", "pingpong_2w/go", Side::peer, 5, probe<4>}),
    Register(Probe{"wait", "spsc/go", Side::peer, 5, probe<5>}),
    Register(Probe{"wait", "mpmc_4x4/go", Side::peer, 5, probe<6>}),
    Register(Probe{"wait", "select2/go", Side::peer, 5, probe<7>}),
    Register(Probe{"wait", "select8/go", Side::peer, 5, probe<8>}),
};

}  // namespace
}  // namespace bench
