// SPDX-License-Identifier: MIT
// What: what a nursery is to the scheduler: a scope, and the count of the children that its owner waits for.
// Invariants
//   [NUR-1] The owner counts its own spawns, and the children it runs in place, in `plain`; everybody else in `count`.
//           Together they are the children that live. So a child that is neither stolen nor parked costs no RMW.
//   [NUR-2] A spawn counts before it pushes; who destroys an unstarted child counts it down.
//   [NUR-3] Nobody but the owner touches the nursery after counting its child down.
// Threads: `plain`: the owner. `count`: any. Failures: under `lock`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "weft/detail/count_word.hpp"
#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {

struct RuntimeCore;

struct NurseryCore {
  ScopeCore scope;
  TaskCore* owner = nullptr;
  FiberCore* here = nullptr;       // that opened it: whoever uses it is most likely there
  FiberCore* root = nullptr;       // the same if it is a root of an unseen worker: spawns there are short
  RuntimeCore* runtime = nullptr;  // the owner's; null: a plain thread's nursery
  std::int32_t plain = 0;          // [NUR-1]
  CountWord count;
  std::exception_ptr first;                           // guarded by scope.lock
  std::vector<std::exception_ptr>* others = nullptr;  // guarded by scope.lock
  Binding* bindings = nullptr;                        // of a par frame: what its jobs see
};

static_assert(offsetof(NurseryCore, scope) == 0);  // TaskCore::born_in()

// A child that was started without a handle begins [TASK-6]. relaxed: nobody else knows it yet
inline void fill_child(TaskCore& child) {
  child.scope = &child.nursery->scope;
  child.life.store(life_dropped, std::memory_order_relaxed);
  child.root = nullptr;
  child.word.take_fresh();
}

// Waits until every child has ended, running those that are still in the caller's deque on the caller's stack.
void join_children(NurseryCore& nursery);
// Runs children of this nursery that are still at the young end of the caller's deque on the caller's stack, the
// youngest first. False: there is none, or none may.
bool run_own_children(NurseryCore& nursery, FiberCore* self);
// Throws the first failure, with the others beside it.
[[noreturn]] void throw_failures(NurseryCore& nursery);
// A child, or the body, has failed: the first failure asks the others to stop.
void nursery_failed(NurseryCore& nursery, std::exception_ptr failure) noexcept;

}  // namespace weft::inline v0::detail
