// SPDX-License-Identifier: MIT
// A replicated log under simulation: seeds are tried until a deposed leader commits, and its schedule is shrunk.
#include "20_replicated_log.hpp"

#include <cstdio>

int main() {
  weft::sim::ExploreOptions options;
  options.seeds = 1000;
  options.quiet = true;

  const weft::sim::Exploration broken = weft::sim::explore(options, [] { replicated::run_cluster(true); });
  std::printf("with the bug: seed %llu fails: %s\n", static_cast<unsigned long long>(broken.first.seed),
              broken.first.text.c_str());
  std::printf("  %zu unusual choices, %zu after %llu shorter runs\n", broken.first.schedule.size(),
              broken.shrunk.schedule.size(), static_cast<unsigned long long>(broken.shrink_runs));
  const weft::sim::Report again =
      weft::sim::replay(broken.shrunk.replay, options, [] { replicated::run_cluster(true); });
  std::printf("  replayed: %s\n", again.text.c_str());

  options.seeds = 100;
  const weft::sim::Exploration right = weft::sim::explore(options, [] { replicated::run_cluster(false); });
  std::printf("without it: %llu seeds, %llu failures\n", static_cast<unsigned long long>(right.tried),
              static_cast<unsigned long long>(right.failures));
}
