// SPDX-License-Identifier: MIT
#pragma once
// What: the explorer's front door. explore() runs a scenario under many schedules and tells the first one that fails.
//
//   auto result = verify::explore({.name = "counter: two increments", .mode = verify::Dfs{.preemptions = 2}},
//                                 [](verify::World& world) { ... world.thread("a", [&] { ... }); ... });
//
// Invariants:
//   [EXP-1] Result::complete is true only if every schedule within the bounds was run.
//   [EXP-2] Every failing schedule, and a sample of the passing ones, is run a second time; a difference in what
//           happened is reported as "scenario is not deterministic" with the step.

#include <cstdint>
#include <string>
#include <variant>

#include "explorer/execution.hpp"
#include "explorer/world.hpp"

namespace weft::inline v0::verify {

// Complete search; with a bound the bounds 0, 1, ... are searched in turn, so that the simplest failure comes first.
struct Dfs {
  int preemptions = 2;  // negative: no bound
};
struct Pct {
  int depth = 3;
  std::uint64_t seed = 1;
  std::uint64_t runs = 20'000;
};
struct RandomWalk {
  std::uint64_t seed = 1;
  std::uint64_t runs = 20'000;
};
struct Replay {
  std::string schedule;  // as printed, with or without "name@" before it
};
using Mode = std::variant<Dfs, Pct, RandomWalk, Replay>;

struct Options {
  std::string name;
  Mode mode = Dfs{};
  int delays = 0;           // stores that one execution may keep back in store buffers
  bool spurious = false;    // weak compare_exchange and futex_wait may fail or return for no reason, at the price of 1
  bool asymmetric = false;  // light_fence() free, heavy_fence() a fence on all threads
  std::size_t steps = 5'000;
  std::uint64_t executions = 50'000'000;  // then the search stops, incomplete
  std::uint64_t seed = 1;                 // what random_seed() gives inside
  bool progress = false;                  // a line to stderr each ten seconds
};

struct Result {
  Verdict verdict = Verdict::passed;
  bool complete = false;
  std::string message;
  std::string schedule;  // replay string of the failing schedule
  std::string report;    // the whole story for a reader
  std::uint64_t executions = 0;
  std::uint64_t steps = 0;
  bool ok() const { return verdict == Verdict::passed; }
};

[[nodiscard]] Result explore(const Options& options, const Scenario& scenario);

}  // namespace weft::inline v0::verify
