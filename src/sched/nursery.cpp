// SPDX-License-Identifier: MIT
// Waiting for children: in place where that is allowed, else parked on the count of those that run elsewhere.
#include <utility>

#include "sched/dispatch.hpp"
#include "sched/park.hpp"
#include "weft/detail/nursery_core.hpp"

namespace weft::inline v0::detail {
namespace {

// May tasks run on the stack at hand, below what stands there now?
bool room_in_place(const TaskCore& joiner, const FiberCore& self) {
  if (joiner.flags & (task_pinned | task_big_stack | task_thread) || joiner.strand != nullptr) return false;
  const std::uintptr_t sp = stack_pointer();
  const std::uintptr_t floor = self.slot.floor();
  const std::uintptr_t top = self.slot.ceiling();
  return sp - floor >= (top - floor) / 2;
}

}  // namespace

bool run_own_child(NurseryCore& nursery, const TaskCore* wanted) {
  auto* worker = static_cast<Worker*>(this_worker());
  if (worker == nullptr || !worker->in_place || !worker->steals) return false;
  TaskCore* joiner = nursery.owner;
  FiberCore* self = current_core();
  if (!room_in_place(*joiner, *self)) return false;
  const Entry entry = worker->deque.pop();
  if (!entry) return false;
  TaskCore* child = entry.kind() == entry_task ? entry.as<TaskCore>() : nullptr;
  if (child == nullptr || child->nursery != &nursery || (wanted != nullptr && child != wanted)) {
    (void)worker->deque.push(entry);  // it came from there: there is room
    return false;
  }
  run_in_place(*worker, joiner, child);
  return true;
}

void join_children(NurseryCore& nursery) {
  TaskCore& self = *nursery.owner;
  bool counted = false;  // the plain count is in the word
  const WaitInfo info{"nursery", &nursery, nullptr};
  for (;;) {
    if (nursery.count.none_left(nursery.plain)) return;
    if (run_own_child(nursery, nullptr)) continue;
    begin_wait(self, info, seam::no_deadline, Raise::no);
    const Ticket ticket = self.word.begin_park();
    // Children run in place since then were counted plainly again: who ends elsewhere must see the whole count.
    if (counted && nursery.plain != 0) nursery.count.add(nursery.plain);
    const bool over = counted ? nursery.count.again(ticket) : nursery.count.wait(nursery.plain, ticket);
    nursery.plain = 0;
    counted = true;
    if (over) {
      call_off_wait(self);
      return;
    }
    (void)finish_wait(self, Raise::no);
  }
}

}  // namespace weft::inline v0::detail
