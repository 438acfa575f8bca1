// SPDX-License-Identifier: MIT
// The bars of the fiber floor. A verdict is about medians; ratios and differences are taken run by run.
#include "bench/harness.hpp"

namespace bench {
namespace {

double ratio(double a, double b) {
  return a / b;
}
double difference(double a, double b) {
  return a - b;
}

Bar at_most(std::string text, std::string row, std::string unit, double limit) {
  return {
      "fiber", std::move(text), std::move(unit), limit, true, [row = std::move(row)](const Results& r, Taken which) {
        return value_of(r, which, row);
      }};
}

Bar against(std::string text, std::string unit, double limit, bool at_most, std::string a, std::string b,
            double (*op)(double, double)) {
  return {
      "fiber",
      std::move(text),
      std::move(unit),
      limit,
      at_most,
      [a = std::move(a), b = std::move(b), op](const Results& r, Taken which) { return compared(r, which, a, b, op); }};
}

std::optional<double> worst_allocations(const Results& results, Taken) {
  std::optional<double> worst;
  for (const Row& r : results.rows()) {
    if (r.workload.find("/allocs_per_op") == std::string::npos) continue;
    if (r.workload.find("_inside/") != std::string::npos) continue;  // a thrown exception is an allocation
    worst = std::max(worst.value_or(0), r.max());
  }
  return worst;
}

const Register entries[] = {
    Register(at_most("resume+yield round trip", "resume_yield/weft", "ns", 15)),
    Register(at_most("resume+yield round trip, differing call sites", "resume_yield_sites/weft", "ns", 15)),
    Register(against("resume+yield against Coroutine2, a value carried", "x", 0.5, true, "resume_yield_value/weft",
                     "resume_yield_value/coroutine2", ratio)),
    Register(against("resume+yield against Coroutine2, differing call sites", "x", 0.5, true, "resume_yield_sites/weft",
                     "resume_yield_sites/coroutine2", ratio)),
    Register(against("resume+yield against Coroutine2, no value, one call site", "x", 0.5, true, "resume_yield/weft",
                     "resume_yield/coroutine2", ratio)),
    Register(at_most("generator, one element", "generator/weft", "ns", 10)),
    Register(at_most("create+run+destroy of a pooled fiber", "create_run_destroy/weft", "ns", 40)),
    Register(against("emit through 8 uncaught levels, more than through 1", "ns", 15, true, "emit/weft_through_8",
                     "emit/weft_through_1", difference)),
    Register(against("protect, cheaper than throw and catch of an int", "x", 20, false, "protect/throw_catch_int",
                     "protect/weft", ratio)),
    Register(against("protect, cheaper than throw and catch of a runtime_error", "x", 20, false,
                     "protect/throw_catch_runtime_error", "protect/weft", ratio)),
    Register(at_most("RSS of a suspended fiber, a million of them", "million_rss/weft", "bytes", 4.3 * 1024)),
    Register(Bar{"fiber", "heap allocations per operation, worst workload", "count", 0, true, worst_allocations}),
};

}  // namespace
}  // namespace bench
