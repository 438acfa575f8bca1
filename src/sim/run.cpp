// SPDX-License-Identifier: MIT
#include "sim/run.hpp"

#include <cstdlib>

#include "sim/universe.hpp"
#include "weft/detail/point.hpp"

namespace weft::inline v0 {
namespace detail {

sim::Report run_once(const ChoicePlan& plan, const sim::Options& options, const std::function<void()>& f) {
  Universe universe(plan, options);
  universe.run(f);
  return universe.report();
}

sim::Report run_compared(const ChoicePlan& plan, const sim::Options& options, const std::function<void()>& f) {
  if (!options.twice) return run_once(plan, options, f);
  Universe first(plan, options);
  first.run(f);
  if (first.report().abandoned) return first.report();  // not twice: it is kept for ever
  Universe second(plan, options);
  second.run(f);
  sim::Report report = first.report();
  report.abandoned = second.report().abandoned;
  const std::string difference = SimTrace::difference(first.trace(), second.trace());
  if (difference.empty()) return report;
  if (report.failure != sim::Failure::none) report.text += "\n";
  report.failure = sim::Failure::different;
  report.text +=
      "the second run of seed " + std::to_string(plan.seed) +
      " did something else: an address, a real clock or a thread decides something. First difference: " + difference;
  return report;
}

std::optional<ChoicePlan> plan_from_environment() {
  for (const char* name : {"WEFT_SIM_REPLAY", "WEFT_SIM_SEED"}) {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read, never written, by us
    if (text != nullptr && *text != '\0') return ChoicePlan::parse(text);
  }
  return std::nullopt;
}

}  // namespace detail

using namespace detail;

namespace sim {

const char* to_string(Failure failure) {
  switch (failure) {
    case Failure::none:
      return "none";
    case Failure::exception:
      return "exception";
    case Failure::check:
      return "check";
    case Failure::deadlock:
      return "deadlock";
    case Failure::hang:
      return "hang";
    case Failure::livelock:
      return "livelock";
    case Failure::leak:
      return "leak";
    case Failure::different:
      return "different";
    case Failure::thread:
      return "thread";
  }
  return "?";
}

Report run(std::uint64_t seed, const Options& options, const std::function<void()>& f) {
  return run_compared(plan_from_environment().value_or(ChoicePlan{seed, std::nullopt}), options, f);
}

Report replay(std::string_view choices, const Options& options, const std::function<void()>& f) {
  return run_compared(ChoicePlan::parse(choices), options, f);
}

bool victim(const std::function<void()>& f) {
  if (Universe* universe = universe_here()) return universe->run_victim(f);
  f();
  return true;
}

bool active() noexcept {
  return universe_here() != nullptr;
}

std::uint64_t seed() noexcept {
  const Universe* universe = universe_here();
  return universe != nullptr ? universe->seed() : 0;
}

bool fault(std::string_view name, double probability) {
  Universe* universe = universe_here();
  return universe != nullptr && universe->fault(name, probability);
}

std::uint64_t choose(std::uint64_t count) {
  Universe* universe = universe_here();
  return universe != nullptr ? universe->choose(count) : 0;
}

void point() noexcept {
  detail::point("point");
}

void note(std::string_view text) {
  if (Universe* universe = universe_here()) universe->note(text);
}

void check(bool condition, std::string_view text, const std::source_location& site) {
  if (condition) return;
  const std::string_view file = site.file_name();
  const std::string whole = std::string(text) + " (" + std::string(file.substr(file.rfind('/') + 1)) + ":" +
                            std::to_string(site.line()) + ")";
  if (Universe* universe = universe_here()) universe->fail(Failure::check, whole);
  throw CheckFailed(whole);
}

void hold(std::string_view name) {
  if (Universe* universe = universe_here()) universe->hold(name, 1);
}

void let_go(std::string_view name) {
  if (Universe* universe = universe_here()) universe->hold(name, -1);
}

DynBinding host_binding(std::string_view name) {
  return detail::host_binding(name);
}

Address address(std::string_view host, std::uint16_t port) {
  Universe* universe = universe_here();
  return universe != nullptr ? universe->network().address(universe->network().host(host), port)
                             : Address::loopback(port);
}

void partition(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  if (Universe* universe = universe_here()) universe->network().partition(one, other);
}

void heal() {
  if (Universe* universe = universe_here()) universe->network().heal();
}

void reset_connections(std::string_view one, std::string_view other) {
  if (Universe* universe = universe_here()) universe->network().reset(one, other);
}

void lose_unsynced(std::string_view host) {
  if (Universe* universe = universe_here()) universe->disk_of(universe->network().host(host)).lose_unsynced();
}

}  // namespace sim
}  // namespace weft::inline v0
