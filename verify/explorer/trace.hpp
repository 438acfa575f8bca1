// SPDX-License-Identifier: MIT
#pragma once
// What: what one execution did. An Action is a choice of the scheduler, an Event what came of it; a schedule is a list
//   of actions written in one line ("a3b1Ab~2": thread a three steps, b one, the oldest delayed store of a reaches
//   memory, b two steps whose stores are delayed).

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explorer/hook.hpp"

namespace weft::inline v0::verify {

enum class Variant : std::uint8_t {
  run,       // the thread's pending operation
  delayed,   // the same, its store kept back in the thread's store buffer
  spurious,  // a weak compare_exchange fails, or a futex sleeper wakes, for no reason
  timeout,   // a futex sleeper's deadline passes
  flush,     // the oldest store in the thread's buffer reaches memory
};

struct Action {
  std::uint8_t thread = 0;
  Variant variant = Variant::run;
  bool operator==(const Action&) const = default;
};

struct Event {
  Action action;
  hook::Op op = hook::Op::begin;
  std::memory_order order = std::memory_order_seq_cst;
  bool pointer = false;
  bool wrote = false;
  std::int32_t object = -1;  // label, by first use
  std::uint64_t before = 0;  // of pointers: label + 1, or 0 for null
  std::uint64_t after = 0;
  bool operator==(const Event&) const = default;
};

std::string_view to_string(hook::Op op);
std::string_view to_string(std::memory_order order);

std::string write_schedule(const std::vector<Action>& actions);
std::optional<std::vector<Action>> read_schedule(std::string_view text);

}  // namespace weft::inline v0::verify
