// SPDX-License-Identifier: MIT
// What: the fiber itself. It lies at the top of its own stack; a thread's own context is a FiberCore too (the root).
//
//            new ---resume---> alive ---emit, caught above---> suspended
//             |                 ^  |                              |
//             |                 |  +--body returned----> dead     |
//             |                 |  +--body threw-------> error    |
//             |                 +--------resume, cancel-----------+
//             +--cancel, kill--> error            kill, last handle dropped: through alive to error
//
// A chain that froze (an inner fiber's signal went past it) is derived, not stored: its fibers are `alive` with a
// pending child, and the outermost one is unclaimed.
//
// Invariants
//   [FIB-1] `parent` is set exactly while some frame is inside resume() of this fiber, running or frozen, except for
//           the outermost fiber of a frozen chain, whose resumer has gone on.
//   [FIB-2] `claim` is held from resume to the return of resume. In a frozen chain the inner fibers keep theirs; who
//           wants to run one of them claims the outermost.
//   [FIB-3] The canonical event of a stop is in the fiber that stopped: the emitter, or the one that ended.
//   [FIB-4] Only the thread that holds the claim touches anything but `claim`, `refs` and the root's `alert`. Links and
//           flags may be guessed at by who was refused the claim, to say why.
//   [FIB-5] `root` of every fiber of a running chain is the root of the thread that runs it, or the virtual core of its
//           task, which whoever dispatches the task tells of its thread. A fiber never looks at a thread_local: it
//           asks its root.
// Threads: see FIB-4 and claim.hpp. Rejected: a state word with atomic transitions per resume (two locked instructions
// more).
// Relaxed: an alert is a hint that the slow path checks; a handle's own count is compared with acquire where it
// decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <type_traits>

#include "weft/detail/claim.hpp"
#include "weft/detail/context.hpp"
#include "weft/detail/entry.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/stack.hpp"
#include "weft/detail/tools.hpp"
#include "weft/event.hpp"
#include "weft/mask.hpp"

namespace weft::inline v0 {

enum class State : std::uint8_t { new_, alive, suspended, dead, error };

namespace detail {

struct Binding;
struct Carrier;
class Cleanup;
struct LocalNode;
struct RuntimeInterrupts;
struct TaskCore;    // src of the floor above: what is scheduled
struct WorkerCore;  // and who runs it

// What __cxa_get_globals() points at: the handler stack and the count of exceptions in flight of the running stack.
struct ThreadEh {
  void* caught;
  unsigned int uncaught;
};
// A fiber's own, while it does not run. Copied as one 16-byte word, padding included.
struct alignas(16) EhGlobals {
  void* caught = nullptr;
  unsigned int uncaught = 0;
  unsigned int padding = 0;  // written, so that the whole word can be forwarded from one store
};

enum Deliver : std::uint8_t { deliver_value, deliver_error, deliver_kill };

enum FiberFlag : std::uint8_t {
  flag_fp = 1,        // keeps its own floating-point control words
  flag_killed = 2,    // unwinding because of kill; `ends` is everything, so that no emit leaves it
  flag_detached = 4,  // its last handle went away while it ran: whoever gets control back destroys it
  flag_shares = 8,    // sees the bindings of `shared_with`, so it stays with that fiber's thread
  flag_keeps = 16,    // and keeps that fiber's memory
  flag_root = 32,
  flag_extras = 64,  // owns something besides its closure and event that must be released with it
  flag_lent = 128,   // `memory` counts: fibers that share its bindings may outlive it
};

// What fibers above would do with a request, precomputed at resume. `bound`: the root's task is pinned or has a strand,
// so it goes back where it belongs, whoever wakes it. `aside`, of a suspended fiber's `catches` only: it or one below
// has put cleanups aside, so that it must be resumed the slow way [CLN-2].
enum Above : std::uint8_t {
  above_io = 1,
  above_wait = 2,
  above_fp = 4,
  above_interrupt = 8,
  above_bound = 16,
  above_aside = 32
};

// Why a root's fibers must take the slow paths.
enum Alert : std::uint32_t {
  alert_interrupt = 1,  // interrupts are pending
  alert_fp = 2,         // a fiber with its own floating-point words has run here
  alert_scope = 4,    // a fiber that is no root has opened a scope or a cleanup: it is not simply left suspended in it
  alert_held = 8,     // lock_check: a std::mutex is held
  alert_forked = 16,  // this is the child of a fork(): nothing may wait any more
  alert_directed = 32,  // a simulation is told of every wait
  alert_runtime = 64,   // interrupts of the whole runtime are pending, and somebody may catch them here
};

// Where a fiber stands, in one word that resume can compare: the number of its root, its depth below it, and Above.
using Place = std::uint64_t;
inline constexpr Place place_above = 0xff;
inline constexpr unsigned place_depth_shift = 8;
inline constexpr Place place_one_deeper = Place{1} << place_depth_shift;
inline constexpr Place place_depth = 0xffffff00;
inline constexpr std::uint32_t most_depth = 0xffffff;  // what fits there
inline constexpr unsigned place_root_shift = 32;

// Something to be done with a task; where `out` is, it says.
using TaskAct = void(TaskCore* task, void* out);

// What fibers know of a task: a TaskCore begins with it (checked where records are made).
struct TaskFront : QueueLink {
  seam::Atomic<std::uint32_t> interrupts{0};  // pending; any thread adds, the task takes
};

struct alignas(64) FiberCore {
  // Line 0: what a switch and a signal walk read.
  Context ctx;
  SignalSet mask;
  SignalSet pass;
  SignalSet ends;
  seam::Guessed<FiberCore*> parent = nullptr;

  // Line 1: what resume and emit touch besides.
  seam::Guessed<FiberCore*> child = nullptr;  // pending: its event has not been accepted yet
  FiberCore* root = nullptr;
  EhGlobals eh;
  Place place = 0;  // as of the last resume
  std::uint64_t id = 0;
  Claim claim;  // [FIB-2]
  State state = State::new_;
  std::uint8_t deliver = deliver_value;
  seam::Guessed<std::uint8_t> flags = 0;
  std::uint8_t catches = 0;  // Above bits that this fiber's own mask adds

  // Line 2
  Event last;
  FiberCore* innermost = nullptr;  // where it stopped last, and where resume goes: right while `place` is
  std::uint64_t last_child_id = 0;

  // Line 3, roots only, read on every switch.
  ThreadEh* thread_eh = nullptr;
  Carrier* carrier = nullptr;
  seam::Atomic<std::uint32_t> alert{0};           // Alert bits: the inline paths give way to the slow ones
  seam::Atomic<std::uint32_t> own_interrupts{0};  // of whatever runs on a plain thread; a task has its own
  FiberCore* last_child = nullptr;                // of any fiber; weak: valid only while its id is last_child_id
  TaskCore* base = nullptr;      // that was given to this virtual core; others may run in its place. Else null
  TaskCore* task = nullptr;      // that runs here; of a plain thread: its thread task
  WorkerCore* worker = nullptr;  // that runs it; null on a plain thread
  // Children of its tasks may run flatly on this stack while the stack pointer is above; else the highest address.
  std::uintptr_t flat_floor = ~std::uintptr_t{0};

  // Cold.
  seam::Atomic<std::uint32_t> refs{1};
  void (*run)(FiberCore*) = nullptr;
  void (*drop)(FiberCore*) = nullptr;  // destroys the closure; null when there is nothing (left) to destroy
  void* closure = nullptr;
  std::exception_ptr failure;             // what ended it
  Event* end_event = nullptr;             // the event inside `failure`, if that is a SignalError
  FiberCore* kept = nullptr;              // strong: the finished child whose uncaught event ended this fiber
  FiberCore* shared_with = nullptr;       // whose bindings it sees
  seam::Atomic<std::uint32_t> memory{1};  // with flag_lent: sharers, and one for all handles together
  Binding* bindings = nullptr;
  void* pending_trace = nullptr;
  std::uint32_t fp_words[2] = {};
  std::uint32_t swallowed_yields = 0;
  LocalNode* locals = nullptr;              // roots only: TaskLocal values of the tasks that run here
  std::uint32_t open_scopes = 0;            // nurseries, timeouts and shields that its frames have open
  Cleanup* cleanup = nullptr;               // that its frames run, the innermost [CLN-1]
  seam::Atomic<std::uint32_t> owner{0};     // 1 + the worker on it; for spec assertions only
  RuntimeInterrupts* listens_to = nullptr;  // virtual cores only, as the next two: shared_interrupts.hpp
  FiberCore* listens_next = nullptr;
  FiberCore** listens_prev = nullptr;
  void* user_slot = nullptr;
  void (*user_destroy)(void*) = nullptr;
  Slot slot;
  std::source_location site;
  char name[24] = {};
  ToolState tools;

  std::uint8_t above() const { return static_cast<std::uint8_t>(place & place_above); }
  std::uint32_t root_number() const { return static_cast<std::uint32_t>(place >> place_root_shift); }
  // Of who runs here.
  seam::Atomic<std::uint32_t>& interrupts() {
    return base != nullptr ? reinterpret_cast<TaskFront*>(task)->interrupts : own_interrupts;
  }
  std::uint32_t depth() const { return static_cast<std::uint32_t>((place & place_depth) >> place_depth_shift); }
};
static_assert(sizeof(EhGlobals) == 16 && sizeof(ThreadEh) == 16);
static_assert(offsetof(FiberCore, child) == 64 && offsetof(FiberCore, last) == 128);
static_assert(offsetof(FiberCore, thread_eh) == 192);
static_assert(sizeof(FiberCore) <= 640);

// This thread's own context. The one use of thread_local; never inlined, so no caller can keep its address over a
// switch.
[[gnu::noinline]] FiberCore* thread_root();

inline FiberCore* core_of(Slot slot) {
  return reinterpret_cast<FiberCore*>(slot.ceiling() - sizeof(FiberCore));
}

[[gnu::always_inline]] inline FiberCore* current_core() {
  const std::uintptr_t sp = stack_pointer();
  const unsigned shift = slot_shift_of[sp >> chunk_shift];
  if (shift == min_slot_shift) [[likely]]
    return reinterpret_cast<FiberCore*>(slot_ceiling(sp, min_slot_shift) - sizeof(FiberCore));
  if (shift != 0) return reinterpret_cast<FiberCore*>(slot_ceiling(sp, shift) - sizeof(FiberCore));
  return thread_root();
}

// Two addresses in one slot of the usual size are one fiber's. False of a larger slot's fiber, too, and of null.
[[gnu::always_inline]] inline bool is_on_stack_of(const FiberCore* core) {
  return (stack_pointer() ^ reinterpret_cast<std::uintptr_t>(core)) >> min_slot_shift == 0;
}
// The same as current_core(), for who has a guess.
[[gnu::always_inline]] inline FiberCore* current_core_near(FiberCore* guess) {
  if (is_on_stack_of(guess)) [[likely]]
    return guess;
  return current_core();
}

// The thread's words are not declared 16-aligned, and libstdc++ knows them as two fields.
[[gnu::always_inline]] inline void exchange_eh(ThreadEh* thread, FiberCore& from, const FiberCore& to) {
#if defined(__x86_64__) || defined(__aarch64__)
  typedef std::uint64_t Pair __attribute__((vector_size(16), may_alias));
  typedef std::uint64_t LoosePair __attribute__((vector_size(16), may_alias, aligned(8)));
  *reinterpret_cast<Pair*>(&from.eh) = *reinterpret_cast<const LoosePair*>(thread);
  *reinterpret_cast<LoosePair*>(thread) = *reinterpret_cast<const Pair*>(&to.eh);
#else
  from.eh.caught = thread->caught;
  from.eh.uncaught = thread->uncaught;
  *thread = {to.eh.caught, to.eh.uncaught};
#endif
}

// Goes to `to` and returns, when somebody comes back here, what they passed. Exception state belongs to the fiber.
[[gnu::always_inline]] inline void* switch_fiber(FiberCore& from, FiberCore& to, void* arg, ThreadEh* thread,
                                                 bool last = false) {
  exchange_eh(thread, from, to);
  tools_before_switch(from.tools, to.tools, last);
  void* back = switch_context(from.ctx, to.ctx, arg);
  tools_after_switch(from.tools);
  return back;
}

[[gnu::always_inline]] inline void* switch_fiber(FiberCore& from, FiberCore& to, void* arg, bool last = false) {
  return switch_fiber(from, to, arg, from.root->thread_eh, last);
}

// Slow halves, src/fiber/fiber.cpp.
const Event& drive(FiberCore* self, FiberCore* fiber, ClaimKind claim, Payload&& value, Deliver how);
const Event& finish_resume(FiberCore* self, FiberCore* fiber, ClaimKind claim);
Payload emit_slow(FiberCore* self, SignalSet bits, Payload&& value, bool from_runtime);
Payload deliver_slow(FiberCore* self);
void destroy_core(FiberCore* core) noexcept;
// `scoped`: the fiber will not outlive the frame that makes it, so it may borrow what it shares.
FiberCore* create_core(std::size_t closure_size, std::size_t closure_align, const Mask& mask, std::size_t stack_size,
                       bool scoped);
void retain(FiberCore* core) noexcept;
extern std::uint32_t max_depth;

inline void release(FiberCore* core) noexcept {
  if (core->refs.load(std::memory_order_acquire) == 1 || core->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy_core(core);
}

inline bool finished(const FiberCore& core) {
  return core.state >= State::dead;
}

// What resume does once control is back in `self`. `from` is the fiber that stopped.
[[gnu::always_inline]] inline const Event& settle(FiberCore* self, FiberCore* fiber, FiberCore* from) {
  self->child = nullptr;
  fiber->parent = nullptr;
  if (from->state == State::suspended && !(fiber->flags & flag_detached)) [[likely]] {
    fiber->innermost = from;
    fiber->claim.give_up_biased();
    return from->last;
  }
  if (fiber->state == State::dead && fiber->end_event == nullptr && !(fiber->flags & flag_detached) &&
      self->deliver == deliver_value) [[likely]] {
    fiber->claim.give_up_biased();
    return fiber->last;
  }
  return finish_resume(self, fiber, ClaimKind::biased);
}

// Puts a value, or nothing, where the fiber's event was.
template <class T>
[[gnu::always_inline]] inline void put(Payload& place, T&& value) {
  place.set(std::forward<T>(value));
}
struct Nothing {};
[[gnu::always_inline]] inline void put(Payload& place, Nothing) {
  place.reset();
}
template <class T>
Payload to_payload(T&& value) {
  return Payload(std::forward<T>(value));
}
inline Payload to_payload(Nothing) {
  return {};
}

// Copied in a register: neither throws, nor runs anybody's code, nor is a part of what it replaces.
template <class T>
inline constexpr bool fits_word =
    std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t) && payload_inline<T> && !is_c_string<T>;

// resume for a fiber that the favoured thread, or its single owner, has claimed.
template <class T>
[[gnu::always_inline]] inline const Event& resume_claimed(FiberCore* self, FiberCore* fiber, T&& value) {
  const Place place = (self->place + place_one_deeper) | fiber->catches;
  // A place that is right was once checked against the recursion limit.
  const bool plain =
      !finished(*fiber) && fiber->place == place && self->root->alert.load(std::memory_order_relaxed) == 0;
  if (!plain) [[unlikely]]
    return drive(self, fiber, ClaimKind::biased, to_payload(std::forward<T>(value)), deliver_value);
  FiberCore* target = fiber->innermost;
  put(target->last.value, std::forward<T>(value));
  target->state = State::alive;
  self->child = fiber;
  self->last_child = fiber;
  self->last_child_id = fiber->id;
  fiber->parent = self;
  return settle(self, fiber, static_cast<FiberCore*>(switch_fiber(*self, *target, target)));
}

template <class T>
[[gnu::always_inline]] inline Payload emit_from(FiberCore* self, SignalSet bits, T&& value) {
  if (!bits.empty() && !bits.overlaps(sig::not_emittable)) [[likely]] {
    SignalSet ends;
    FiberCore* fiber = self;
    for (;;) {
      ends |= fiber->ends;
      if (fiber->mask.overlaps(bits) && !fiber->pass.overlaps(bits)) break;  // a root catches everything: it ends here
      fiber = fiber->parent;
    }
    FiberCore* catcher = fiber->parent;
    if (catcher != nullptr && !ends.overlaps(bits) && self->root->alert.load(std::memory_order_relaxed) == 0)
        [[likely]] {
      put(self->last.value, std::forward<T>(value));
      self->last.bits = bits;
      self->state = State::suspended;
      switch_fiber(*self, *catcher, self);
      if (self->deliver != deliver_value) [[unlikely]]
        return deliver_slow(self);
      if (self->last.value.empty()) return {};
      return std::move(self->last.value);
    }
  }
  return emit_slow(self, bits, to_payload(std::forward<T>(value)), false);
}

}  // namespace detail
}  // namespace weft::inline v0
