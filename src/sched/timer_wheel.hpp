// SPDX-License-Identifier: MIT
// What: the deadlines of one worker, as a hierarchical timing wheel. A deadline is rounded up to a tick of 2^16 ns;
// eight levels of 64 slots hold every tick that 63 bits of nanoseconds can name, so nothing is clamped and nothing
// wraps.
//
//   level    slot      whole level          where a tick stands: the level of the highest 6-bit group in which it
//   0        66 us     4.2 ms               differs from the present tick, the slot that this group names
//   1        4.2 ms    268 ms
//   2        268 ms    17 s                 present  ... 000010 000011 000000
//   3        17 s      18 min               tick     ... 000010 000101 001100   -> level 1, slot 5
//   4..7     18 min    9000 years
//
// When the present tick reaches the start of a slot of level 1 and up, its nodes are placed again, further down: a node
// moves at most seven times, one that is an hour away four times. Each level has a word that tells its filled slots, so
// empty slots cost nothing, and a tick costs nothing either.
//
// Invariants
//   [WHEEL-1] Never early: a node fires at the first advance() whose time is not before its deadline rounded up to a
//             tick. So it is late by less than one tick, plus what the caller is late.
//   [WHEEL-2] Where a node stands depends on its tick and on the present tick alone. So nodes of one tick stand in one
//             slot, in order of insertion: earlier ticks fire first, within a tick the older insertion. Deadlines that
//             were past when they were inserted fire before all others.
//   [WHEEL-3] Every node of a level stands before every node of the levels above, and slots behind the present one are
//             empty: the first filled slot of the lowest filled level is the next thing to do.
//   [WHEEL-4] A node knows neither level nor slot. Whoever unlinks the last one of a slot finds the slot's own link at
//             both sides, and clears its bit.
// Threads: one at a time, by the lock of the worker. A node belongs to one wheel at a time.
// Rejected: a tick of 2^18 ns (its rounding alone would exceed the 250 us that a sleep may be late; a fine tick costs
// only a third of a cascade more per timer). A heap: O(log n) under the lock for timers most of which never fire, and a
// position to keep in each node. Levels without cascades, as in kernels: timers that are late by an eighth. Comparing
// deadlines inside the present slot, which would be exact: every advance would look at all nodes of that tick.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/detail/assert.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/timer_node.hpp"

namespace weft::inline v0::detail {

class TimerWheel {
 public:
  static constexpr unsigned tick_shift = 16;
  static constexpr std::int64_t tick_ns = std::int64_t{1} << tick_shift;
  static constexpr unsigned levels = 8;
  static constexpr unsigned slots = 64;

  // What advance() did since the wheel was made; for tests and statistics.
  struct Work {
    std::uint64_t slots_opened = 0;
    std::uint64_t nodes_moved = 0;
    std::uint64_t nodes_fired = 0;
  };

  // A start near the first deadlines saves them cascades; any start is right.
  explicit TimerWheel(std::int64_t now_ns = 0) : present_(tick_reached(now_ns)) {
    for (TimerLink& list : lists_) list.next = list.prev = &list;
  }
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Any deadline: a past one fires at the next advance(), seam::no_deadline never.
  void insert(TimerNode& node, std::int64_t deadline_ns) {
    WEFT_ASSERT(!node.armed(), "a timer node that is armed already; remove it first");
    node.deadline = deadline_ns;
    const std::uint64_t tick = tick_of(deadline_ns);
    if (tick <= present_) {
      link(node, lists_[due]);
    } else {
      place(node, tick);
    }
    ++size_;
  }

  // Nothing happens if the node is not armed.
  void remove(TimerNode& node) {
    if (!node.armed()) return;
    unlink(node);
    --size_;
  }

  // Calls fired(TimerNode&) for each node whose tick has come, unlinked already; returns how many. fired may insert and
  // remove any node, also the one it got; it may not throw and not advance. A node that it inserts with a deadline that
  // has passed waits for the next advance(), so that re-arming cannot loop.
  template <class F>
  std::size_t advance(std::int64_t now_ns, F&& fired) {
    WEFT_DEBUG(!advancing_, "advance() of a timer wheel from inside its own callback");
    advancing_ = true;
    const std::uint64_t before = work_.nodes_fired;
    take_all(lists_[due], lists_[firing]);
    fire_all(lists_[firing], fired);
    const std::uint64_t now = tick_reached(now_ns);
    while (filled_levels_ != 0) {
      const unsigned level = lowest_level();
      const std::uint64_t start = first_start(level);
      if (start > now) break;
      present_ = start;
      ++work_.slots_opened;
      TimerLink& list = lists_[level * slots + lowest_slot(level)];
      if (level == 0) {
        fire_all(list, fired);
      } else {
        cascade(list);
      }
    }
    if (now > present_) present_ = now;
    advancing_ = false;
    return static_cast<std::size_t>(work_.nodes_fired - before);
  }

  // Empties the wheel: calls taken(TimerNode&) for each node, unlinked already; those of a slot in order.
  template <class F>
  void take_all(F&& taken) {
    for (TimerLink& list : lists_) {
      while (list.next != &list) {
        TimerNode& node = static_cast<TimerNode&>(*list.next);
        unlink(node);
        --size_;
        taken(node);
      }
    }
  }

  // The earliest time at which advance() has anything to do, which may be to move nodes down a level only. Never later
  // than the moment at which the earliest node fires. seam::no_deadline: nothing will ever fire.
  std::int64_t next_deadline() const {
    if (lists_[due].next != &lists_[due]) return time_of(present_);
    return filled_levels_ == 0 ? seam::no_deadline : time_of(first_start(lowest_level()));
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Work& work() const { return work_; }

 private:
  static constexpr unsigned slot_bits = 6;
  static constexpr std::size_t due = std::size_t{levels} * slots;  // past when they were inserted
  static constexpr std::size_t firing = due + 1;                   // the due ones of the advance() under way
  static_assert(levels * slot_bits + tick_shift >= 63, "every deadline has a slot");

  static constexpr std::uint64_t tick_of(std::int64_t deadline) {
    return deadline <= 0 ? 0 : ((static_cast<std::uint64_t>(deadline) - 1) >> tick_shift) + 1;
  }
  static constexpr std::uint64_t tick_reached(std::int64_t now) {
    return now <= 0 ? 0 : static_cast<std::uint64_t>(now) >> tick_shift;
  }
  // The last tick of all, where no_deadline stands, would be one nanosecond too many.
  static constexpr std::int64_t time_of(std::uint64_t tick) {
    return tick >= std::uint64_t{1} << (63 - tick_shift) ? seam::no_deadline
                                                         : static_cast<std::int64_t>(tick << tick_shift);
  }

  unsigned lowest_level() const { return static_cast<unsigned>(std::countr_zero(filled_levels_)); }
  unsigned lowest_slot(unsigned level) const { return static_cast<unsigned>(std::countr_zero(filled_[level])); }
  std::uint64_t first_start(unsigned level) const {
    const std::uint64_t slot = lowest_slot(level);
    const unsigned shift = level * slot_bits;
    return (present_ >> shift >> slot_bits << slot_bits | slot) << shift;
  }

  // tick: not before the present one [WHEEL-2].
  void place(TimerNode& node, std::uint64_t tick) {
    const unsigned level = (static_cast<unsigned>(std::bit_width((present_ ^ tick) | 1)) - 1) / slot_bits;
    const unsigned slot = static_cast<unsigned>(tick >> (level * slot_bits)) % slots;
    filled_[level] |= std::uint64_t{1} << slot;
    filled_levels_ |= 1U << level;
    link(node, lists_[level * slots + slot]);
  }

  static void link(TimerNode& node, TimerLink& list) {
    node.next = &list;
    node.prev = list.prev;
    list.prev->next = &node;
    list.prev = &node;
  }

  void unlink(TimerNode& node) {
    TimerLink* const next = std::exchange(node.next, nullptr);
    TimerLink* const prev = std::exchange(node.prev, nullptr);
    next->prev = prev;
    prev->next = next;
    if (next == prev) note_empty(*next);
  }

  // [WHEEL-4]
  void note_empty(const TimerLink& list) {
    const auto at = static_cast<std::size_t>(&list - lists_);
    WEFT_DEBUG(at <= firing, "a timer node of another wheel");
    if (at >= due) return;
    std::uint64_t& filled = filled_[at / slots];
    filled &= ~(std::uint64_t{1} << at % slots);
    if (filled == 0) filled_levels_ &= ~(1U << at / slots);
  }

  static void take_all(TimerLink& from, TimerLink& to) {
    if (from.next == &from) return;
    to.next = std::exchange(from.next, &from);
    to.prev = std::exchange(from.prev, &from);
    to.next->prev = to.prev->next = &to;
  }

  template <class F>
  void fire_all(TimerLink& list, F& fired) {
    while (list.next != &list) {
      TimerNode& node = static_cast<TimerNode&>(*list.next);
      unlink(node);
      --size_;
      ++work_.nodes_fired;
      fired(node);
    }
  }

  void cascade(TimerLink& list) {
    while (list.next != &list) {
      TimerNode& node = static_cast<TimerNode&>(*list.next);
      unlink(node);
      ++work_.nodes_moved;
      place(node, tick_of(node.deadline));
    }
  }

  std::uint64_t present_;  // the tick up to which everything has fired
  std::size_t size_ = 0;
  unsigned filled_levels_ = 0;
  bool advancing_ = false;
  std::uint64_t filled_[levels] = {};
  Work work_;
  TimerLink lists_[firing + 1];
};

}  // namespace weft::inline v0::detail
