// SPDX-License-Identifier: MIT
// Relaxed: sizes and states that only decide where work goes; the queues' own protocols move it.
#include "sched/hand_over.hpp"

#include <cstddef>
#include <utility>

#include "sched/dispatch.hpp"
#include "sched/search.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr std::size_t most_rescued = 1024;  // [HAND-3]

std::size_t inject_all(RuntimeCore& runtime, Chain& chain) {
  std::size_t moved = 0;
  while (const Entry entry = chain.pop_front()) {
    inject(runtime, entry);
    ++moved;
  }
  return moved;
}

std::size_t rescue_ready(RuntimeCore& runtime, Worker& from) {
  Chain taken;
  (void)from.ready.steal(taken, most_rescued, true);
  return inject_all(runtime, taken);
}

// Who inherits the timers, or null [HAND-2].
Worker* heir_of(RuntimeCore& runtime, const Worker& leaver) {
  for (unsigned i = 1; i < runtime.options.workers; ++i)
    if (&runtime.worker(i) != &leaver) return &runtime.worker(i);
  return leaver.index != 0 ? &runtime.worker(0) : nullptr;
}

void hand_over_timers(Worker& worker) {
  Worker* heir = heir_of(*worker.runtime, worker);
  if (heir == nullptr) return;
  bool any = false;
  worker.wheel_lock.lock_owner();
  if (!worker.wheel.empty()) {
    any = true;
    heir->wheel_lock.lock_other();
    worker.wheel.take_all([&](TimerNode& node) {
      task_of_timer(node)->timer_place.store(static_cast<std::uint16_t>(heir->index + 1), std::memory_order_relaxed);
      heir->wheel.insert(node, node.deadline);
    });
    heir->next_timer.store(heir->wheel.next_deadline(), std::memory_order_relaxed);
    heir->wheel_lock.unlock_other();
  }
  worker.next_timer.store(seam::no_deadline, std::memory_order_relaxed);
  worker.wheel_lock.unlock_owner();
  if (any) IdleSet::notify(heir->idle_node);  // it may sleep for longer than it should now
}

}  // namespace

std::size_t rescue_inbox(RuntimeCore& runtime, Worker& from) {
  return LatePush::rescue(from, [&](Entry entry) { inject(runtime, entry); });
}

std::size_t rescue_queues(RuntimeCore& runtime, Worker& from) {
  return rescue_inbox(runtime, from) + rescue_ready(runtime, from) +
         from.deque.steal_each(most_rescued, [&](Entry entry) { inject(runtime, entry); });
}

void hand_over(Worker& worker) {
  RuntimeCore& runtime = *worker.runtime;
  LatePush::end(worker);  // [WKR-3]
  if (worker.kept) inject(runtime, std::exchange(worker.kept, {}));
  (void)rescue_inbox(runtime, worker);
  while (const Entry entry = worker.ready.pop_front()) inject(runtime, entry);
  while (const Entry entry = worker.ready.pop_slot()) inject(runtime, entry);
  while (const Entry entry = worker.deque.pop()) inject(runtime, entry);
  hand_over_timers(worker);
}

}  // namespace weft::inline v0::detail
