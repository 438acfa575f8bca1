// SPDX-License-Identifier: MIT
#pragma once
// What: the list of scenarios that the weft_verify program runs. A scenario file registers its scenarios at start:
//
//   const Register pop_against_steal{{.name = "deque: pop against steal", .run = [](World& world) { ... }}};
//
// A mutant is a scenario with `fails` set: it must be found, with that verdict, or the run fails.

#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "explorer/explore.hpp"

namespace weft::inline v0::verify {

struct Entry {
  std::string name;  // a sentence, "noun: what meets what"
  Scenario run;
  std::optional<Verdict> fails = std::nullopt;
  int preemptions = 2;
  int delays = 0;
  bool spurious = false;
  bool asymmetric = false;
};

struct RegisteredEntry {
  Entry entry;
  std::string group;  // the scenario file's name
};

std::vector<RegisteredEntry> all_scenarios();  // by group, then in the order of the file

class Register {
 public:
  Register(Entry entry, std::source_location where = std::source_location::current());
};

}  // namespace weft::inline v0::verify
