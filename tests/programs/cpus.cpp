// SPDX-License-Identifier: MIT
// Prints how many processors its affinity mask names and how many workers the runtime would start. With a number as
// argument it first gives up all processors but so many, as `taskset` would do for it.
#include <sched.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "sched/cpu_count.hpp"

int main(int argc, char** argv) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  if (argc > 1) {
    int left = std::atoi(argv[1]);
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mask) && --left < 0) CPU_CLR(cpu, &mask);
    }
    if (sched_setaffinity(0, sizeof mask, &mask) != 0) return 1;
  }
  std::printf("mask %d usable %u\n", CPU_COUNT(&mask), weft::detail::usable_cpus());
  return 0;
}
