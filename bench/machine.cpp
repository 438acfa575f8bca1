// SPDX-License-Identifier: MIT
#include "bench/machine.hpp"

#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <fstream>

#if defined(WEFT_BENCH_BOOST)
#include <boost/version.hpp>
#endif

#if !defined(WEFT_BENCH_FLAGS)
#define WEFT_BENCH_FLAGS "unknown"
#endif

namespace bench {
namespace {

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  return std::getline(in, line) ? line : "unknown";
}

std::string compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#else
  return std::string("gcc ") + __VERSION__;
#endif
}

}  // namespace

std::string load_average() {
  const std::string line = first_line("/proc/loadavg");
  return line.substr(0, line.find(' '));
}

Facts machine_facts() {
  utsname u{};
  uname(&u);
  char date[32] = "unknown";
  const time_t now = time(nullptr);
  tm utc{};
  if (gmtime_r(&now, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  Facts facts{{"cpu", cpu_model()},
              {"cores", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))},
              {"arch", u.machine},
              {"kernel", std::string(u.sysname) + " " + u.release},
              {"compiler", compiler()},
              {"flags", WEFT_BENCH_FLAGS},
              {"governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")}};
#if defined(WEFT_BENCH_BOOST)
  facts.emplace_back("boost", BOOST_LIB_VERSION);
#endif
  facts.emplace_back("date", date);
  facts.emplace_back("load_before", load_average());
  return facts;
}

}  // namespace bench
