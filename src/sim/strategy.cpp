// SPDX-License-Identifier: MIT
#include "sim/strategy.hpp"

namespace weft::inline v0::detail {
namespace {

bool is_pct(std::uint64_t seed, sim::Strategy strategy) {
  return strategy == sim::Strategy::pct || (strategy == sim::Strategy::mixed && seed % 3 == 2);
}

}  // namespace

SimStrategy::SimStrategy(std::uint64_t seed, const sim::Options& options, Random& random)
    : random_(random), pct_(is_pct(seed, options.strategy)) {
  calm_ = std::uint64_t{2} << random_.below(5);  // 2, 4, ... 32
  if (!pct_) return;
  for (unsigned i = 1; i < options.pct_depth; ++i) {
    const std::uint64_t length = std::uint64_t{16} << random_.below(9);  // how long the run is, nobody knows
    drops_.insert(random_.below(length));
  }
}

std::int64_t& SimStrategy::priority(std::uint32_t task) {
  const auto [found, fresh] = priorities_.try_emplace(task, 0);
  if (fresh) found->second = 1 + static_cast<std::int64_t>(random_.below(std::uint64_t{1} << 40));
  return found->second;
}

std::size_t SimStrategy::highest(const Candidates& candidates) {
  std::size_t best = 0;
  std::int64_t most = priority(candidates.number(0));
  for (std::size_t i = 1; i < candidates.count; ++i) {
    const std::int64_t mine = priority(candidates.number(i));
    if (mine <= most) continue;
    most = mine;
    best = i;
  }
  return best;
}

std::size_t SimStrategy::at_point(const Candidates& candidates) {
  if (!pct_) {
    if (candidates.count < 2 || random_.below(calm_) != 0) return 0;
    return 1 + static_cast<std::size_t>(random_.below(candidates.count - 1));
  }
  if (drops_.contains(step_++)) yields(candidates.number(0));
  return highest(candidates);
}

std::size_t SimStrategy::at_leave(const Candidates& candidates) {
  if (!pct_) return static_cast<std::size_t>(random_.below(candidates.count));
  ++step_;
  return highest(candidates);
}

void SimStrategy::yields(std::uint32_t task) {
  if (pct_) priorities_[task] = --lowest_;
}

}  // namespace weft::inline v0::detail
