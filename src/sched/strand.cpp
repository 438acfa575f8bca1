// SPDX-License-Identifier: MIT
#include "sched/strand.hpp"

#include <mutex>

#include "sched/dispatch.hpp"

namespace weft::inline v0::detail {
namespace {

void queue_strand(RuntimeCore& runtime, Worker* worker, StrandCore* strand) {
  const Entry entry(strand, entry_strand);
  if (worker != nullptr && worker->runtime == &runtime && worker->steals) {
    worker->ready.push_back(entry);
  } else {
    inject(runtime, entry);
  }
}

}  // namespace

void enter_strand(RuntimeCore& runtime, Worker* worker, TaskCore* task) {
  StrandCore* strand = task->strand;
  {
    const std::lock_guard guard(strand->lock);
    strand->waiting.push_back(Entry(task, entry_task));
    if (strand->active) return;
    strand->active = true;
  }
  queue_strand(runtime, worker, strand);
}

Entry unwrap_strand(Worker& worker, Entry entry) {
  if (entry.kind() != entry_strand) [[likely]]
    return entry;
  auto* strand = entry.as<StrandCore>();
  TaskCore* task;
  {
    const std::lock_guard guard(strand->lock);
    task = strand->waiting.pop_front().as<TaskCore>();
  }
  if ((task->flags & task_pinned) && task->pinned_to != worker.index) {
    push_pinned(*worker.runtime, &worker, task);  // [STR-3]
    return {};
  }
  return Entry(task, entry_task);
}

void give_up_strand(Worker& worker, StrandCore* strand) {
  {
    const std::lock_guard guard(strand->lock);
    if (strand->waiting.empty()) {
      strand->active = false;
      return;
    }
  }
  queue_strand(*worker.runtime, &worker, strand);
}

void release_strand(StrandCore* strand) noexcept {
  if (strand->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete strand;
}

}  // namespace weft::inline v0::detail
