// SPDX-License-Identifier: MIT
// What: a run's results as an aligned table with its bars, and as JSON
//   {"machine": {...}, "rows": [{"workload", "unit", "median", "min", "max", "runs"}]}
#pragma once

#include <iosfwd>
#include <string>

#include "bench/harness.hpp"
#include "bench/machine.hpp"

namespace bench {

void print_table(std::ostream& out, const Facts& machine, const Results& results);
// Number of bars missed; a bar whose rows were not measured is shown as skipped and is not missed.
int print_bars(std::ostream& out, const std::string& group, const Results& results);
std::string to_json(const Facts& machine, const Results& results);

}  // namespace bench
