// SPDX-License-Identifier: MIT
#include "bench/harness.hpp"

#include <alloca.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "bench/allocations.hpp"
#include "bench/child.hpp"

namespace bench {
namespace {

constexpr std::uint64_t batch_ns = 10'000'000;

std::string stem(const Contestant& c) {
  return std::string(c.workload) + "/" + c.name;
}

bool wanted(const Plan& plan, const char* group, Side side, const std::string& name) {
  if (plan.group != group) return false;
  if (side == Side::peer && !plan.peers) return false;
  return plan.filter.empty() || name.find(plan.filter) != std::string::npos;
}

// Where the stack begins decides which of a contestant's lines share cache sets and which loads look, in their low 12
// bits, like an earlier store. That is an accident of the process, so each run begins elsewhere.
[[gnu::noinline]] void run_shifted(const Contestant& c, Batch& batch, int run) {
  const std::size_t shift = static_cast<std::size_t>(run) * 592 % 4096;
  void* gap = alloca(shift + 16);
  keep(gap);
  c.body(batch);
}

std::uint64_t calibrate(const Contestant& c) {
  std::uint64_t ops = 16;
  for (;;) {
    Batch batch(ops, c.clock, false);
    c.body(batch);
    const std::uint64_t took = std::max<std::uint64_t>(batch.elapsed_ns(), 1);
    if (took >= batch_ns / 10) {
      const double scaled = static_cast<double>(ops) * static_cast<double>(batch_ns) / static_cast<double>(took);
      return std::max<std::uint64_t>(static_cast<std::uint64_t>(scaled), 1);
    }
    ops *= 8;
  }
}

void progress(const std::string& what) {
  if (!isatty(STDERR_FILENO)) return;
  std::fprintf(stderr, "\r\033[K%s", what.c_str());
  std::fflush(stderr);
}

// Who runs less often than others runs between the first and the last of them, not beside the first ones only: the
// round of its i-th run.
std::size_t round_of(std::size_t i, std::size_t runs, std::size_t rounds) {
  return ((i + 1) * rounds + runs - 1) / runs - 1;
}
bool has_turn(std::size_t round, std::size_t runs, std::size_t rounds) {
  return round * runs / rounds != (round + 1) * runs / rounds;
}

void measure_workload(const Plan& plan, const std::vector<Contestant>& field, Results& results) {
  std::vector<std::uint64_t> ops;
  for (const Contestant& c : field) ops.push_back(plan.ops ? plan.ops : calibrate(c));
  for (const Contestant& c : field) results.row(stem(c), "ns").samples.reserve(static_cast<std::size_t>(plan.runs));
  for (int run = 0; run < plan.runs; ++run) {
    for (std::size_t k = 0; k < field.size(); ++k) {
      const std::size_t i = (k + static_cast<std::size_t>(run)) % field.size();
      Batch batch(ops[i], field[i].clock, false);
      run_shifted(field[i], batch, run);
      results.row(stem(field[i]), "ns").samples.push_back(batch.ns_per_op());
    }
  }
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i].side != Side::weft || !allocations_are_counted()) continue;
    Batch batch(std::min<std::uint64_t>(ops[i], 100'000), field[i].clock, true);
    field[i].body(batch);
    results.row(stem(field[i]) + "/allocs_per_op", "count").samples.push_back(batch.allocations_per_op());
  }
}

}  // namespace

std::uint64_t now_ns(Clock clock) {
  timespec t{};
  clock_gettime(clock == Clock::cpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

void Batch::start() {
  if (count_allocations_) start_counting_allocations();
  started_ns_ = now_ns(clock_);
}

void Batch::stop() {
  elapsed_ns_ = now_ns(clock_) - started_ns_;
  if (count_allocations_) allocations_ = stop_counting_allocations();
}

double Row::median() const {
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}
double Row::min() const {
  return *std::min_element(samples.begin(), samples.end());
}
double Row::max() const {
  return *std::max_element(samples.begin(), samples.end());
}

double Row::best() const {
  return unit.ends_with("/s") ? max() : min();
}

Row& Results::row(const std::string& workload, const std::string& unit) {
  for (Row& r : rows_)
    if (r.workload == workload) return r;
  return rows_.emplace_back(Row{workload, unit, {}});
}

const Row* Results::find(const std::string& workload) const {
  for (const Row& r : rows_)
    if (r.workload == workload && !r.samples.empty()) return &r;
  return nullptr;
}

std::optional<double> value_of(const Results& results, Taken which, const std::string& row) {
  const Row* found = results.find(row);
  if (!found) return std::nullopt;
  return which == Taken::typical ? found->median() : found->best();
}

std::optional<double> compared(const Results& results, Taken which, const std::string& a, const std::string& b,
                               double (*op)(double, double)) {
  const Row* ra = results.find(a);
  const Row* rb = results.find(b);
  if (!ra || !rb) return std::nullopt;
  if (which == Taken::quietest) return op(ra->best(), rb->best());
  Row by_run;
  const std::size_t runs = std::min(ra->samples.size(), rb->samples.size());
  const auto nth = [&](const Row& row, std::size_t i) { return row.samples[round_of(i, runs, row.samples.size())]; };
  for (std::size_t i = 0; i < runs; ++i) by_run.samples.push_back(op(nth(*ra, i), nth(*rb, i)));
  return by_run.median();
}

Bar against_go(const char* group, const char* row, double limit, bool at_most) {
  return {group, std::string(row) + ", against Go", "x", limit, at_most, [row](const Results& results, Taken which) {
            return compared(results, which, row, std::string(row) + "/go", [](double a, double b) { return a / b; });
          }};
}

Registry& registry() {
  static Registry all;
  return all;
}

std::vector<std::string> list(const Plan& plan) {
  std::vector<std::string> names;
  for (const Contestant& c : registry().contestants)
    if (wanted(plan, c.group, c.side, stem(c))) names.push_back(stem(c));
  for (const Probe& p : registry().probes)
    if (wanted(plan, p.group, p.side, p.name)) names.emplace_back(p.name);
  std::sort(names.begin(), names.end());
  return names;
}

Results measure(const Plan& plan) {
  std::map<std::string, std::vector<Contestant>> fields;
  for (const Contestant& c : registry().contestants)
    if (wanted(plan, c.group, c.side, stem(c))) fields[c.workload].push_back(c);
  Results results;
  // First, while the process is fresh: a child inherits memory that earlier workloads touched.
  std::vector<Probe> probes;
  int rounds = 0;
  for (const Probe& p : registry().probes)
    if (wanted(plan, p.group, p.side, p.name)) {
      probes.push_back(p);
      rounds = std::max(rounds, std::min(plan.runs, p.max_runs));
    }
  for (int run = 0; run < rounds; ++run)
    for (const Probe& p : probes) {
      const auto runs = static_cast<std::size_t>(std::min(plan.runs, p.max_runs));
      if (!has_turn(static_cast<std::size_t>(run), runs, static_cast<std::size_t>(rounds))) continue;
      progress(p.name);
      if (p.much_memory) back_memory();
      const std::vector<Reading> readings = in_child(p.body);
      if (readings.empty()) results.failed.emplace_back(p.name);
      for (const Reading& r : readings) results.row(r.workload, r.unit).samples.push_back(r.value);
    }
  for (auto& [workload, field] : fields) {
    progress(workload);
    std::stable_sort(field.begin(), field.end(),
                     [](const Contestant& a, const Contestant& b) { return a.side < b.side; });
    measure_workload(plan, field, results);
  }
  progress("");
  return results;
}

}  // namespace bench
