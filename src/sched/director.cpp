// SPDX-License-Identifier: MIT
// Relaxed: alerts are looked at by the thread that drives.
#include "sched/director.hpp"

#include <utility>

#include "sched/dispatch.hpp"
#include "sched/in_place.hpp"
#include "sched/runtime_core.hpp"
#include "weft/detail/point.hpp"

namespace weft::inline v0::detail {

Director* director_here() noexcept {
  const WorkerCore* worker = this_worker();
  return worker != nullptr ? worker->runtime->director : nullptr;
}

void come_to_point(const char* what) noexcept {
  FiberCore* self = current_core();
  auto* worker = static_cast<Worker*>(self->root->worker);
  TaskCore* task = self->root->task;
  if (worker == nullptr || task == nullptr || worker->runtime->director == nullptr) return;
  // Who holds a std::mutex would block the thread of all the others.
  if (self->root->alert.load(std::memory_order_relaxed) & alert_held) return;
  Director& director = *worker->runtime->director;
  if (!director.leaves_at(*task, what)) return;
  director.sent_away = task;
  if (task->top == nullptr) stand_out(*task);
  task->top = self;
  task->last_worker = static_cast<std::uint16_t>(worker->index);
  task->word.make_runnable();
  worker->left = Left::yields(*task, false);
  leave_for(*worker, self, {});
}

void come_to_suspension(TaskCore& task, const char* kind) noexcept {
  if (Director* director = director_here()) director->at_suspension(task, kind);
}

}  // namespace weft::inline v0::detail
