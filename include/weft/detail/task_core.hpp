// SPDX-License-Identifier: MIT
// What: the task record: what is scheduled. 192 bytes, closure included; a stack comes only when it runs, and stays
// only when it parks.
//
//   line 0   what dispatch, park and wake touch          line 2   the room: the closure, then the links of a task that
//   line 1   identity, waiters, what a dump shows                 waits, then its result or its exception
//
// Invariants
//   [TASK-1] Records are type-stable: never unmapped, the ticket in `word` never reset. A stale (record, ticket) fails
//            its claim; it never wakes somebody else's wait.
//   [TASK-2] A record is freed by the second of {task ended, handle dropped}, told by `life`.
//   [TASK-3] `top` is null until the task has parked or yielded once; then it is the fiber to switch to. Read by who
//            dequeued the task, written by the task before it leaves its stack.
//   [TASK-4] The room holds one thing at a time: the closure until the task runs (then that lies on the stack); the
//            links into a wheel and a scope's list while its code runs; once it stands in neither and none of its code
//            is left to run, its result or its exception, which are taken out before they are destroyed. So whatever
//            may wait finds the room free for the links. The room of a thread's task holds its futex word.
//   [TASK-5] A record that nobody uses is clean: its word free, no flags, top, strand, bindings, name, life, interrupts
//            or number (who numbers a task too late numbers the next one, which is all right). Who ends a
//   task
//            that may have had one of them makes it so; who makes a task need not.
//   [TASK-6] The record of a child without a handle holds closure, code, nursery and site. Who begins it fills in the
//            rest.
// Threads: `word`, `life`, `waiters`, `interrupts`, `permit`, `id`: any, as each says. The rest: whoever runs it; after
// its end, whoever saw the end.
// Relaxed: a number says nothing of anything else; who fills a record in is its only user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>

#include "weft/detail/entry.hpp"
#include "weft/detail/fiber_core.hpp"
#include "weft/detail/scope_core.hpp"
#include "weft/detail/task_word.hpp"
#include "weft/detail/timer_node.hpp"
#include "weft/detail/unpark_latch.hpp"

namespace weft::inline v0::detail {

struct NurseryCore;
struct WorkerCore;
struct TaskWaiter;
struct StrandCore;

// What a wait is, for dumps and deadlock reports. Lies on the waiter's stack.
struct WaitInfo {
  const char* kind = "";
  const void* object = nullptr;
  const TaskCore* holder = nullptr;     // who could end it, if one does
  const void* holder_at = nullptr;      // where that stands, if it may change: a word, without its six lowest bits
  const TaskCore* last_seen = nullptr;  // who used the other side last: a hint, not proof
  const WaitInfo* next = nullptr;       // of a select: the next case
  bool outside = false;                 // something that is no task ends it: a blocking call, a file
};

// What can be done with the closure of a record, and with what it returned.
struct TaskCode {
  TaskAct* run_out;       // runs it; what it returns goes to `out`, or into the room if it cannot go out
  TaskAct* run;           // runs it; what it returns goes into the room
  TaskAct* keep_result;   // what went to `out` goes into the room after all
  TaskAct* drop_closure;  // it will not run
  TaskAct* drop_result;
};

// What a queue entry points at. A child: a record of which nothing is filled in but code, room, nursery and site; it
// was started without a handle, so nobody can ask for more before it begins [TASK-6].
enum EntryKind : unsigned { entry_task = 0, entry_job = 1, entry_strand = 2, entry_child = 3 };

enum TaskFlag : std::uint16_t {
  task_failed = 1,         // the room holds an exception_ptr
  task_has_result = 2,     // the room holds a result that must be destroyed
  task_pinned = 4,         // stays on the worker that it first ran on
  task_own_stack = 8,      // asked for a stack size
  task_thread = 32,        // a plain thread's: waking it is a futex wake
  task_observed = 64,      // somebody looked at its outcome
  task_named = 128,        // `name` was copied
  task_in_place = 512,     // runs on its joiner's stack, and stands out there [PLACE-2]
  task_held = 8192,        // by a handle that its joiner is just using: it cannot be dropped meanwhile
  task_registered = 1024,  // stands in the list of its birth scope [SCP-2]
  task_big_stack = 2048,   // runs on a stack of its own size
  task_main = 4096,        // of run(): worker 0 waits for it
  task_locals = 16384,     // has TaskLocal values
  task_apart = 32768,      // that there is no stack for it is its own failure, and not its nursery's
  task_fifo = 256,         // begins after what is ready already
  task_job = 16,           // a piece of par that was stolen: its forker needs what it returns
};

enum TaskLife : std::uint32_t {
  life_ended = 1,
  life_dropped = 2,
  life_interrupted = 8,    // by its handle, at any time before
  life_asking = 4,         // its handle asks it to stop, just now: what it uses must not end meanwhile
  life_interrupting = 64,  // its handle interrupts it, just now: as above; several may, and the first to go clears it
  life_unparked = UnparkLatch::bit,
  life_uncommon = 32,  // from its birth: it has flags or bindings, which only who has dequeued it may look at
};
inline constexpr unsigned life_cancel_shift = 8;   // CancelReason, of who cancelled it by its handle
inline constexpr unsigned life_raised_shift = 16;  // how often Cancelled was raised in it, and for whom: scope.cpp
inline CancelReason cancel_in(std::uint32_t life) {
  return static_cast<CancelReason>(life >> life_cancel_shift & 0xff);
}

// The number of a task, different from that of any other in the process. A child gets its own when it begins on a stack
// of its own, when it stands out [PLACE-2], or when somebody asks; most never need one. Threads: any.
class TaskId {
 public:
  operator std::uint64_t() const {  // NOLINT(google-explicit-constructor): reads as a number
    const std::uint64_t known = number_.load(std::memory_order_relaxed);
    return known != 0 ? known : settle(nullptr);
  }
  // By who is about to need it, with a number of that worker's.
  void settle_by(WorkerCore* worker) const {
    if (number_.load(std::memory_order_relaxed) == 0) (void)settle(worker);
  }
  void operator=(std::uint64_t number) { number_.store(number, std::memory_order_relaxed); }
  std::uint64_t if_known() const { return number_.load(std::memory_order_relaxed); }  // else 0
  // The first number that is offered stays, and is everybody's answer.
  std::uint64_t offer(std::uint64_t mine) const {
    std::uint64_t known = 0;
    return number_.compare_exchange_strong(known, mine, std::memory_order_relaxed) ? mine : known;
  }
  // Of a record that nobody uses any more.
  void forget() { number_.store(0, std::memory_order_relaxed); }

 private:
  std::uint64_t settle(WorkerCore* worker) const;

  mutable seam::Atomic<std::uint64_t> number_{0};  // relaxed: a number says nothing of anything else
};

// Of a task whose code runs [TASK-4].
struct WaitLinks {
  TimerNode timer;
  TaskCore* scope_next = nullptr;  // of a record that nobody uses: its worker's next such
  TaskCore** scope_prev = nullptr;
};

struct alignas(64) TaskCore : TaskFront {
  static constexpr std::size_t room_bytes = sizeof(WaitLinks);
  static constexpr std::size_t timer_offset = 128;  // checked where records are made

  // Line 0, with what TaskFront has
  seam::Atomic<std::uint32_t> permit{0};  // task_permit.hpp
  // What a spawn writes is not side by side: compilers would put it together in a vector first, which takes longer.
  TaskWord word;
  StrandCore* strand = nullptr;
  FiberCore* top = nullptr;        // [TASK-3]
  NurseryCore* nursery = nullptr;  // that waits for it
  seam::Atomic<std::uint32_t> life{0};
  std::uint16_t flags = 0;
  std::uint16_t last_worker = 0;
  ScopeCore* scope = nullptr;  // innermost

  // Line 1
  // The virtual core it runs on; until it starts: its spawner's, if it may run in place there. A guess to who joins it.
  seam::Guessed<FiberCore*> root = nullptr;
  seam::Atomic<TaskWaiter*> waiters{nullptr};
  TaskId id;
  std::source_location site;
  const char* name = nullptr;
  Binding* bindings = nullptr;     // the spawner's, as they were
  const WaitInfo* wait = nullptr;  // what it waits for; valid while it is parked
  const TaskCode* code = nullptr;

  // Line 2
  union {
    WaitLinks links{};
    std::byte room[room_bytes];  // at a multiple of 16: timer_offset
  };
  seam::Atomic<std::uint16_t> timer_place{0};  // 1 + the worker in whose wheel it stands; 0: in none
  std::uint16_t pinned_to = 0;
  std::uint32_t parked_at = 0;                             // coarse milliseconds
  ScopeCore* birth = nullptr;                              // of who is no nursery's child; see born_in()
  seam::Atomic<std::int64_t> deadline{seam::no_deadline};  // of the present wait; written before its ticket

  // The scope it was born into; null: a thread's. A nursery begins with its scope.
  ScopeCore* born_in() const { return nursery != nullptr ? reinterpret_cast<ScopeCore*>(nursery) : birth; }
  // Asked to stop by its handle. relaxed: who must not miss it has run a fence [SCP-2]
  CancelReason own_cancel() const { return cancel_in(life.load(std::memory_order_relaxed)); }
  // Of a thread's task, which has no closure: 1 when queued.
  seam::Atomic<std::uint32_t>& futex() { return *reinterpret_cast<seam::Atomic<std::uint32_t>*>(room); }
  const std::exception_ptr& failure() const { return *reinterpret_cast<const std::exception_ptr*>(room); }
};

static_assert(sizeof(TaskCore) == 192);

// [TASK-5], but for the word.
inline bool is_clean(const TaskCore& task) {
  return task.flags == 0 && task.top == nullptr && task.strand == nullptr && task.bindings == nullptr &&
         task.name == nullptr;
}
// Of a task that has ended, and whose name is gone.
inline void make_clean(TaskCore& task) {
  task.flags = 0;
  task.top = nullptr;
  task.strand = nullptr;
  task.life.store(0, std::memory_order_relaxed);
  task.interrupts.store(0, std::memory_order_relaxed);
  task.id.forget();
}

// Surely nobody has asked it to stop [SCP-4]. False tells nothing. relaxed: compared with the process's
// epoch, which is acquired
[[gnu::always_inline]] inline bool surely_unasked(const TaskCore& task, const ScopeCore& innermost) {
  return task.own_cancel() == CancelReason::none &&
         innermost.clean_epoch.load(std::memory_order_relaxed) == cancel_epoch.load(std::memory_order_acquire);
}
[[gnu::always_inline]] inline bool surely_unasked(const TaskCore& task) {
  return task.scope != nullptr && surely_unasked(task, *task.scope);
}

}  // namespace weft::inline v0::detail
