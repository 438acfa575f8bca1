// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/sys.hpp"
#include "sim/universe.hpp"

namespace weft::inline v0::sim {

using namespace detail;

CancelReport cancel_everywhere(const CancelOptions& options, const std::function<void()>& f) {
  CancelReport report;
  const ChoicePlan plan{options.seed, std::nullopt};
  const auto fails = [&](const Universe& universe, std::uint64_t point) {
    Report one = universe.report();
    if (one.ok()) return Failure::none;
    const Failure failure = one.failure;
    if (++report.failures != 1) return failure;
    report.at = point;
    report.where = universe.cancelled_where();
    report.text = "weft::sim: " +
                  (point == 0 ? "without a cancel"
                              : "cancelled at suspension point " + std::to_string(point) + " (" + report.where + ")") +
                  " it fails (" + to_string(failure) + "): " + one.text + "\n";
    report.first = std::move(one);
    if (!options.quiet) sys::write_all(2, report.text);
    return failure;
  };
  std::uint64_t points = 0;
  bool victim_only = false;
  {
    Universe whole(plan, options);
    whole.run(f);
    if (fails(whole, 0) != Failure::none) return report;
    points = std::min(whole.cancel_points(), options.most);
    victim_only = whole.victim_used();
  }
  for (std::uint64_t point = 1; point <= points; ++point) {
    Universe universe(plan, options);
    universe.cancel_at(point, victim_only);
    universe.run(f);
    ++report.points;
    (void)fails(universe, point);
    if (universe.report().abandoned) break;
  }
  return report;
}

}  // namespace weft::inline v0::sim
