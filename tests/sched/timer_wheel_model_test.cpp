// SPDX-License-Identifier: MIT
// Random sequences of operations on a wheel, compared step by step with a sorted map. RC_PARAMS="seed=..." repeats a
// failure.
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <vector>

#include "doctest/doctest.h"
#include "sched/timer_wheel.hpp"

using namespace weft;
using namespace weft::detail;

namespace {

constexpr std::int64_t tick = TimerWheel::tick_ns;
constexpr std::int64_t hour = 3'600'000'000'000;

std::uint64_t rounded_up(std::int64_t deadline) {
  return deadline <= 0 ? 0 : (static_cast<std::uint64_t>(deadline) + tick - 1) / tick;
}

// What a wheel promises, written with a sorted map and nothing clever.
class Model {
 public:
  explicit Model(std::int64_t now) : now_(now) {}

  void insert(int id, std::int64_t deadline) {
    if (rounded_up(deadline) <= static_cast<std::uint64_t>(now_) / tick) {
      due_.push_back(id);
    } else {
      waiting_.emplace(rounded_up(deadline), id);
    }
  }
  void remove(int id) {
    std::erase(due_, id);
    std::erase_if(waiting_, [id](const auto& entry) { return entry.second == id; });
  }
  std::vector<int> advance(std::int64_t now) {
    now_ = std::max(now, now_);
    std::vector<int> fired(due_.begin(), due_.end());
    due_.clear();
    while (!waiting_.empty() && waiting_.begin()->first <= static_cast<std::uint64_t>(now_) / tick) {
      fired.push_back(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
    return fired;
  }
  std::size_t size() const { return due_.size() + waiting_.size(); }
  bool has_due() const { return !due_.empty(); }
  std::int64_t now() const { return now_; }
  // The moment at which the earliest fires, in ticks; none: the largest number.
  std::uint64_t earliest() const {
    if (!due_.empty()) return 0;
    return waiting_.empty() ? std::numeric_limits<std::uint64_t>::max() : waiting_.begin()->first;
  }

 private:
  std::int64_t now_;
  std::deque<int> due_;
  std::multimap<std::uint64_t, int> waiting_;
};

struct Numbered : TimerNode {
  int id = 0;
};

int id_of(TimerNode& node) {
  return static_cast<Numbered&>(node).id;
}

// Spans of every size, from one nanosecond to decades.
std::int64_t some_span() {
  const int bits = *rc::gen::inRange(0, 60);
  return *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << bits) + (std::int64_t{1} << bits) - 1;
}

std::int64_t later(std::int64_t now, std::int64_t span) {
  return span > seam::no_deadline - now ? seam::no_deadline : now + span;
}

}  // namespace

TEST_CASE("timer wheel: any sequence of insert, remove and advance is that of a sorted map") {
  CHECK(rc::check("wheel", [] {
    const auto start = *rc::gen::element<std::int64_t>(0, 1, tick, 63 * tick, 4095 * tick + 5, hour, 1'000'000 * hour);
    TimerWheel wheel(start);
    Model model(start);
    std::vector<Numbered> nodes(40);
    for (int i = 0; i < 40; ++i) nodes[static_cast<std::size_t>(i)].id = i;
    const auto operations = *rc::gen::scale(4.0, rc::gen::arbitrary<std::vector<std::uint16_t>>());
    for (const std::uint16_t operation : operations) {
      Numbered& node = nodes[operation / 8 % nodes.size()];
      if (operation % 8 < 4) {
        wheel.remove(node);
        model.remove(node.id);
        const std::int64_t deadline = operation % 8 == 0 ? model.now() - some_span() : later(model.now(), some_span());
        wheel.insert(node, deadline);
        model.insert(node.id, deadline);
        RC_ASSERT(node.armed());
      } else if (operation % 8 == 4) {
        wheel.remove(node);
        model.remove(node.id);
        RC_ASSERT(!node.armed());
      } else {
        const std::int64_t now = operation % 8 == 5   ? std::max(model.now(), wheel.next_deadline() - 1)
                                 : operation % 8 == 6 ? wheel.next_deadline()
                                                      : later(model.now(), some_span());
        if (now == seam::no_deadline) continue;
        std::vector<int> fired;
        const std::size_t count = wheel.advance(now, [&](TimerNode& one) {
          RC_ASSERT(!one.armed());
          RC_ASSERT(one.deadline <= std::max(now, model.now()));
          fired.push_back(id_of(one));
        });
        RC_ASSERT(count == fired.size());
        RC_ASSERT(fired == model.advance(now));
      }
      RC_ASSERT(wheel.size() == model.size());
      RC_ASSERT(wheel.empty() == (model.size() == 0));
      const std::int64_t next = wheel.next_deadline();
      if (model.size() == 0) {
        RC_ASSERT(next == seam::no_deadline);
      } else {
        // Never later than the earliest, and never so early that a sleeper would spin on it.
        RC_ASSERT((model.has_due() || static_cast<std::uint64_t>(next) / tick <= model.earliest()));
        RC_ASSERT((model.has_due() ? next <= model.now() : next > model.now()));
      }
    }
    for (Numbered& node : nodes) wheel.remove(node);
    RC_ASSERT(wheel.empty());
    RC_ASSERT(wheel.next_deadline() == seam::no_deadline);
  }));
}
