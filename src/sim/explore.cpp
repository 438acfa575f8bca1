// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/sys.hpp"
#include "sim/run.hpp"
#include "sim/shrink.hpp"
#include "weft/detail/seam.hpp"
#include "weft/sim.hpp"

namespace weft::inline v0 {
namespace detail {
namespace {

using sim::Exploration;
using sim::ExploreOptions;
using sim::Report;

constexpr std::uint64_t compare_each = 16;  // seeds; and the first, and each that fails
constexpr std::int64_t tell_each = 500'000'000;

// "weft::sim: 512 seeds, 2400 per second, 0 failures", over itself. By the real clock: it is for people.
class Progress {
 public:
  explicit Progress(ExploreOptions::Progress wanted)
      : overwrites_(::isatty(2) == 1),
        on_(wanted == ExploreOptions::Progress::always ||
            (wanted == ExploreOptions::Progress::terminal && overwrites_)),
        begun_(seam::monotonic_ns()),
        told_(begun_) {}
  void look(const Exploration& so_far) {
    if (on_ && seam::monotonic_ns() - told_ >= tell_each) tell(so_far);
  }
  void end(const Exploration& so_far) {
    if (!on_) return;
    tell(so_far);
    if (overwrites_) sys::write_all(2, "\n");
  }

 private:
  void tell(const Exploration& so_far) {
    told_ = seam::monotonic_ns();
    const std::int64_t ms = std::max<std::int64_t>((told_ - begun_) / 1'000'000, 1);
    const std::uint64_t rate = so_far.tried * 1000 / static_cast<std::uint64_t>(ms);
    sys::write_all(2, std::string(overwrites_ ? "\r" : "") + "weft::sim: " + std::to_string(so_far.tried) + " seeds, " +
                          std::to_string(rate) + " per second, " + std::to_string(so_far.failures) + " failures" +
                          (overwrites_ ? "  " : "\n"));
  }

  const bool overwrites_;
  const bool on_;
  const std::int64_t begun_;
  std::int64_t told_;
};

std::vector<Choice> made_in(const Report& report) {
  return ChoicePlan::parse(report.replay).choices.value_or(std::vector<Choice>());
}

void shrink(const ExploreOptions& options, const std::function<void()>& f, Exploration& found) {
  found.shrunk = found.first;
  // A run that never ends is abandoned with all it holds: not again and again. Two runs that differ cannot be repeated.
  if (!options.shrink || found.first.abandoned || found.first.failure == sim::Failure::different) return;
  bool abandoned = false;  // an attempt was: then this is short enough
  std::uint64_t asked = 0;
  const std::vector<Choice> shortest =
      shrink_choices(made_in(found.first), options.shrink_runs, asked,
                     [&](const std::vector<Choice>& wanted) -> std::optional<std::vector<Choice>> {
                       if (abandoned) return std::nullopt;
                       ++found.shrink_runs;
                       const Report report = run_once({found.first.seed, wanted}, options, f);
                       abandoned = report.abandoned;
                       if (abandoned || report.failure != found.first.failure) return std::nullopt;
                       if (report.failure == sim::Failure::check && report.text != found.first.text)
                         return std::nullopt;
                       return made_in(report);
                     });
  const Report report = run_once({found.first.seed, shortest}, options, f);
  if (report.failure == found.first.failure) found.shrunk = report;
}

std::string tell(const Exploration& found) {
  const Report& first = found.first;
  std::string text = "weft::sim: seed " + std::to_string(first.seed) + " fails (" + to_string(first.failure) +
                     "): " + first.text + "\n  again:    WEFT_SIM_SEED=" + std::to_string(first.seed) + "\n";
  if (found.shrink_runs == 0) return text;
  text += "  shrunk:   WEFT_SIM_REPLAY=" + found.shrunk.replay + "\n";
  const std::size_t needed = found.shrunk.schedule.size();
  text += "  schedule: " + std::to_string(needed) + (needed == 1 ? " unusual choice of " : " unusual choices of ") +
          std::to_string(first.schedule.size()) + (needed == 1 ? " is needed\n" : " are needed\n");
  for (const std::string& line : found.shrunk.schedule) text += "    " + line + "\n";
  return text;
}

void note_failure(const ExploreOptions& options, const std::function<void()>& f, Exploration& found, Report report) {
  if (++found.failures != 1) return;
  if (options.twice && !report.abandoned && report.failure != sim::Failure::different) {
    Report again = run_compared({report.seed, made_in(report)}, options, f);
    if (again.ok()) {
      again.failure = sim::Failure::different;
      again.text = "it failed (" + report.text +
                   "), and with the same choices again it did not: an address, a real "
                   "clock, a thread, or something that outlives the run decides";
    }
    report = std::move(again);
  }
  found.first = std::move(report);
  shrink(options, f, found);
  found.text = tell(found);
  if (!options.quiet) sys::write_all(2, found.text);
}

}  // namespace
}  // namespace detail

using namespace detail;

namespace sim {

Exploration explore(const ExploreOptions& options, const std::function<void()>& f) {
  Exploration found;
  if (const std::optional<ChoicePlan> plan = plan_from_environment()) {
    Report report = run_compared(*plan, options, f);
    found.tried = 1;
    if (!report.ok()) note_failure(options, f, found, std::move(report));
    return found;
  }
  Progress progress(options.progress);
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    const ChoicePlan plan{options.first_seed + i, std::nullopt};
    Report report = i % compare_each == 0 ? run_compared(plan, options, f) : run_once(plan, options, f);
    ++found.tried;
    if (!report.ok()) {
      note_failure(options, f, found, std::move(report));
      if (!options.keep_going) break;
    }
    progress.look(found);
  }
  progress.end(found);
  return found;
}

}  // namespace sim
}  // namespace weft::inline v0
