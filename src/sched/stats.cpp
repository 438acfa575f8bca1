// SPDX-License-Identifier: MIT
// The counters of a runtime, summed and as text.
#include "base/sys.hpp"
#include "sched/records.hpp"
#include "sched/runtime_core.hpp"
#include "sched/stack_marks.hpp"
#include "sched/sysmon.hpp"
#include "weft/runtime.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace {

// One row per number: the sum and the text come from here.
struct Row {
  const char* name;
  std::uint64_t RuntimeStats::* field;
  Tally WorkerCounters::* source;  // null: not a sum over workers
};

using S = RuntimeStats;
using C = WorkerCounters;

constexpr Row rows[] = {
    {"tasks_started", &S::started, nullptr},
    {"tasks_finished", &S::finished, nullptr},
    {"parks", &S::parks, &C::parks},
    {"parks_avoided", &S::parks_avoided, &C::parks_avoided},
    {"wakes", &S::wakes, &C::wakes},
    {"yields", &S::yields, &C::yields},
    {"switches", &S::switches, &C::switches},
    {"dispatches", &S::dispatches, &C::dispatches},
    {"in_place", &S::in_place, nullptr},
    {"steals", &S::steals, &C::steals},
    {"ready_steals", &S::ready_steals, &C::ready_steals},
    {"inbox_pops", &S::inbox_pops, &C::inbox_pops},
    {"global_pops", &S::global_pops, &C::global_pops},
    {"futex_wakes", &S::futex_wakes, &C::futex_wakes},
    {"sleeps", &S::sleeps, &C::sleeps},
    {"timers_fired", &S::timers_fired, &C::timers_fired},
    {"timers_stale", &S::timers_stale, &C::timers_stale},
    {"cores_made", &S::cores_made, &C::cores_made},
    {"cores_reused", &S::cores_reused, &C::cores_reused},
    {"handoffs", &S::handoffs, &C::handoffs},
    {"rescues", &S::rescues, &C::rescues},
    {"stalls", &S::stalls, nullptr},
    {"workers_promoted", &S::promoted, nullptr},
    {"workers_retired", &S::retired, nullptr},
    {"records", &S::records, nullptr},
};

void add(RuntimeStats& all, const WorkerCounters& counters) {
  for (const Row& row : rows)
    if (row.source != nullptr) all.*row.field += counters.*row.source;
}

}  // namespace

RuntimeStats Runtime::stats() const {
  RuntimeStats all;
  all.workers = core_->threads();
  all.started = core_->live.started_total();
  all.finished = core_->live.finished_total();
  for (const auto& each : core_->workers) {
    add(all, each->counters);
    const std::uint64_t whole = each->ran_in_place;  // neither counted as started nor as finished
    all.started += whole;
    all.finished += whole;
    all.in_place += whole + each->counters.stood_out;
  }
  if (core_->sysmon != nullptr) {
    add(all, core_->sysmon->counters());
    all.stalls = core_->sysmon->stall_count();
    all.promoted = core_->sysmon->pressure().promoted_workers;
    all.retired = core_->sysmon->retired();
  }
  all.records = record_stats().made;
  return all;
}

std::string Runtime::stats_text() const {
  const RuntimeStats all = stats();
  std::string text = "workers " + std::to_string(all.workers) + "\n";
  for (const Row& row : rows) text.append(row.name).append(" ").append(std::to_string(all.*row.field)).append("\n");
  text += stack_marks_text();
  return text + (core_->sysmon != nullptr ? core_->sysmon->pressure_text() : PressureGate().to_text());
}

std::vector<StallReport> Runtime::stalls() const {
  return core_->sysmon != nullptr ? core_->sysmon->stalls() : std::vector<StallReport>{};
}

}  // namespace weft::inline v0
