// SPDX-License-Identifier: MIT
// What: a program that is to be started, as IoOp::spawn carries it.
#pragma once

namespace weft::inline v0::detail {

struct SpawnPlan {
  const char* program;
  char* const* arguments;    // with the program's name, ended by null
  char* const* environment;  // null: ours
  int streams[3];            // descriptors for 0, 1, 2; -1: inherited
};

// The child's pid, or the negated error number.
long spawn_child(const SpawnPlan& plan) noexcept;

}  // namespace weft::inline v0::detail
