// SPDX-License-Identifier: MIT
// What: a look at a task from outside, while it runs on: what a dump or a report says of it.
// Invariants
//   [VIEW-1] Everything is read by peek(), and kept only if id and word are the same afterwards. A wait, a holder or a
//            stack is read only of a parked task: while the word says so, its frames stand still.
//   [VIEW-2] A running task's fields may be a mixture of two moments; its identity (id, name, site) is not.
// Threads: any.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "weft/detail/task_core.hpp"
#include "weft/trace.hpp"

namespace weft::inline v0::detail {

struct Worker;

struct TaskView {
  const TaskCore* record = nullptr;
  std::uint64_t id = 0;
  std::string name;
  std::source_location site;
  TaskMoment moment{0};
  std::uint16_t flags = 0;
  std::uint16_t last_worker = 0;
  std::uint32_t parked_at = 0;  // coarse milliseconds (2^20 ns)
  const NurseryCore* nursery = nullptr;
  const TaskCore* nursery_owner = nullptr;
  const ScopeCore* scope = nullptr;  // innermost
  const ScopeCore* birth = nullptr;
  const StrandCore* strand = nullptr;
  const FiberCore* top = nullptr;
  // Of a parked one.
  std::string wait;
  const void* wait_object = nullptr;
  const TaskCore* holder = nullptr;
  const TaskCore* last_seen = nullptr;
  bool outside = false;
  struct Case {
    std::string kind;
    const void* object;
    const TaskCore* holder;
    const TaskCore* last_seen;
  };
  std::vector<Case> cases;  // of a select

  bool parked() const { return moment.state() == TaskState::parking && moment.left() && !moment.delivered(); }
  bool ended() const { return moment.state() >= TaskState::done; }
};

// The v2 names, PARKED and WAKING derived.
const char* state_name(const TaskMoment& moment);

// False: nobody is there, or it changed too often to be read.
bool view_task(const TaskCore* task, TaskView& into);
// Whose code runs there now; null: nobody's. A guess, but what it points at is a record [TASK-1].
const TaskCore* running_on(const Worker& worker);
// Whose code runs where `task` was dispatched: `task`, or a child that runs on its stack.
const TaskCore* innermost_of(const TaskCore* task);
// Of a parked task; empty if it is parked no more.
Trace stack_of_parked(const TaskView& view);

}  // namespace weft::inline v0::detail
