// SPDX-License-Identifier: MIT
// Who may go on at a step, and the step itself.
#include <algorithm>
#include <limits>

#include "explorer/execution.hpp"

namespace weft::inline v0::verify {
namespace {

using hook::Access;
using hook::Op;

// Operations after which the thread's own earlier stores are visible to all.
constexpr bool drains(const Access& access, bool asymmetric) {
  switch (access.op) {
    case Op::light_fence:
      return !asymmetric;
    case Op::begin:
    case Op::load:
    case Op::futex_sleep:
    case Op::pause:
      return false;
    case Op::store:
    case Op::fence:
      return access.order == std::memory_order_seq_cst;
    default:
      return true;
  }
}

}  // namespace

bool Execution::runnable(const LogicalThread& thread) const {
  if (thread.finished || thread.sleeping) return false;
  if (thread.pending.op == Op::lock) {
    return static_cast<const std::atomic<std::uint32_t>*>(thread.pending.object)->load(std::memory_order_relaxed) == 0;
  }
  if (thread.pending.op == Op::join) {
    const auto* target = static_cast<const LogicalThread*>(thread.pending.object);
    return target->finished && target->buffer.empty();
  }
  return true;
}

// A store reaching memory can be told from one that reaches it later only by a thread that is about to look there, or
// that waits in a loop and may look anywhere next. So only then is it a choice.
bool Execution::awaited(const LogicalThread& thread) const {
  if (thread.buffer.empty()) return false;
  for (std::size_t i = 0; i < live_; ++i) {
    const LogicalThread& other = *threads_[i];
    if (&other == &thread || other.finished) continue;
    if (other.paused) return true;
    for (const BufferedStore& store : thread.buffer) {
      if (store.object == other.pending.object) return true;
    }
  }
  return false;
}

// The running thread first, then the others by age: the first entry is always "no preemption".
void Execution::build_menu() {
  menu_.clear();
  const bool current_goes_on = current_ != nullptr && runnable(*current_) && !current_->paused;
  const auto offer = [&](const LogicalThread& thread) {
    if (!runnable(thread) || (thread.paused && !news_for(thread))) return;
    const auto id = static_cast<std::uint8_t>(thread.id);
    const std::uint8_t cost = current_goes_on && &thread != current_ ? 1 : 0;
    menu_.push_back({{id, Variant::run}, cost, 0});
    if (limits_.delays > 0 && thread.pending.op == Op::store && thread.buffer.empty() &&
        thread.pending.order != std::memory_order_seq_cst) {
      menu_.push_back({{id, Variant::delayed}, cost, 1});
    }
    if (limits_.spurious && thread.pending.op == Op::compare_exchange_weak) {
      menu_.push_back({{id, Variant::spurious}, static_cast<std::uint8_t>(cost + 1), 0});
    }
  };
  if (current_goes_on) offer(*current_);
  for (std::size_t i = 0; i < live_; ++i) {
    if (threads_[i].get() != current_) offer(*threads_[i]);
  }
  if (current_ != nullptr && !current_goes_on) offer(*current_);
  for (std::size_t i = 0; i < live_; ++i) {
    if (menu_.empty() ? !threads_[i]->buffer.empty() : awaited(*threads_[i])) {
      menu_.push_back({{static_cast<std::uint8_t>(i), Variant::flush}, 0, 0});
    }
  }
  if (!menu_.empty()) {
    // Others could go on, yet time may pass and kernels may wake for nothing.
    for (std::size_t i = 0; i < live_; ++i) {
      if (!threads_[i]->sleeping) continue;
      const auto id = static_cast<std::uint8_t>(i);
      if (threads_[i]->deadline != std::numeric_limits<std::int64_t>::max()) {
        menu_.push_back({{id, Variant::timeout}, 1, 0});
      }
      if (limits_.spurious) menu_.push_back({{id, Variant::spurious}, 1, 0});
    }
    return;
  }
  // Nothing can go on by itself: the earliest deadline passes.
  const LogicalThread* earliest = nullptr;
  for (std::size_t i = 0; i < live_; ++i) {
    const LogicalThread& thread = *threads_[i];
    if (!thread.sleeping || thread.deadline == std::numeric_limits<std::int64_t>::max()) continue;
    if (earliest == nullptr || thread.deadline < earliest->deadline) earliest = &thread;
  }
  if (earliest != nullptr) {
    menu_.push_back({{static_cast<std::uint8_t>(earliest->id), Variant::timeout}, 0, 0});
    return;
  }
  // Only threads that wait politely are left: in turn, starting behind the running one [EXE-2].
  const std::size_t first = current_ == nullptr ? 0 : current_->id + 1;
  for (std::size_t i = 0; i < live_; ++i) {
    const LogicalThread& thread = *threads_[(first + i) % live_];
    if (!runnable(thread)) continue;
    menu_.push_back({{static_cast<std::uint8_t>(thread.id), Variant::run}, 0, 0});
    return;
  }
}

void Execution::schedule(Coroutine& from) {
  for (;;) {
    build_menu();
    if (menu_.empty()) {
      const bool all_finished = std::all_of(threads_.begin(), threads_.begin() + static_cast<std::ptrdiff_t>(live_),
                                            [](const auto& thread) { return thread->finished; });
      if (!all_finished) {
        verdict_ = Verdict::deadlock;
        message_ = report_deadlock();
      }
    } else if (actions_.size() >= limits_.steps) {
      verdict_ = Verdict::livelock;
      message_ = "no end after " + std::to_string(actions_.size()) + " steps";
    } else if (const auto action = strategy_->choose(actions_.size(), menu_)) {
      take(*action);
      if (action->variant == Variant::flush) continue;
      if (&current_->coroutine != &from) Coroutine::switch_to(from, current_->coroutine);
      return;
    } else {
      verdict_ = Verdict::replay_diverged;
      message_ = "the recorded choice is not on offer at step " + std::to_string(actions_.size() + 1);
    }
    if (&from != &main_) Coroutine::switch_to(from, main_);
    return;
  }
}

void Execution::take(const Action& action) {
  actions_.push_back(action);
  if (action.variant == Variant::flush) {
    flush_one(*threads_[action.thread]);
  } else {
    perform(action);
  }
}

void Execution::perform(const Action& action) {
  LogicalThread& thread = *threads_[action.thread];
  thread.variant = action.variant;
  if (thread.paused) thread.looked = changes_ - thread.own_changes;
  thread.paused = false;
  if (action.variant == Variant::timeout) now_ = std::max(now_, thread.deadline);
  if (waits_politely(thread.pending.op)) now_ += 1'000;
  if (thread.pending.op == Op::heavy_fence && limits_.asymmetric) {
    for (std::size_t i = 0; i < live_; ++i) drain(*threads_[i]);
  } else if (drains(thread.pending, limits_.asymmetric)) {
    drain(thread);
  }
  Event event;
  event.action = action;
  event.op = thread.pending.op;
  event.order = thread.pending.order;
  event.pointer = thread.pending.pointer;
  if (thread.pending.op == Op::join) {
    event.after = static_cast<const LogicalThread*>(thread.pending.object)->id;
  } else if (thread.pending.object != nullptr) {
    event.object = static_cast<std::int32_t>(locate(thread.pending.object));
  }
  events_.push_back(event);
  current_ = &thread;
}

// Somebody else changed something since the paused thread began the look that ended in this pause.
bool Execution::news_for(const LogicalThread& thread) const {
  return changes_ - thread.own_changes != thread.looked;
}

}  // namespace weft::inline v0::verify
