// SPDX-License-Identifier: MIT
// Running a child on its joiner's stack: the fork-join path of nurseries, flat, because it is the one that counts
// nanoseconds: over the call of the child it keeps nothing but the child, which knows the rest. What is rare goes
// through the functions out of line.
//
// A boundary separates the two tasks: the child's record is current, with its own scope and bindings, empty exception
// globals; signal walks end at it. If the child parks, its top is this stack, and its joiner's word says JOINING.
// Relaxed: everything belongs to this stack: the child was taken from the own deque and its handle is held here; the
// cancel epoch only makes a walk unnecessary [SCP-4].
#include "sched/in_place.hpp"

#include <utility>

#include "fiber/bindings.hpp"
#include "fiber/virtual_core.hpp"
#include "sched/dispatch.hpp"
#include "sched/join_list.hpp"
#include "sched/park.hpp"
#include "sched/scope.hpp"
#include "sched/standing.hpp"
#include "sched/task_end.hpp"
#include "sched/waiters.hpp"
#include "weft/detail/nursery_core.hpp"
#include "weft/task.hpp"

namespace weft::inline v0::detail {
namespace {

enum class Young : std::uint8_t {
  any,   // whichever child of this nursery is the youngest
  held,  // this one, whose handle the joiner holds
  last,  // and uses up: nobody else can wait for it, cancel or interrupt it any more
  into,  // and wants nothing but the result, at `out`
};

constexpr bool is_used_up(Young young) {
  return young == Young::last || young == Young::into;
}
constexpr std::uint16_t flags_in_place(Young young) {
  return static_cast<std::uint16_t>(task_in_place | (young == Young::any ? 0 : task_held));
}

// A child starts with the default floating-point words; only switches change them. An interrupt is for who waits: a
// join is a suspension point wherever the child runs.
template <Young young>
[[gnu::always_inline]] inline bool is_alerted(const FiberCore& root) {
  constexpr std::uint32_t not_here = young == Young::any ? alert_fp : alert_fp | alert_interrupt | alert_runtime;
  return (root.alert.load(std::memory_order_relaxed) & not_here) != 0;
}

// The child, or null: it is not there, or must not run here.
enum class Alone : bool { no, yes };  // yes: not while somebody steals
template <Young young, Alone alone>
[[gnu::always_inline]] inline TaskCore* take_young(Deque& deque, const NurseryCore& nursery, TaskCore* wanted) {
  TaskCore* child = wanted;
  if constexpr (young == Young::any) {
    const Entry entry = alone == Alone::yes ? deque.pop_alone() : deque.pop();
    if (!entry) return nullptr;
    child = entry.as<TaskCore>();
    if ((entry.kind() != entry_task && entry.kind() != entry_child) || child->nursery != &nursery) [[unlikely]] {
      (void)deque.push(entry);  // it came from there: there is room
      return nullptr;
    }
    if (entry.kind() == entry_child) fill_child(*child);
  } else if constexpr (alone == Alone::yes) {
    if (!deque.take_back_alone(Entry(wanted, entry_task))) return nullptr;
  } else {
    if (!deque.take_back(Entry(wanted, entry_task))) return nullptr;
  }
  if (!(is_used_up(young) && alone == Alone::yes) && (child->flags & task_own_stack)) [[unlikely]] {
    (void)deque.push(Entry(child, entry_task));  // as above
    return nullptr;
  }
  return child;
}

[[gnu::always_inline]] inline void begin(const WorkerCore* worker, FiberCore* root, TaskCore* child) {
  child->word.start_in_place(worker->running);
  root->task = child;
}

// After a child that stood out; on whichever worker that has left it.
void go_on(FiberCore* root, TaskCore* joiner) {
  root->task = joiner;
  joiner->word.joined(root->worker->running);
}

// It has begun, but inside an inner fiber, or with bindings about, in a handler, or asked to stop already.
[[gnu::noinline]] Ran run_inside_boundary(FiberCore* self, TaskCore* joiner, TaskCore* child, std::uint16_t flags) {
  FiberCore* root = self->root;
  stand_out(*child);
  child->flags |= flags;
  if (child->interrupts.load(std::memory_order_relaxed) != 0)
    root->alert.fetch_or(alert_interrupt, std::memory_order_relaxed);
  {
    const Boundary boundary(self, std::exchange(child->bindings, nullptr));
    run_body(child);
  }
  go_on(root, joiner);
  return Ran::yes;
}

#if !defined(WEFT_CONTEXT_BOOST)

// It has waited, failed, or left something behind. `out`: where its result is, or null.
[[gnu::noinline]] Ran end_with_care(TaskCore* child, std::uint16_t flags, _Unwind_Exception* exception, void* out) {
  FiberCore* root = child->root;
  TaskCore* joiner = child->nursery->owner;
  stand_out(*child);
  child->flags |= flags;
  if (exception == nullptr && out != nullptr) exception = weft_guarded_call(child, out, &child->code->keep_result);
  end_body(child, exception != nullptr ? take_exception(exception) : nullptr);
  go_on(root, joiner);
  return Ran::yes;
}

// If it never stood out it has no timer; but it may have bound something, or have a name, or a number [TASK-5].
template <Young young>
[[gnu::always_inline]] inline bool left_nothing(const FiberCore& root, const TaskCore& child) {
  constexpr std::uint16_t harmless = young == Young::held || young == Young::last ? std::uint16_t{task_has_result} : 0;
  return (child.flags & ~harmless) == 0 && root.bindings == nullptr && child.id.if_known() == 0 &&
         child.interrupts.load(std::memory_order_relaxed) == 0;
}
// What `life` says of a child without a handle, all along: `since` its birth, or since it began [TASK-6].
[[gnu::always_inline]] inline bool is_all_alone(const TaskCore& child, std::uint32_t since) {
  return child.life.load(std::memory_order_relaxed) == since;
}

// Nothing but its word and its result is left of it.
template <Young young>
[[gnu::always_inline]] inline void end_plainly(WorkerCore* worker, TaskCore* child) {
  if constexpr (young == Young::held) {
    child->word.finish<false>(false);
    if (JoinList::anybody(child->waiters)) [[unlikely]]
      wake_waiters(*child);
    child->life.store(child->life.load(std::memory_order_relaxed) | life_ended, std::memory_order_relaxed);
  } else {
    child->word.end_in_place(worker->running);  // nobody else knows it any more
  }
  ++worker->ran_in_place;
}

// On the nursery's own root, with room on its stack and fences that are free.
template <Young young>
[[gnu::always_inline]] inline Ran run_flatly(NurseryCore& nursery, FiberCore* root, TaskCore* joiner, TaskCore* wanted,
                                             void* out) {
  if (is_alerted<young>(*root)) [[unlikely]]
    return Ran::no;
  // Nobody but this joiner can write there any more.
  if (is_used_up(young) && wanted->life.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return Ran::no;
  WorkerCore* worker = root->worker;
  TaskCore* child = take_young<young, Alone::yes>(worker->deque, nursery, wanted);
  if (child == nullptr) return Ran::no;
  if (young == Young::any) child->root = root;
  begin(worker, root, child);
  if constexpr (!is_used_up(young)) seam::free_light_fence();  // pairs with the heavy fence of interrupt_task
  constexpr std::uint32_t expected = young == Young::any ? std::uint32_t{life_dropped} : 0;
  const ThreadEh* thread = root->thread_eh;
  const bool plain =
      root->bindings == nullptr &&
      (is_used_up(young) || (child->life.load(std::memory_order_relaxed) & ~expected) == 0) &&
      (reinterpret_cast<std::uintptr_t>(thread->caught) | thread->uncaught) == 0 &&
      nursery.scope.clean_epoch.load(std::memory_order_relaxed) == cancel_epoch.load(std::memory_order_acquire);
  if (!plain) [[unlikely]]
    return run_inside_boundary(root, joiner, child, flags_in_place(young));
  _Unwind_Exception* exception =
      weft_guarded_call(child, out, young == Young::into ? &child->code->run_out : &child->code->run);
  root = child->root;
  if (exception != nullptr || !left_nothing<young>(*root, *child) ||
      (young == Young::any && !is_all_alone(*child, life_dropped))) [[unlikely]]
    return end_with_care(child, flags_in_place(young), exception, out);
  worker = root->worker;
  NurseryCore* joined = child->nursery;
  end_plainly<young>(worker, child);
  --joined->plain;
  root->task = joined->owner;
  if constexpr (young == Young::any) child->life.store(0, std::memory_order_relaxed);  // [TASK-5]
  if (young == Young::any || young == Young::into) give_record(worker, child);
  return Ran::plainly;
}

// One that somebody has a handle of, and did not join.
[[gnu::noinline]] bool run_next_flatly(NurseryCore& nursery, FiberCore* root) {
  return run_flatly<Young::any>(nursery, root, nursery.owner, nullptr, nullptr) != Ran::no;
}

// In place, one after the other, those that nobody has a handle of. What cannot change while they are calls is looked
// at once. False: there was none.
[[gnu::always_inline]] inline bool run_started(NurseryCore& nursery, FiberCore* root) {
  const ThreadEh* thread = root->thread_eh;
  if (root->bindings != nullptr || (reinterpret_cast<std::uintptr_t>(thread->caught) | thread->uncaught) != 0)
      [[unlikely]]
    return false;
  WorkerCore* worker = root->worker;
  bool ran = false;
  while (!nursery.count.none_left(nursery.plain)) {
    if ((root->alert.load(std::memory_order_relaxed) & alert_fp) != 0 ||
        nursery.scope.clean_epoch.load(std::memory_order_relaxed) != cancel_epoch.load(std::memory_order_acquire))
        [[unlikely]]
      break;
    const Entry entry = worker->deque.pop_alone();
    if (!entry) break;
    auto* child = entry.as<TaskCore>();
    if (entry.kind() != entry_child || child->nursery != &nursery) [[unlikely]] {
      (void)worker->deque.push(entry);  // it came from there: there is room
      break;
    }
    // As fill_child and begin, and nothing is written that would not change: what a child costs is its stores.
    child->scope = &nursery.scope;
    child->word.begin_in_place(worker->running);
    if (child->root != root) child->root = root;
    root->task = child;
    ran = true;
    _Unwind_Exception* exception = weft_guarded_call(child, nullptr, &child->code->run);
    if (exception != nullptr || !left_nothing<Young::any>(*root, *child) || !is_all_alone(*child, 0)) [[unlikely]] {
      child->life.fetch_or(life_dropped, std::memory_order_relaxed);
      (void)end_with_care(child, task_in_place, exception, nullptr);
      worker = root->worker;
      continue;
    }
    --nursery.plain;
    end_plainly<Young::any>(worker, child);
    give_record(worker, child);
  }
  root->task = nursery.owner;
  return ran;
}

#endif

// Wherever, if there is room on this stack.
template <Young young>
[[gnu::noinline]] Ran run_with_care(NurseryCore& nursery, FiberCore* self, TaskCore* wanted) {
  FiberCore* root = self->root;
  TaskCore* joiner = nursery.owner;
  if (stack_pointer() < in_place_floor(*joiner, *self) || is_alerted<young>(*root)) return Ran::no;
  TaskCore* child = take_young<young, Alone::no>(root->worker->deque, nursery, wanted);
  if (child == nullptr) return Ran::no;
  child->root = root;
  begin(root->worker, root, child);
  seam::light_fence();  // as above
  return run_inside_boundary(self, joiner, child, flags_in_place(young));
}

// The joiner's innermost scope is the child's nursery, so whatever cancels the joiner cancels the child: it may run
// here instead of being waited for.
template <Young young>
[[gnu::noinline]] Ran join_with_care(TaskCore* task) {
  NurseryCore* nursery = task->nursery;
  if (nursery != nullptr) {
    FiberCore* self = current_core();
    const TaskCore* joiner = self->root->task;
    // By its address first: unless it is the scope that the joiner stands in, the nursery may be gone by now.
    if (joiner != nullptr && joiner->scope == &nursery->scope && nursery->owner == joiner &&
        run_with_care<young>(*nursery, self, task) != Ran::no)
      return Ran::yes;
  }
  WakeReason reason;
  join_task(*task, seam::no_deadline, Raise::yes, reason);
  return Ran::yes;
}

template <Young young>
[[gnu::always_inline]] inline Ran join_by_running(TaskCore* task, [[maybe_unused]] void* out) {
#if !defined(WEFT_CONTEXT_BOOST)
  // Most likely its spawner's. If it is this stack's, it is this stack's fiber; one that is no root has no task.
  FiberCore* root = task->root;
  const std::uintptr_t sp = stack_pointer();
  if ((sp ^ reinterpret_cast<std::uintptr_t>(root)) >> min_slot_shift == 0) [[likely]] {
    TaskCore* joiner = root->task;
    NurseryCore* nursery = task->nursery;
    // By its address first, as above.
    if (joiner != nullptr && nursery != nullptr && joiner->scope == &nursery->scope && nursery->owner == joiner &&
        sp >= root->flat_floor) [[likely]] {
      const Ran ran = run_flatly<young>(*nursery, root, joiner, task, out);
      if (ran != Ran::no) [[likely]]
        return ran;
    }
  }
#endif
  return join_with_care<young>(task);
}

}  // namespace

void stand_out(TaskCore& task) {
  Standing::stand_out(task);
}

bool is_interrupted_in_place(const FiberCore& root) {
  return Standing::is_interrupted(root);
}

std::uintptr_t in_place_floor(const TaskCore& joiner, const FiberCore& self) {
  const WorkerCore* worker = self.root->worker;
  if (worker == nullptr || !worker->in_place || (joiner.flags & (task_pinned | task_big_stack | task_thread)) ||
      joiner.strand != nullptr)
    return ~std::uintptr_t{0};
  const std::uintptr_t floor = self.slot.floor();
  return floor + (reinterpret_cast<std::uintptr_t>(&self) - floor) / 2;
}

std::uintptr_t flat_floor(const TaskCore& joiner, const FiberCore& core) {
  return core.worker->flat ? in_place_floor(joiner, core) : ~std::uintptr_t{0};
}

bool run_own_children(NurseryCore& nursery, FiberCore* self) {
#if !defined(WEFT_CONTEXT_BOOST)
  if (self == nursery.here && stack_pointer() >= self->flat_floor) [[likely]] {
    if (run_started(nursery, self)) [[likely]]
      return true;
    if (run_next_flatly(nursery, self)) return true;
  }
#endif
  return run_with_care<Young::any>(nursery, self, nullptr) != Ran::no;
}

void join_handle(TaskCore* task) {
  (void)join_by_running<Young::held>(task, nullptr);
}

Ran join_last_handle(TaskCore* task) {
  return join_by_running<Young::last>(task, nullptr);
}

Ran join_into(TaskCore* task, void* out) {
  return join_by_running<Young::into>(task, out);
}

}  // namespace weft::inline v0::detail
