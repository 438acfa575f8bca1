// SPDX-License-Identifier: MIT
// What: those who run in place of each other on one stack, from the youngest down to the root's base: what becomes of
// them when the stack is left [PLACE-2], and what is pending for one of them. Apart from in_place.cpp, so that a
// scenario can run it, and mutants of it.
// Threads: the one that runs the youngest.
#pragma once

#include "sched/task_end.hpp"
#include "weft/detail/nursery_core.hpp"

namespace weft::inline v0::detail {

struct Standing {
  // On its joiner's stack there is one root for both. The nursery lives as long as the child does.
  [[gnu::always_inline]] static bool is_in_place(const TaskCore& task) {
    return task.nursery != nullptr && task.nursery->owner->root == task.root;
  }

  [[gnu::always_inline]] static void stand_out(TaskCore& task) {
    TaskCore* child = &task;
    while (is_in_place(*child) && !(child->flags & task_in_place)) {
      auto& worker = static_cast<Worker&>(*child->root->worker);
      ++worker.counters.stood_out;
      count_begun(worker, *child);
      child->id.settle_by(&worker);
      child->flags |= task_in_place;
      child = child->nursery->owner;
      child->word.join_in_place();
    }
  }

  [[gnu::always_inline]] static bool is_interrupted(const FiberCore& root) {
    for (const TaskCore* task = root.task;; task = task->nursery->owner) {
      if (task->interrupts.load(std::memory_order_seq_cst) != 0) return true;
      if (task == root.base) return false;
    }
  }
};

}  // namespace weft::inline v0::detail
