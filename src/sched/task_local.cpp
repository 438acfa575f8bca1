// SPDX-License-Identifier: MIT
// The values lie in a list of the task's root; children that run in place share the root, so each node names its task.
// Relaxed: numbers that need only be different.
#include "weft/task_local.hpp"

#include <utility>

#include "sched/task_local.hpp"
#include "weft/detail/worker_core.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0::detail {
namespace {

// The first of the task that fits, and where it hangs.
template <class F>
LocalNode** place_of(FiberCore* root, const TaskCore* task, F&& fits) {
  LocalNode** at = &root->locals;
  while (*at != nullptr && !((*at)->task == task && (*at)->task_id == task->id && fits(**at))) at = &(*at)->next;
  return at;
}

}  // namespace

std::uint64_t fresh_local_key() {
  static seam::Atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

LocalNode* find_local(std::uint64_t key) {
  FiberCore* root = current_core()->root;
  if (root->locals == nullptr || root->task == nullptr) return nullptr;
  return *place_of(root, root->task, [key](const LocalNode& node) { return node.key == key; });
}

void add_local(LocalNode* node) {
  TaskCore* task = task_here();
  FiberCore* root = current_core()->root;
  node->task = task;
  node->task_id = task->id;
  node->next = std::exchange(root->locals, node);
  task->flags |= task_locals;
}

bool drop_local(std::uint64_t key) {
  FiberCore* root = current_core()->root;
  if (root->locals == nullptr || root->task == nullptr) return false;
  LocalNode** at = place_of(root, root->task, [key](const LocalNode& node) { return node.key == key; });
  if (*at == nullptr) return false;
  LocalNode* node = std::exchange(*at, (*at)->next);
  node->destroy(node);
  return true;
}

void drop_locals(FiberCore* root, TaskCore* task) {
  for (;;) {
    // A destructor may make others, or wait.
    LocalNode** at = place_of(root, task, [](const LocalNode&) { return true; });
    if (*at == nullptr) return;
    LocalNode* node = std::exchange(*at, (*at)->next);
    node->destroy(node);
  }
}

}  // namespace weft::inline v0::detail
