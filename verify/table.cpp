// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "explorer/registry.hpp"

namespace weft::inline v0::verify {
namespace {

constexpr int promised_bound = 2;

// What belongs together, and how many of its scenarios must be complete at that bound.
struct Part {
  const char* name;
  unsigned promised;
};
constexpr Part parts[] = {{"scheduler", 30}, {"waiting", 40}, {"beside", 0}};
enum PartIndex : unsigned { scheduler, waiting, beside };

struct Area {
  const char* name;
  PartIndex part;
  std::vector<std::string_view> groups;  // scenario files
};
const Area areas[] = {
    {"deque", scheduler, {"deque"}},
    {"ring", scheduler, {"ring"}},
    {"inbox", scheduler, {"inbox", "late_push"}},
    {"park and wake", scheduler, {"park", "park_orders", "permit", "unpark"}},
    {"idle", scheduler, {"idle", "pace", "poller"}},
    {"in-place join", scheduler, {"in_place", "stand_out", "task_id"}},
    {"nursery and join", scheduler, {"nursery", "join"}},
    {"scope", scheduler, {"scope", "cancel_wakes"}},
    {"timers", scheduler, {"timer"}},
    {"shutdown", scheduler, {"shutdown", "live_count"}},
    {"channel", waiting, {"channel", "channel_history", "channel_kinds", "close", "broadcast"}},
    {"select", waiting, {"select", "select_history", "select_join"}},
    {"sync", waiting, {"mutex", "rw_mutex", "cond_var", "semaphore", "gate", "once"}},
    {"future", waiting, {"future"}},
    {"fiber and signal", beside, {"claim", "registry", "interrupt", "interrupt_task"}},
    {"locks and traces", beside, {"locks", "owner_lock", "trace_ring"}},
    {"io", beside, {"uring", "io_descriptor", "blocking_pool"}},
};

struct Count {
  unsigned scenarios = 0;
  unsigned mutants = 0;
  unsigned complete = 0;  // as far as promised; ./dev test fails if one does not get to its own bound
  std::vector<std::string> below;

  void add(const Entry& entry) {
    if (entry.fails) {
      ++mutants;
      return;
    }
    ++scenarios;
    if (entry.preemptions < 0 || entry.preemptions >= promised_bound) {
      ++complete;
    } else {
      below.push_back(entry.name);
    }
  }
  void add(const Count& other) {
    scenarios += other.scenarios;
    mutants += other.mutants;
    complete += other.complete;
  }
};

void print_row(const char* name, const Count& count) {
  std::printf("%-20s %9u %9u %20u\n", name, count.scenarios, count.mutants, count.complete);
}

}  // namespace

bool print_table() {
  bool good = true;
  std::vector<Count> counts(std::size(areas));
  for (const RegisteredEntry& scenario : all_scenarios()) {
    bool placed = false;
    for (std::size_t i = 0; i < std::size(areas); ++i) {
      for (const std::string_view group : areas[i].groups) {
        if (group != scenario.group) continue;
        counts[i].add(scenario.entry);
        placed = true;
      }
    }
    if (placed) continue;
    std::printf("verify/scenarios/%s.cpp stands in no area of verify/table.cpp\n", scenario.group.c_str());
    good = false;
  }
  std::printf("%-20s %9s %9s %20s\n", "area", "scenarios", "mutants", "complete at bound 2");
  for (unsigned part = 0; part < std::size(parts); ++part) {
    Count sum;
    for (std::size_t i = 0; i < std::size(areas); ++i) {
      if (areas[i].part != part) continue;
      print_row(areas[i].name, counts[i]);
      for (const std::string& name : counts[i].below) std::printf("  at one: %s\n", name.c_str());
      sum.add(counts[i]);
    }
    print_row((std::string(parts[part].name) + ", in all").c_str(), sum);
    if (sum.complete >= parts[part].promised) continue;
    std::printf("%s: %u are promised\n", parts[part].name, parts[part].promised);
    good = false;
  }
  return good;
}

}  // namespace weft::inline v0::verify
