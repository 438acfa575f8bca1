// SPDX-License-Identifier: MIT
// What: a place in a timing wheel (src/sched/timer_wheel.hpp). One lies in each task record.
#pragma once

#include <cstdint>

namespace weft::inline v0::detail {

struct TimerLink {
  TimerLink* next = nullptr;  // null: in no wheel
  TimerLink* prev = nullptr;
};

struct TimerNode : TimerLink {
  std::int64_t deadline = 0;  // as given to insert(); stays when the node has fired
  bool armed() const { return next != nullptr; }
};
static_assert(sizeof(TimerNode) <= 32, "it lies in each task record");

}  // namespace weft::inline v0::detail
