// SPDX-License-Identifier: MIT
// What the storms share: dice, a watchdog that never lets a round hang, exact sums, and main's loop.
// A round that finds a wrong sum prints kind, seed and round, and ends the program with 1. A round that does not end
// within 60 s prints the tasks that live and the threads, and ends it by abort: never a hang.
#pragma once

#include <dirent.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <thread>

#include "sched/dump.hpp"
#include "weft/runtime.hpp"

namespace storm {

using Clock = std::chrono::steady_clock;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return (*this)() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::chrono::nanoseconds span(std::uint64_t most_ns) { return std::chrono::nanoseconds(below(most_ns + 1)); }

 private:
  std::uint64_t state_;
};

struct Kind {
  const char* name;
  void (*round)(Dice& dice);
};

struct Round {
  const char* kind = "";
  std::uint64_t seed = 0;
  std::uint64_t number = 0;
};
inline Round current;
inline std::atomic<std::uint64_t> progress{0};
inline std::atomic<weft::detail::RuntimeCore*> watched{nullptr};
inline unsigned most_workers = 8;
inline bool exactly = false;  // that many in each round: --workers

inline void equal(const char* what, std::uint64_t got, std::uint64_t expected) {
  if (got == expected) return;
  std::fprintf(stderr, "%s: %s: got %llu, expected %llu; --kind %s --seed %llu, round %llu\n", current.kind, what,
               static_cast<unsigned long long>(got), static_cast<unsigned long long>(expected), current.kind,
               static_cast<unsigned long long>(current.seed), static_cast<unsigned long long>(current.number));
  std::_Exit(1);
}

inline weft::RuntimeOptions some_options(Dice& dice) {
  weft::RuntimeOptions options;
  options.workers = 1 + static_cast<unsigned>(dice.below(most_workers));
  if (exactly) options.workers = most_workers;
  options.policy = dice.one_in(4) ? weft::RuntimeOptions::Policy::global : weft::RuntimeOptions::Policy::steal;
  options.in_place = !dice.one_in(3);
  options.queue_capacity = dice.one_in(3) ? 8 : 4096;
  return options;
}

// A runtime that the watchdog can show.
class Watched {
 public:
  explicit Watched(const weft::RuntimeOptions& options) : runtime_(options) { watched = &runtime_.core(); }
  ~Watched() { watched = nullptr; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  weft::Runtime* operator->() { return &runtime_; }
  weft::Runtime& operator*() { return runtime_; }
  void at_rest() const {
    const weft::RuntimeStats stats = runtime_.stats();
    equal("finished", stats.finished, stats.started);
  }

 private:
  weft::Runtime runtime_;
};

inline void show_threads() {
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    const std::string base = std::string("/proc/self/task/") + entry->d_name;
    std::string name;
    std::string place;
    std::getline(std::ifstream(base + "/comm") >> std::ws, name);
    std::getline(std::ifstream(base + "/wchan") >> std::ws, place);
    std::fprintf(stderr, "  thread %s %s: %s\n", entry->d_name, name.c_str(), place.c_str());
  }
  closedir(folder);
}

// A round may take long under sanitizers and beside others; a minute without any is a hang.
inline void watch(const std::atomic<bool>& over) {
  using namespace std::chrono_literals;
  std::uint64_t seen = progress;
  auto since = Clock::now();
  while (!over) {
    std::this_thread::sleep_for(100ms);
    if (progress != seen) {
      seen = progress;
      since = Clock::now();
    } else if (Clock::now() - since > 60s) {
      std::fprintf(stderr, "%s: no round has ended for 60 s; --kind %s --seed %llu, round %llu\n", current.kind,
                   current.kind, static_cast<unsigned long long>(current.seed),
                   static_cast<unsigned long long>(current.number));
      if (const weft::detail::RuntimeCore* core = watched) weft::detail::report_refusers(*core);
      show_threads();
      std::abort();
    }
  }
}

// --kind NAME|all --seconds N --seed N --workers N --rounds N --from ROUND
inline int run_storms(int argc, char** argv, std::span<const Kind> kinds) {
  std::string wanted = "all";
  std::uint64_t seed = std::random_device{}();
  std::uint64_t first = 0;
  std::uint64_t rounds = 0;  // 0: as many as fit into the seconds
  long seconds = 5;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    const char* value = argv[i + 1];
    if (option == "--kind")
      wanted = value;
    else if (option == "--seconds")
      seconds = std::strtol(value, nullptr, 10);
    else if (option == "--seed")
      seed = std::strtoull(value, nullptr, 0);
    else if (option == "--workers") {
      most_workers = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
      exactly = true;
    } else if (option == "--rounds")
      rounds = std::strtoull(value, nullptr, 0);
    else if (option == "--from")
      first = std::strtoull(value, nullptr, 0);
    else {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 2;
    }
  }
  std::atomic<bool> over = false;
  std::thread watchdog([&] { watch(over); });
  bool any = false;
  for (const Kind& kind : kinds) {
    if (wanted != "all" && wanted != kind.name) continue;
    any = true;
    std::printf("%s: --seed %llu\n", kind.name, static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    const auto until = Clock::now() + std::chrono::seconds(seconds);
    std::uint64_t round = first;
    do {
      current = {kind.name, seed, round};
      Dice dice(seed + round * 1000003);
      kind.round(dice);
      ++round;
      ++progress;
    } while (rounds != 0 ? round < first + rounds : Clock::now() < until);
    std::printf("%s: %llu rounds\n", kind.name, static_cast<unsigned long long>(round - first));
  }
  over = true;
  watchdog.join();
  if (!any) std::fprintf(stderr, "no such kind: %s\n", wanted.c_str());
  return any ? 0 : 2;
}

}  // namespace storm
