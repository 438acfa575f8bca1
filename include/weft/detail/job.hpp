// SPDX-License-Identifier: MIT
// What: a piece of fork-join work: a descriptor on its forker's stack that stands in the deque. Taken back by the
// forker it is a plain call; taken by anybody else it becomes a task.
// Invariants
//   [JOB-1] The frame lives until every job of it has been taken back or has ended elsewhere.
//   [JOB-2] Who took a job reads `owner` before it counts down, and touches nothing of the frame afterwards.
#pragma once

#include <cstdint>
#include <exception>

#include "weft/detail/count_word.hpp"
#include "weft/detail/nursery_core.hpp"

namespace weft::inline v0::detail {

struct Job : QueueLink {
  void (*run)(Job*) = nullptr;
  NurseryCore* frame = nullptr;
};

}  // namespace weft::inline v0::detail
