// SPDX-License-Identifier: MIT
#pragma once
// What: who goes next. The execution offers a menu at each step, a strategy picks; between executions it says whether
//   there is more to search.
// Invariants:
//   [STR-1] Dfs visits every schedule whose costs stay within its bounds exactly once per bound.
//   [STR-2] The same strategy with the same seed picks the same from the same menus: nothing else is an input.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "explorer/trace.hpp"

namespace weft::inline v0::verify {

struct Option {
  Action action;
  // What taking it costs: 1 for leaving a thread that could have gone on, for a delayed store, for a spurious failure.
  std::uint8_t preemptions = 0;
  std::uint8_t delays = 0;
  bool operator==(const Option&) const = default;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Empty: what is offered does not fit what this strategy saw or was told before.
  virtual std::optional<Action> choose(std::size_t step, std::span<const Option> menu) = 0;
  // After each execution; false when the search is over.
  virtual bool next(std::size_t steps) = 0;
};

class DfsStrategy : public Strategy {
 public:
  DfsStrategy(int preemptions, int delays) : preemptions_(preemptions), delays_(delays) {}
  std::optional<Action> choose(std::size_t step, std::span<const Option> menu) override;
  bool next(std::size_t steps) override;

 private:
  struct Node {
    std::size_t first;  // in options_
    std::size_t count;
    std::size_t chosen;
  };
  std::size_t filter(std::span<const Option> menu);

  const int preemptions_;  // negative: no bound
  const int delays_;
  int preemptions_left_ = 0;
  int delays_left_ = 0;
  std::vector<Node> path_;
  std::vector<Option> options_;
  std::vector<Option> scratch_;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }

 private:
  std::uint64_t state_;
};

// Probabilistic concurrency testing: random priorities, depth - 1 random points at which the running thread falls to
// the lowest. Finds a bug of depth d among n threads and k steps with probability at least 1 / (n * k^(d-1)) per run.
// In a long execution the running one falls again and again: threads may wait for each other by looking.
class PctStrategy : public Strategy {
 public:
  PctStrategy(int depth, std::uint64_t seed, std::uint64_t runs, int delays);
  std::optional<Action> choose(std::size_t step, std::span<const Option> menu) override;
  bool next(std::size_t steps) override;

 private:
  void begin();

  const int depth_;
  const std::uint64_t seed_;
  const std::uint64_t runs_;
  const int delays_;
  std::uint64_t run_ = 0;
  std::size_t longest_ = 32;
  Random random_{0};
  int delays_left_ = 0;
  std::map<std::uint8_t, std::uint64_t> priority_;
  std::vector<std::size_t> changes_;
  std::uint64_t lowest_ = 0;
};

class RandomStrategy : public Strategy {
 public:
  RandomStrategy(std::uint64_t seed, std::uint64_t runs, int delays);
  std::optional<Action> choose(std::size_t step, std::span<const Option> menu) override;
  bool next(std::size_t steps) override;

 private:
  const std::uint64_t seed_;
  const std::uint64_t runs_;
  const int delays_;
  std::uint64_t run_ = 0;
  int delays_left_ = 0;
  Random random_;
};

// Follows a recorded schedule; when it is used up, the first of each menu (the running thread if it can go on).
class ReplayStrategy : public Strategy {
 public:
  explicit ReplayStrategy(std::vector<Action> actions) : actions_(std::move(actions)) {}
  std::optional<Action> choose(std::size_t step, std::span<const Option> menu) override;
  bool next(std::size_t) override { return false; }

 private:
  std::vector<Action> actions_;
};

}  // namespace weft::inline v0::verify
