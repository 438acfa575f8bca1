// SPDX-License-Identifier: MIT
#include "explorer/explore.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "explorer/crash.hpp"
#include "weft/detail/seam.hpp"

namespace weft::inline v0::verify {
namespace {

class Explorer {
 public:
  Explorer(const Options& options, const Scenario& scenario)
      : options_(options),
        scenario_(scenario),
        execution_({options.steps, options.delays, options.spurious, options.asymmetric, options.seed}) {}

  Result run() {
    last_progress_ = seam::real::monotonic_ns();
    CrashGuard guard;
    std::visit([&](const auto& mode) { search(mode); }, options_.mode);
    return std::move(result_);
  }

 private:
  void search(const Dfs& mode) {
    if (mode.preemptions < 0) {
      DfsStrategy strategy(-1, options_.delays);
      search_with(strategy, "no bound");
      return;
    }
    for (int bound = 0; bound <= mode.preemptions && result_.ok(); ++bound) {
      DfsStrategy strategy(bound, options_.delays);
      search_with(strategy, "bound " + std::to_string(bound));
      if (!result_.complete) return;
    }
  }
  void search(const Pct& mode) {
    PctStrategy strategy(mode.depth, mode.seed, mode.runs, options_.delays);
    search_with(strategy, "pct");
    result_.complete = false;
  }
  void search(const RandomWalk& mode) {
    RandomStrategy strategy(mode.seed, mode.runs, options_.delays);
    search_with(strategy, "random");
    result_.complete = false;
  }
  void search(const Replay& mode) {
    const std::size_t at = mode.schedule.rfind('@');
    const auto actions = read_schedule(at == std::string::npos ? mode.schedule : mode.schedule.substr(at + 1));
    if (!actions) {
      result_.verdict = Verdict::replay_diverged;
      result_.message = "the replay string cannot be read";
      result_.report = options_.name + ": " + result_.message + "\n";
      return;
    }
    ReplayStrategy strategy(*actions);
    search_with(strategy, "replay");
    result_.complete = false;
  }

  void search_with(Strategy& strategy, const std::string& phase) {
    for (bool more = true; more;) {
      if (result_.executions >= options_.executions) {
        result_.complete = false;
        return;
      }
      execution_.run(scenario_, strategy);
      ++result_.executions;
      result_.steps += execution_.actions().size();
      const bool failed = execution_.verdict() != Verdict::passed;
      const bool sampled = (result_.executions & (result_.executions - 1)) == 0 || result_.executions % 1024 == 0;
      const std::size_t steps = execution_.actions().size();
      if (failed || sampled) {
        if (!settle(failed)) return;
      }
      show_progress(phase);
      more = strategy.next(steps);
    }
    result_.complete = true;
  }

  // Runs the last schedule again and compares [EXP-2]. False: the search is over.
  bool settle(bool failed) {
    const Verdict verdict = execution_.verdict();
    const std::string message = execution_.message();
    const std::vector<Action> actions = execution_.actions();
    const std::vector<Event> events = execution_.events();
    if (verdict == Verdict::replay_diverged && !std::holds_alternative<Replay>(options_.mode)) {
      report(Verdict::nondeterministic, "scenario is not deterministic at step " + std::to_string(actions.size() + 1) +
                                            ": the same prefix offered other choices before");
      return false;
    }
    ReplayStrategy again(actions);
    if (verdict != Verdict::replay_diverged) {
      execution_.run(scenario_, again);
      const auto differs =
          std::mismatch(events.begin(), events.end(), execution_.events().begin(), execution_.events().end());
      const bool same_end = execution_.verdict() == verdict && execution_.message() == message;
      if (differs.first != events.end() || differs.second != execution_.events().end() || !same_end) {
        const auto step = static_cast<std::size_t>(differs.first - events.begin()) + 1;
        const bool missing = differs.second == execution_.events().end();
        std::string text = "scenario is not deterministic at step " + std::to_string(step);
        if (differs.first == events.end() && missing) {
          text += ": the first run ended with '" + message + "', the second with '" + execution_.message() + "'";
        } else {
          text += ": the second run of the same schedule did ";
          text += missing ? "nothing more" : "'" + execution_.describe(*differs.second) + "'";
          if (differs.first != events.end()) text += " instead of '" + execution_.describe(*differs.first) + "'";
        }
        report(Verdict::nondeterministic, text);
        return false;
      }
    }
    if (failed) report(verdict, message);
    return !failed;
  }

  void report(Verdict verdict, const std::string& message) {
    result_.verdict = verdict;
    result_.complete = false;
    result_.message = message;
    result_.schedule = options_.name + "@" + write_schedule(execution_.actions());
    result_.report = "scenario:  " + options_.name + "\n" + "failure:   " + std::string(to_string(verdict)) + ": " +
                     message + "\nschedule:\n" + execution_.describe() + "replay:    --replay '" + result_.schedule +
                     "'\n" + "found by execution " + std::to_string(result_.executions) + "\n";
  }

  void show_progress(const std::string& phase) {
    if (!options_.progress || result_.executions % 256 != 0) return;
    const std::int64_t now = seam::real::monotonic_ns();
    if (now - last_progress_ < 10'000'000'000) return;
    last_progress_ = now;
    std::fprintf(stderr, "%s: %s, %llu executions, %llu steps\n", options_.name.c_str(), phase.c_str(),
                 static_cast<unsigned long long>(result_.executions), static_cast<unsigned long long>(result_.steps));
  }

  const Options& options_;
  const Scenario& scenario_;
  Execution execution_;
  Result result_;
  std::int64_t last_progress_ = 0;
};

}  // namespace

Result explore(const Options& options, const Scenario& scenario) {
  return Explorer(options, scenario).run();
}

}  // namespace weft::inline v0::verify
