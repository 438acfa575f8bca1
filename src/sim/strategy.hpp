// SPDX-License-Identifier: MIT
// What: who goes on, drawn from a seed. A random walk, whose restlessness the seed draws, too: some bugs need an
// interruption at every step, others exactly one. Or PCT (Burckhardt and others, 2010): random priorities, the highest
// runs, and at depth - 1 random steps the running one drops below all others; a bug that needs d orderings is found
// with a probability that does not shrink with the number of tasks' interleavings.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "base/random.hpp"
#include "weft/sim.hpp"

namespace weft::inline v0::detail {

// Those who may go on, by number. At a point the first is the one that runs.
struct Candidates {
  std::size_t count = 0;
  const std::function<std::uint32_t(std::size_t)>& number;
};

class SimStrategy {
 public:
  SimStrategy(std::uint64_t seed, const sim::Options& options, Random& random);

  std::size_t at_point(const Candidates& candidates);
  std::size_t at_leave(const Candidates& candidates);
  // It gives up the processor of its own will.
  void yields(std::uint32_t task);

 private:
  std::size_t highest(const Candidates& candidates);
  std::int64_t& priority(std::uint32_t task);

  Random& random_;
  bool pct_;
  std::uint64_t calm_;  // at one of so many points somebody else goes on
  // PCT
  std::uint64_t step_ = 0;
  std::multiset<std::uint64_t> drops_;  // steps at which the running one drops
  std::int64_t lowest_ = 0;             // given last
  std::map<std::uint32_t, std::int64_t> priorities_;
};

}  // namespace weft::inline v0::detail
