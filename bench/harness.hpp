// SPDX-License-Identifier: MIT
// What: the frame of all benches. A translation unit registers contestants, probes and bars of its group; main()
// measures them.
//
// Invariants
// [BENCH-1] One run gives every contestant of a workload one batch, in rotating order, so drift of the machine hits
// all. [BENCH-2] A batch sets its state up afresh; only what lies between start() and stop() is timed. [BENCH-3]
// Allocations are counted in a batch of their own that is not timed. [BENCH-4] A row keeps all samples, sample r of two
// contestants belongs to the same run: ratios are taken run by run.
//
// Threads: one. A workload may start threads inside its batch; allocation counting sees them all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bench {

// cpu: time of the calling thread only, immune to other programs on the machine; for workloads that never sleep.
enum class Clock : std::uint8_t { cpu, wall };

std::uint64_t now_ns(Clock clock);

class Batch {
 public:
  Batch(std::uint64_t ops, Clock clock, bool count_allocations)
      : ops_(ops), clock_(clock), count_allocations_(count_allocations) {}
  std::uint64_t ops() const { return ops_; }
  void round_up_to(std::uint64_t multiple) { ops_ = (ops_ + multiple - 1) / multiple * multiple; }
  void start();
  void stop();
  double ns_per_op() const { return static_cast<double>(elapsed_ns_) / static_cast<double>(ops_); }
  double allocations_per_op() const { return static_cast<double>(allocations_) / static_cast<double>(ops_); }
  std::uint64_t elapsed_ns() const { return elapsed_ns_; }

 private:
  std::uint64_t ops_;
  Clock clock_;
  bool count_allocations_;
  std::uint64_t started_ns_ = 0;
  std::uint64_t elapsed_ns_ = 0;
  std::uint64_t allocations_ = 0;
};

enum class Side : std::uint8_t { weft, plain, peer };  // plain: the language itself, measured without --peers too

struct Contestant {
  const char* group;
  const char* workload;
  const char* name;
  Side side;
  void (*body)(Batch&);
  Clock clock = Clock::cpu;
};

struct Reading {
  std::string workload;
  std::string unit;
  double value;
};

// A probe runs in a forked child and gives several readings at once (memory, one-off times).
struct Probe {
  const char* group;
  const char* name;
  Side side;
  int max_runs;
  std::vector<Reading> (*body)();
  bool much_memory = false;  // gigabytes: see back_memory
};

struct Row {
  std::string workload;
  std::string unit;
  std::vector<double> samples;
  double median() const;
  double min() const;
  double max() const;
  double best() const;  // the least, but of what is counted per second the most
};

class Results {
 public:
  Row& row(const std::string& workload, const std::string& unit);
  const Row* find(const std::string& workload) const;
  const std::vector<Row>& rows() const { return rows_; }
  std::vector<std::string> failed;  // probes whose child died

 private:
  std::vector<Row> rows_;
};

// typical: medians, ratios and differences run by run. quietest: the best runs, for a machine that other programs use.
enum class Taken : std::uint8_t { typical, quietest };

// One row, or op(a, b) of two; nothing when a row was not measured.
std::optional<double> value_of(const Results& results, Taken which, const std::string& row);
std::optional<double> compared(const Results& results, Taken which, const std::string& a, const std::string& b,
                               double (*op)(double, double));

struct Bar {
  const char* group;
  std::string text;
  std::string unit;
  double limit;
  bool at_most;                                                       // else: at least
  std::function<std::optional<double>(const Results&, Taken)> value;  // nothing: a row was not measured
};

// A row against Go's twin in the same run. A bar in nanoseconds is for the machine of the peers' table; where another
// one runs, this tells more: `limit` is that bar by what Go took there.
Bar against_go(const char* group, const char* row, double limit, bool at_most = true);

// Something about the library that belongs beside the numbers; asked after the run.
struct Fact {
  const char* group;
  const char* name;
  std::string (*value)();
};

struct Registry {
  std::vector<Contestant> contestants;
  std::vector<Probe> probes;
  std::vector<Bar> bars;
  std::vector<Fact> facts;
  std::vector<std::string> missing_peers;  // why peers of this build cannot be measured
};
Registry& registry();

struct Register {
  explicit Register(Contestant c) { registry().contestants.push_back(c); }
  explicit Register(Probe p) { registry().probes.push_back(p); }
  explicit Register(Fact f) { registry().facts.push_back(f); }
  explicit Register(Bar b) { registry().bars.push_back(std::move(b)); }
};

struct Plan {
  std::string group;
  std::string filter;
  int runs = 25;
  std::uint64_t ops = 0;  // 0: calibrate
  bool peers = false;
};

// Names of the rows' stems that the plan would measure, in order.
std::vector<std::string> list(const Plan& plan);
Results measure(const Plan& plan);

template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace bench
