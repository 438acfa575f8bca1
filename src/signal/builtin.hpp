// SPDX-License-Identifier: MIT
// What: the names that belong to the library. The first name of a bit is the one it is shown by.
#pragma once

#include <string_view>

#include "weft/signal.hpp"

namespace weft::inline v0::detail {

struct BuiltinName {
  std::string_view name;
  SignalSet bits;
};

inline constexpr BuiltinName builtin_names[] = {
    {"error", sig::error},
    {"yield", sig::yield},
    {"debug", sig::debug},
    {"resume", sig::resume},
    {"ffi", sig::ffi},
    {"propagate", sig::propagate},
    {"query", sig::query},
    {"halt", sig::halt},
    {"io", sig::io},
    {"terminal", sig::terminal},
    {"exec", sig::exec},
    {"fuel", sig::fuel},
    {"switch", sig::switch_},
    {"wait", sig::wait},
    {"user0", sig::user0},
    {"user1", sig::user1},
    {"user2", sig::user2},
    {"user3", sig::user3},
    {"user4", sig::user4},
    {"user5", sig::user5},
    {"user6", sig::user6},
    {"user7", sig::user7},
    {"interrupt", sig::interrupt},
    {"await", sig::await},
    {"user8", sig::user8},
    {"user9", sig::user9},
    {"ok", sig::ok},
    {"abort", sig::abort},
};

constexpr std::string_view builtin_name(SignalSet bit) {
  for (const BuiltinName& entry : builtin_names) {
    if (entry.bits == bit) return entry.name;
  }
  return {};
}

}  // namespace weft::inline v0::detail
