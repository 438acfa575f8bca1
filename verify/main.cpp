// SPDX-License-Identifier: MIT
// weft_verify: runs explorer scenarios. Exit 0: all as expected. 1: a scenario failed, or a mutant survived. 2: usage.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "explorer/registry.hpp"
#include "table.hpp"
#include "weft/detail/seam.hpp"

namespace {

namespace verify = weft::verify;

constexpr char help[] =
    "usage: weft_verify [OPTION]...\n"
    "Runs scenarios over the real code under every interleaving within a bound; mutants must be found.\n"
    "  --list              names of all scenarios\n"
    "  --table             how many scenarios each area has, and how many are complete at two preemptions\n"
    "  --run NAME          only scenarios whose name contains NAME\n"
    "  --group GROUP       only the scenarios of verify/scenarios/GROUP.cpp\n"
    "  --mode MODE         dfs (default), pct or random; these find by luck, so mutants only if --run is given\n"
    "  --bound N           preemptions for dfs (default: the scenario's own, mostly 2; -1: no bound), depth for pct "
    "(3)\n"
    "  --delays N          stores that may be kept back in store buffers (default: the scenario's own)\n"
    "  --seed N            first seed for pct and random (1)\n"
    "  --runs N            executions for pct and random (20000)\n"
    "  --replay STRING     run one recorded schedule and print its steps\n"
    "  --show              print the report of found mutants too\n"
    "  --help              this text\n";

struct Arguments {
  bool list = false;
  bool table = false;
  bool show = false;
  std::string run;
  std::string group;
  std::string mode = "dfs";
  std::string replay;
  std::optional<int> bound;
  std::optional<int> delays;
  std::uint64_t seed = 1;
  std::uint64_t runs = 20'000;
};

int usage(const std::string& problem) {
  std::fprintf(stderr, "weft_verify: %s; see --help\n", problem.c_str());
  return 2;
}

template <class T>
bool parse(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// 0: go on; otherwise the exit code plus one.
int read_arguments(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--help" || option == "-h") {
      std::fputs(help, stdout);
      return 1;
    }
    if (option == "--list") {
      arguments.list = true;
      continue;
    }
    if (option == "--table") {
      arguments.table = true;
      continue;
    }
    if (option == "--show") {
      arguments.show = true;
      continue;
    }
    if (i + 1 == argc) return usage("'" + std::string(option) + "' is unknown or needs a value") + 1;
    const std::string_view value = argv[++i];
    int number = 0;
    if (option == "--run") {
      arguments.run = value;
    } else if (option == "--group") {
      arguments.group = value;
    } else if (option == "--replay") {
      arguments.replay = value;
    } else if (option == "--mode" && (value == "dfs" || value == "pct" || value == "random")) {
      arguments.mode = value;
    } else if (option == "--bound" && parse(value, number)) {
      arguments.bound = number;
    } else if (option == "--delays" && parse(value, number)) {
      arguments.delays = number;
    } else if (option == "--seed" && parse(value, arguments.seed)) {
    } else if (option == "--runs" && parse(value, arguments.runs)) {
    } else {
      return usage("'" + std::string(option) + "' is unknown or does not take '" + std::string(value) + "'") + 1;
    }
  }
  return 0;
}

verify::Mode mode_of(const Arguments& arguments, const verify::Entry& entry) {
  if (!arguments.replay.empty()) return verify::Replay{arguments.replay};
  if (arguments.mode == "pct") return verify::Pct{arguments.bound.value_or(3), arguments.seed, arguments.runs};
  if (arguments.mode == "random") return verify::RandomWalk{arguments.seed, arguments.runs};
  return verify::Dfs{arguments.bound.value_or(entry.preemptions)};
}

bool selected(const Arguments& arguments, const verify::RegisteredEntry& scenario) {
  if (!arguments.replay.empty()) {
    return arguments.replay.substr(0, arguments.replay.rfind('@')) == scenario.entry.name;
  }
  if (!arguments.group.empty() && scenario.group != arguments.group) return false;
  if (scenario.entry.fails && arguments.mode != "dfs" && arguments.run.empty() && !arguments.list) return false;
  return scenario.entry.name.find(arguments.run) != std::string::npos;
}

bool run_one(const Arguments& arguments, const verify::Entry& entry) {
  const std::int64_t start = weft::seam::monotonic_ns();
  const verify::Result result = verify::explore({.name = entry.name,
                                                 .mode = mode_of(arguments, entry),
                                                 .delays = arguments.delays.value_or(entry.delays),
                                                 .spurious = entry.spurious,
                                                 .asymmetric = entry.asymmetric,
                                                 .progress = true},
                                                entry.run);
  const double seconds = static_cast<double>(weft::seam::monotonic_ns() - start) * 1e-9;
  bool as_expected = entry.fails ? result.verdict == *entry.fails : result.ok();
  std::string word = result.ok() ? (result.complete ? "holds" : "no failure") : std::string(to_string(result.verdict));
  if (entry.fails) word = as_expected ? "mutant found (" + word + ")" : "MUTANT NOT FOUND (" + word + ")";
  if (!entry.fails && !as_expected) word = "FAILS (" + word + ")";
  if (as_expected && !entry.fails && !result.complete && arguments.mode == "dfs" && arguments.replay.empty()) {
    word = "INCOMPLETE";
    as_expected = false;
  }
  std::printf("%-64s %-32s %9llu executions %10llu steps %7.2f s\n", entry.name.c_str(), word.c_str(),
              static_cast<unsigned long long>(result.executions), static_cast<unsigned long long>(result.steps),
              seconds);
  if (!result.ok() && (!as_expected || arguments.show || !arguments.replay.empty())) {
    std::fputs(result.report.c_str(), stdout);
  }
  std::fflush(stdout);
  return as_expected;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (const int stop = read_arguments(argc, argv, arguments); stop != 0) return stop - 1;
  if (arguments.table) return verify::print_table() ? 0 : 1;
  std::size_t ran = 0;
  std::size_t bad = 0;
  for (const verify::RegisteredEntry& scenario : verify::all_scenarios()) {
    if (!selected(arguments, scenario)) continue;
    ++ran;
    if (arguments.list) {
      std::printf("%-10s %s%s\n", scenario.group.c_str(), scenario.entry.name.c_str(),
                  scenario.entry.fails ? " (mutant)" : "");
    } else if (!run_one(arguments, scenario.entry)) {
      ++bad;
    }
  }
  if (ran == 0) return usage("no scenario of that name");
  if (!arguments.list) std::printf("%zu scenarios, %zu not as expected\n", ran, bad);
  return bad == 0 ? 0 : 1;
}
