// SPDX-License-Identifier: MIT
// Relaxed: numbers that need only be different.
#include "sched/records.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "fiber/carrier.hpp"
#include "sched/runtime_core.hpp"
#include "sched/scope.hpp"
#include "sched/task_local.hpp"
#include "sched/tracer.hpp"
#include "weft/detail/make_task.hpp"
#include "weft/runtime_error.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr unsigned batch = 64;
constexpr unsigned block_records = 256;

struct Block {
  Block* next;
  TaskCore* records;
};

// Free records stand in an array: to take a batch does not go from one to the next.
struct Pool {
  seam::Mutex mutex;
  std::vector<TaskCore*> free;  // guarded by mutex; has room for all that were made
  std::size_t made = 0;         // guarded by mutex
  Block* blocks = nullptr;      // guarded by mutex; only grows
};

Pool& pool() {
  static Pool* the = new Pool;  // never destroyed: records outlive everything
  return *the;
}

// Room in the pool for another block, however many of all records come back at once.
bool make_room(Pool& p) noexcept {
  const std::size_t needed = p.made + block_records;
  if (p.free.capacity() >= needed) return true;
  try {
    p.free.reserve(std::max(needed, 2 * p.free.capacity()));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Under the mutex.
void make_block(Pool& p) {
  auto* block = new (std::nothrow) Block{p.blocks, nullptr};
  auto* records = static_cast<TaskCore*>(
      block == nullptr || !make_room(p)
          ? nullptr
          : ::operator new(block_records * sizeof(TaskCore), std::align_val_t{alignof(TaskCore)}, std::nothrow));
  if (records == nullptr) {
    delete block;
    throw RuntimeError(RuntimeErrc::no_memory, "no memory for another " + std::to_string(block_records) +
                                                   " task records of " + std::to_string(sizeof(TaskCore)) +
                                                   " bytes; there are " + std::to_string(p.made) + ", " +
                                                   std::to_string(p.made - p.free.size()) + " of them in use");
  }
  block->records = records;
  for (unsigned i = 0; i < block_records; ++i) {
    auto* record = new (records + i) TaskCore;
    WEFT_ASSERT(reinterpret_cast<std::byte*>(&record->links.timer) - reinterpret_cast<std::byte*>(record) ==
                    TaskCore::timer_offset,
                "a task is found from its timer");
    WEFT_ASSERT(static_cast<void*>(static_cast<TaskFront*>(record)) == record, "fibers know where its front is");
    p.free.push_back(record);
  }
  p.blocks = block;
  p.made += block_records;
}

TaskCore* take_last(Pool& p) {
  TaskCore* record = p.free.back();
  p.free.pop_back();
  return record;
}

}  // namespace

TaskCore* take_shared_record() {
  Pool& p = pool();
  const std::lock_guard guard(p.mutex);
  if (p.free.empty()) make_block(p);
  return take_last(p);
}

void give_shared_record(TaskCore* task) noexcept {
  Pool& p = pool();
  const std::lock_guard guard(p.mutex);
  p.free.push_back(task);
}

TaskCore* take_record_slow(WorkerCore* worker) {
  Pool& p = pool();
  const std::lock_guard guard(p.mutex);
  if (p.free.empty()) make_block(p);
  const std::size_t left = p.free.size() - std::min<std::size_t>(batch, p.free.size());
  TaskCore* next = nullptr;
  for (std::size_t i = left; i < p.free.size() - 1; ++i) {
    p.free[i]->links.scope_next = next;
    next = p.free[i];
  }
  worker->free_records = next;
  worker->free_count = static_cast<unsigned>(p.free.size() - 1 - left);
  TaskCore* record = p.free.back();
  p.free.resize(left);
  return record;
}

namespace {

// Under the mutex.
void take_from(WorkerCore* worker, unsigned count, Pool& p) noexcept {
  for (unsigned i = 0; i < count && worker->free_records != nullptr; ++i) {
    TaskCore* record = std::exchange(worker->free_records, worker->free_records->links.scope_next);
    p.free.push_back(record);  // there is room for all
    --worker->free_count;
  }
}

}  // namespace

void give_record_slow(WorkerCore* worker, TaskCore* task) noexcept {
  Pool& p = pool();
  const std::lock_guard guard(p.mutex);
  p.free.push_back(task);
  take_from(worker, WorkerCore::most_free / 2, p);
}

void give_all_records(WorkerCore* worker) noexcept {
  Pool& p = pool();
  const std::lock_guard guard(p.mutex);
  take_from(worker, worker->free_count, p);
}

void free_record(TaskCore* task) noexcept {
  if (task->flags & task_named) {
    ::operator delete(const_cast<char*>(task->name));
    task->name = nullptr;
  }
  make_clean(*task);
  task->word.make_free();
  if (WorkerCore* worker = this_worker()) {
    give_record(worker, task);
  } else {
    give_shared_record(task);
  }
}

RecordStats record_stats() {
  Pool& p = pool();
  const std::lock_guard guard(p.mutex);
  return {p.made, p.free.size()};
}

void for_each_record(void (*visit)(TaskCore* task, void* context), void* context) {
  Pool& p = pool();
  Block* blocks;
  {
    const std::lock_guard guard(p.mutex);
    blocks = p.blocks;
  }
  for (const Block* block = blocks; block != nullptr; block = block->next)
    for (unsigned i = 0; i < block_records; ++i) visit(block->records + i, context);
}

std::uint64_t fresh_task_ids(WorkerCore* worker) {
  // Traced, a worker takes its numbers one by one, so that each birth comes by here.
  TraceRing* trace = worker != nullptr ? static_cast<Worker*>(worker)->trace : nullptr;
  const std::uint64_t ids = worker == nullptr || trace != nullptr ? 1 : 1024;
  static seam::Atomic<std::uint64_t> next{1};
  const std::uint64_t first = next.fetch_add(ids, std::memory_order_relaxed);
  if (worker == nullptr) return first;
  worker->next_id = first + 1;
  worker->end_id = first + ids;
  if (trace != nullptr) note(*trace, TraceNote::born, first);
  return first;
}

std::uint64_t TaskId::settle(WorkerCore* worker) const {
  return offer(worker != nullptr ? task_id_for(worker) : fresh_task_ids(nullptr));
}

namespace {

struct ThreadTasks {
  seam::Mutex mutex;
  std::vector<const TaskCore*> all;  // guarded by mutex
};

ThreadTasks& known_threads() {
  static ThreadTasks* the = new ThreadTasks;  // never destroyed: threads end after everything
  return *the;
}

seam::Atomic<unsigned> threads_with_task{0};  // a number to compare with

}  // namespace

unsigned thread_tasks() noexcept {
  return threads_with_task.load(std::memory_order_relaxed);
}

void for_each_thread_task(void (*visit)(const TaskCore& task, void* context), void* context) {
  ThreadTasks& known = known_threads();
  const std::lock_guard guard(known.mutex);
  for (const TaskCore* task : known.all) visit(*task, context);
}

void know_this_thread() noexcept {
  try {
    FiberCore* root = current_core()->root;
    if (root->task == nullptr) (void)make_thread_task(root);
  } catch (const RuntimeError&) {  // no memory: unknown it stays
  } catch (const std::bad_alloc&) {
  }
}

void drop_thread_task() noexcept {
  Carrier& carrier = *current_core()->root->carrier;
  if (carrier.root.task != nullptr && carrier.at_end != nullptr) std::exchange(carrier.at_end, nullptr)(carrier);
}

TaskCore* make_thread_task(FiberCore* root) {
  TaskCore* task = take_shared_record();
  task->flags = task_thread;
  ::new (task->room) seam::Atomic<std::uint32_t>(0);
  task->id = fresh_task_ids(nullptr);
  task->root = root;
  task->scope = nullptr;
  task->birth = nullptr;
  task->nursery = nullptr;
  task->life.store(0, std::memory_order_relaxed);
  task->word.make_fresh();
  (void)task->word.run_on(0);
  {
    ThreadTasks& known = known_threads();
    const std::lock_guard guard(known.mutex);
    known.all.push_back(task);
    threads_with_task.fetch_add(1, std::memory_order_relaxed);
  }
  root->task = task;
  root->carrier->open_shield = open_cleanup_shield;
  root->carrier->close_shield = close_cleanup_shield;
  root->carrier->at_end = [](Carrier& carrier) {
    if (carrier.root.locals != nullptr) drop_locals(&carrier.root, carrier.root.task);
    TaskCore* mine = std::exchange(carrier.root.task, nullptr);
    {
      ThreadTasks& known = known_threads();
      const std::lock_guard guard(known.mutex);
      std::erase(known.all, mine);
      threads_with_task.fetch_sub(1, std::memory_order_relaxed);
    }
    make_clean(*mine);
    mine->word.make_free();
    give_shared_record(mine);
  };
  return task;
}

}  // namespace weft::inline v0::detail
