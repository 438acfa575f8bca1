// SPDX-License-Identifier: MIT
// Relaxed: marks that carry nothing.
#include "weft/race.hpp"

#include <stdexcept>

#include "fiber/thrown.hpp"

namespace weft::inline v0::detail {

Arrivals::Arrivals(std::vector<FutureState*> states) : states_(std::move(states)), nodes_(states_.size()) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i] == nullptr) {
      ++arrived_;
      continue;
    }
    nodes_[i].gathering = &gathering_;
    nodes_[i].index = i;
    states_[i]->core.join(nodes_[i]);
  }
}

Arrivals::~Arrivals() {
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (states_[i] != nullptr) states_[i]->core.leave(nodes_[i]);
}

std::size_t Arrivals::next() {
  if (arrived_ == states_.size()) return states_.size();
  const auto [node, result] =
      gather_next(current_io(), gathering_, {"race", this, {}, std::chrono::steady_clock::time_point::max()});
  ++arrived_;
  return node->index;
}

namespace {

// All that have not ended are asked first, then waited for. What became of them is the race's to know.
void end_all(FutureState* const* states, std::size_t count, CancelReason reason) {
  for (std::size_t i = 0; i < count; ++i)
    if (states[i] != nullptr) cancel_future(*states[i], reason);
  for (std::size_t i = 0; i < count; ++i) {
    if (states[i] == nullptr) continue;
    join_future(*states[i]);
    states[i]->flags.fetch_or(future_observed, std::memory_order_relaxed);
  }
}

// Whatever way the function is left.
class EndAll {
 public:
  EndAll(FutureState* const* states, std::size_t count, CancelReason reason)
      : states_(states), count_(count), reason_(reason) {}
  ~EndAll() { end_all(states_, count_, reason_); }
  EndAll(const EndAll&) = delete;
  EndAll& operator=(const EndAll&) = delete;
  void because(CancelReason reason) { reason_ = reason; }

 private:
  FutureState* const* states_;
  std::size_t count_;
  CancelReason reason_;
};

}  // namespace

bool is_decided(FutureState* const* begun, std::size_t count) {
  if (count == 0 || !current_io().runs_inline()) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (begun[i] != nullptr && begun[i]->core.is_over() && begun[i]->failure == nullptr) return true;
  return false;
}

std::size_t run_race(FutureState* const* states, std::size_t count) {
  if (count == 0) throw std::invalid_argument("a race of nobody has no winner");
  std::exception_ptr first;
  std::vector<std::exception_ptr> others;
  {
    EndAll losers(states, count, CancelReason::user);  // unless it is decided
    Arrivals arrivals({states, states + count});
    for (std::size_t i; (i = arrivals.next()) != count;) {
      if (states[i]->failure == nullptr) {
        losers.because(CancelReason::race_lost);
        return i;
      }
      if (first == nullptr) {
        first = states[i]->failure;
      } else {
        others.push_back(states[i]->failure);
      }
    }
  }
  keep_beside(first, others);
  std::rethrow_exception(std::move(first));
}

void run_join(FutureState* const* states, std::size_t count) {
  std::exception_ptr first;
  std::vector<std::exception_ptr> others;
  {
    EndAll rest(states, count, CancelReason::user);
    Arrivals arrivals({states, states + count});
    for (std::size_t i; (i = arrivals.next()) != count;) {
      if (states[i]->failure == nullptr) continue;
      first = states[i]->failure;
      rest.because(CancelReason::sibling);
      break;
    }
  }
  if (first == nullptr) return;
  // Those that stopped because they were asked are no errors of their own.
  for (std::size_t i = 0; i < count; ++i)
    if (states[i]->failure != nullptr && states[i]->failure != first && status_of(*states[i]) == FutureStatus::failed)
      others.push_back(states[i]->failure);
  keep_beside(first, others);
  std::rethrow_exception(std::move(first));
}

}  // namespace weft::inline v0::detail
