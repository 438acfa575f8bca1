// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <string_view>

#include "bench/harness.hpp"
#include "bench/machine.hpp"
#include "bench/report.hpp"

namespace {

struct Options {
  bench::Plan plan;
  std::string json;
  bool list = false;
  bool strict = false;
};

std::set<std::string> groups() {
  std::set<std::string> names;
  for (const auto& c : bench::registry().contestants) names.insert(c.group);
  for (const auto& p : bench::registry().probes) names.insert(p.group);
  return names;
}

std::string group_names() {
  std::string text;
  for (const std::string& g : groups()) text += (text.empty() ? "" : ", ") + g;
  return text;
}

void print_help(std::ostream& out) {
  out << "usage: weft_bench GROUP [flags]\n"
         "  GROUP          "
      << group_names()
      << "\n"
         "  --peers        measure the peers in the same run\n"
         "  --runs N       batches per contestant (25)\n"
         "  --ops N        operations per batch, instead of calibrating to 10 ms\n"
         "  --filter WORD  only rows whose name contains WORD\n"
         "  --list         print the names and stop\n"
         "  --json FILE    write the rows as JSON\n"
         "  --strict       exit 1 when a bar is missed\n"
         "  --help         this text\n";
}

[[noreturn]] void refuse(const std::string& why) {
  std::cerr << "weft_bench: " << why << " (--help tells the flags)\n";
  std::exit(2);
}

std::uint64_t count_of(const std::string& flag, const std::string& text) {
  char* end = nullptr;
  const unsigned long long n = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || text[0] < '0' || text[0] > '9' || *end != '\0' || n == 0 || n > 1'000'000'000'000ULL)
    refuse(flag + " wants a number from 1 on, not '" + text + "'");
  return n;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= argc) refuse(arg + " wants a value");
      return argv[++i];
    };
    if (arg == "--help" || arg == "-h") {
      print_help(std::cout);
      std::exit(0);
    } else if (arg == "--peers") {
      options.plan.peers = true;
    } else if (arg == "--strict") {
      options.strict = true;
    } else if (arg == "--list") {
      options.list = true;
    } else if (arg == "--runs") {
      const std::uint64_t runs = count_of(arg, value());
      if (runs > 100'000) refuse("--runs wants at most 100000");
      options.plan.runs = static_cast<int>(runs);
    } else if (arg == "--ops") {
      options.plan.ops = count_of(arg, value());
    } else if (arg == "--filter") {
      options.plan.filter = value();
    } else if (arg == "--json") {
      options.json = value();
    } else if (!arg.empty() && arg[0] == '-') {
      refuse("unknown flag " + arg);
    } else if (!options.plan.group.empty()) {
      refuse("one group at a time, not '" + options.plan.group + "' and '" + arg + "'");
    } else {
      options.plan.group = arg;
    }
  }
  if (options.plan.group.empty()) refuse("which group? " + group_names());
  if (!groups().contains(options.plan.group))
    refuse("no group '" + options.plan.group + "'; there are: " + group_names());
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::vector<std::string> names = bench::list(options.plan);
  if (names.empty()) refuse("nothing in group " + options.plan.group + " matches '" + options.plan.filter + "'");
  if (options.list) {
    for (const std::string& name : names) std::cout << name << '\n';
    return 0;
  }
  // Asked before the long run; an older file stays as it is until the new rows are there.
  if (!options.json.empty() && !std::ofstream(options.json, std::ios::app)) refuse("cannot write " + options.json);
  if (options.plan.peers)
    for (const std::string& why : bench::registry().missing_peers) std::cerr << why << '\n';

  bench::Facts machine = bench::machine_facts();
  const bench::Results results = bench::measure(options.plan);
  machine.emplace_back("load_after", bench::load_average());
  for (const bench::Fact& fact : bench::registry().facts)
    if (options.plan.group == fact.group) machine.emplace_back(fact.name, fact.value());
  bench::print_table(std::cout, machine, results);
  const int missed = bench::print_bars(std::cout, options.plan.group, results);
  if (!options.json.empty()) {
    std::ofstream json(options.json);
    json << bench::to_json(machine, results);
    json.close();
    if (!json) {
      std::cerr << "weft_bench: writing " << options.json << " failed\n";
      return 1;
    }
  }
  for (const std::string& name : results.failed) std::cerr << "weft_bench: a child of " << name << " died\n";
  if (!results.failed.empty()) return 1;
  return options.strict && missed ? 1 : 0;
}
