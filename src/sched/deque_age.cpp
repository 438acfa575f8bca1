// SPDX-License-Identifier: MIT
#include "sched/deque_age.hpp"

namespace weft::inline v0::detail {
namespace {

// Right across the wraparound.
bool is_before(std::uint64_t index, std::uint64_t other) {
  return static_cast<std::int64_t>(index - other) < 0;
}

}  // namespace

void DequeAge::look(const Deque& deque, std::int64_t now) {
  forget_taken(deque);
  if (noted_) {
    if (now - since_ > old_ns) patience_ = 0;
  } else if (deque.size() != 0) {
    noted_ = true;
    end_ = deque.next_index();
    since_ = now;
  }
}

Entry DequeAge::take_oldest(Deque& deque, std::uint64_t pick) {
  const Entry entry = deque.take_oldest();
  if (!entry) return {};
  oldest_at_ = pick;
  reach_ = deque.next_index();
  return entry;
}

Entry DequeAge::take(Deque& deque, std::uint64_t pick) {
  // Nobody else has run since: what is new is the oldest's.
  if (oldest_at_ != 0 && pick == oldest_at_ + 1 && is_before(reach_, deque.next_index())) newest_until_ = pick + depth;
  const bool of_old = turn_ < run && !is_before(pick, newest_until_);
  if (of_old || turn_ >= run) turn_ = (turn_ + 1) % (2 * run);
  const Entry entry = of_old ? take_oldest(deque, pick) : deque.pop();
  if (patience_ == 0) forget_taken(deque);
  return entry;
}

// At either end.
void DequeAge::forget_taken(const Deque& deque) {
  if (is_before(deque.next_index(), end_)) end_ = deque.next_index();
  if (noted_ && is_before(deque.oldest_index(), end_)) return;
  noted_ = false;
  patience_ = crowd;
}

}  // namespace weft::inline v0::detail
