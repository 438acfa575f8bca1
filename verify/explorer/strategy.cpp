// SPDX-License-Identifier: MIT
#include "explorer/strategy.hpp"

#include <algorithm>

namespace weft::inline v0::verify {

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

// What of the menu the remaining budget can pay, into scratch_.
std::size_t DfsStrategy::filter(std::span<const Option> menu) {
  scratch_.clear();
  for (const Option& option : menu) {
    if (preemptions_ >= 0 && option.preemptions > preemptions_left_) continue;
    if (option.delays > delays_left_) continue;
    scratch_.push_back(option);
  }
  return scratch_.size();
}

std::optional<Action> DfsStrategy::choose(std::size_t step, std::span<const Option> menu) {
  if (step == 0) {
    preemptions_left_ = preemptions_;
    delays_left_ = delays_;
  }
  const std::size_t count = filter(menu);
  if (step == path_.size()) {
    if (count == 0) return std::nullopt;
    path_.push_back({options_.size(), count, 0});
    options_.insert(options_.end(), scratch_.begin(), scratch_.end());
  }
  const Node& node = path_[step];
  if (count != node.count ||
      !std::equal(scratch_.begin(), scratch_.end(), options_.begin() + static_cast<std::ptrdiff_t>(node.first))) {
    return std::nullopt;
  }
  const Option& option = options_[node.first + node.chosen];
  preemptions_left_ -= option.preemptions;
  delays_left_ -= option.delays;
  return option.action;
}

bool DfsStrategy::next(std::size_t steps) {
  // An execution may end before the prefix does only if it is not deterministic; choose() would not see that.
  if (steps < path_.size()) path_.resize(steps);
  while (!path_.empty() && path_.back().chosen + 1 == path_.back().count) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().chosen;
  options_.resize(path_.back().first + path_.back().count);
  return true;
}

namespace {
constexpr std::size_t patience = 500;  // steps: executions that end have fewer, mostly
}

PctStrategy::PctStrategy(int depth, std::uint64_t seed, std::uint64_t runs, int delays)
    : depth_(depth), seed_(seed), runs_(runs), delays_(delays) {
  begin();
}

void PctStrategy::begin() {
  random_ = Random(seed_ * 0x9E3779B97F4A7C15U + run_);
  delays_left_ = delays_;
  priority_.clear();
  lowest_ = 0xFFFF'FFFFU;
  changes_.clear();
  for (int i = 1; i < depth_; ++i) changes_.push_back(random_.below(longest_));
}

std::optional<Action> PctStrategy::choose(std::size_t step, std::span<const Option> menu) {
  const auto priority_of = [&](const Option& option) {
    auto [entry, is_new] = priority_.try_emplace(option.action.thread, 0);
    if (is_new) entry->second = (1ULL << 32U) + (random_.next() >> 32U);
    return entry->second;
  };
  const auto best = [&]() -> const Option* {
    const Option* highest = nullptr;
    for (const Option& option : menu) {
      if (option.action.variant != Variant::run) continue;
      if (highest == nullptr || priority_of(option) > priority_of(*highest)) highest = &option;
    }
    return highest;
  };
  const Option* pick = best();
  const bool changes = std::find(changes_.begin(), changes_.end(), step) != changes_.end();
  // Who looks again and again for what somebody below it has to do would do so for ever.
  const bool too_long = step % patience == patience - 1;
  if (pick != nullptr && (changes || too_long)) {
    priority_[pick->action.thread] = lowest_--;
    pick = best();
  }
  // Timeouts, flushes, delays and spurious wakes have no priority: one in eight steps takes one if it can pay.
  std::vector<const Option*> others;
  for (const Option& option : menu) {
    if (option.action.variant != Variant::run && option.delays <= delays_left_) others.push_back(&option);
  }
  if (!others.empty() && (pick == nullptr || random_.below(8) == 0)) pick = others[random_.below(others.size())];
  if (pick == nullptr) return std::nullopt;
  delays_left_ -= pick->delays;
  return pick->action;
}

bool PctStrategy::next(std::size_t steps) {
  longest_ = std::max(longest_, steps);
  if (++run_ >= runs_) return false;
  begin();
  return true;
}

RandomStrategy::RandomStrategy(std::uint64_t seed, std::uint64_t runs, int delays)
    : seed_(seed), runs_(runs), delays_(delays), delays_left_(delays), random_(seed) {}

std::optional<Action> RandomStrategy::choose(std::size_t, std::span<const Option> menu) {
  std::size_t payable = 0;
  for (const Option& option : menu) payable += option.delays <= delays_left_ ? 1 : 0;
  if (payable == 0) return std::nullopt;
  std::size_t pick = random_.below(payable);
  for (const Option& option : menu) {
    if (option.delays > delays_left_ || pick-- != 0) continue;
    delays_left_ -= option.delays;
    return option.action;
  }
  return std::nullopt;
}

bool RandomStrategy::next(std::size_t) {
  if (++run_ >= runs_) return false;
  delays_left_ = delays_;
  random_ = Random(seed_ * 0x9E3779B97F4A7C15U + run_);
  return true;
}

std::optional<Action> ReplayStrategy::choose(std::size_t step, std::span<const Option> menu) {
  if (menu.empty()) return std::nullopt;
  if (step >= actions_.size()) return menu.front().action;
  for (const Option& option : menu) {
    if (option.action == actions_[step]) return option.action;
  }
  return std::nullopt;
}

}  // namespace weft::inline v0::verify
