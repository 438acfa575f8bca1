// SPDX-License-Identifier: MIT
// The chain: who runs, who catches, who ends. The inline halves are in include/weft/detail/fiber_core.hpp; everything
// here is the same protocol with its rare cases.
#include "weft/fiber.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <typeinfo>

#include "fiber/bindings.hpp"
#include "fiber/carrier.hpp"
#include "fiber/chain.hpp"
#include "fiber/fp_words.hpp"
#include "fiber/options.hpp"
#include "fiber/own_interrupts.hpp"
#include "weft/detail/cleanup.hpp"

namespace weft::inline v0 {
namespace detail {

std::string describe(const FiberCore& core) {
  std::string text = "fiber " + std::to_string(core.id);
  if (core.name[0] != '\0') text += std::string(" \"") + core.name + "\"";
  return text;
}

FiberCore* deepest(FiberCore* fiber) {
  while (fiber->child != nullptr) fiber = fiber->child;
  return fiber;
}

namespace {

// A thread's own core. Of another thread it may be gone: only its address is looked at.
bool of_thread(const FiberCore* core) {
  return slot_shift_of[reinterpret_cast<std::uintptr_t>(core) >> chunk_shift] == 0;
}

bool is_root(const FiberCore* core) {
  return of_thread(core) || (core->flags & flag_root);
}

}  // namespace

void listen_for_interrupts(FiberCore* root) {
  if (root->listens_to != nullptr || of_thread(root)) return;
  root->listens_to = root->carrier->interrupts;
  root->listens_to->listen(*root);
}

FiberCore* outermost(FiberCore* fiber) {
  while (!of_thread(fiber)) {
    FiberCore* parent = fiber->parent;
    if (parent == nullptr) break;
    fiber = parent;
  }
  return fiber;
}

bool frozen(const FiberCore& fiber) {
  if (fiber.state != State::alive || fiber.child == nullptr) return false;
  return !is_root(outermost(const_cast<FiberCore*>(&fiber)));
}

const Event& event_of(const FiberCore& core) {
  if (finished(core)) return core.end_event != nullptr ? *core.end_event : core.last;
  if (!frozen(core)) return core.last;
  const FiberCore* origin = &core;
  while (origin->child != nullptr) origin = origin->child;
  return origin->end_event != nullptr ? *origin->end_event : origin->last;
}

namespace {

[[noreturn]] void refuse(FiberErrc code, const FiberCore& core, const char* why) {
  throw FiberError(code, describe(core) + " " + why);
}

// Somebody else is in resume() of a fiber below: it was taken out of its place in this frozen chain.
bool child_runs_alone(const FiberCore* fiber) {
  while (const FiberCore* child = fiber->child) {
    if (child->parent != fiber) return true;
    fiber = child;
  }
  return false;
}

// Who runs `fiber` must give up this claim: its own, or that of the frozen chain it is an inner part of.
struct Held {
  FiberCore* holder;
  ClaimKind kind;
  void give_up() const { holder->claim.give_up(kind); }
};

// The claim of `fiber` is taken. If that is because it is frozen inside a chain, claims the chain instead [FIB-2];
// otherwise says who has it.
Held claim_chain(FiberCore* self, FiberCore* fiber) {
  FiberCore* top = outermost(fiber);
  if (is_root(top)) {
    if (top == self->root)
      refuse(FiberErrc::alive, *fiber,
             "is running, further up this chain; a fiber cannot resume itself or its callers");
    refuse(FiberErrc::foreign, *fiber, "is running on another thread; only one resumer at a time");
  }
  if (top == fiber && child_runs_alone(fiber))
    refuse(FiberErrc::child_alive, *fiber, "is frozen, and one of its children is running on its own");
  if (top == fiber) refuse(FiberErrc::foreign, *fiber, "is being resumed by another thread; only one at a time");
  const Held held{top, top->claim.take(self->root_number())};
  if (held.kind == ClaimKind::refused)
    refuse(FiberErrc::child_alive, *fiber, "is frozen in a chain of which another fiber is running on its own");
  // Until now the chain could change under our eyes, if another thread ran it.
  if (outermost(fiber) != top || !fiber->claim.held()) {
    held.give_up();
    refuse(FiberErrc::foreign, *fiber, "is running on another thread; only one resumer at a time");
  }
  return held;
}

Held claim_fiber(FiberCore* self, FiberCore* fiber) {
  const ClaimKind kind = fiber->claim.take(self->root_number());
  return kind != ClaimKind::refused ? Held{fiber, kind} : claim_chain(self, fiber);
}

// Puts a chain under a new parent: its fibers ask another root from now on, and what lies above them may differ.
void adopt_chain(FiberCore* self, FiberCore* fiber) {
  Place place = self->place;
  for (FiberCore* f = fiber; f != nullptr; f = f->child) {
    f->root = self->root;
    if (f->catches & above_aside) [[unlikely]]
      take_up_cleanups(f);
    place = (place + place_one_deeper) | f->catches;
    f->place = place;
  }
  if (place & above_fp) self->root->alert.fetch_or(alert_fp, std::memory_order_relaxed);
  if (place & above_interrupt) listen_for_interrupts(self->root);
}

// May `fiber`, a part of the chain that begins with `top`, see the bindings that it shares when `root`'s thread runs
// it? The holder must be of that thread, or come along.
bool shares_within(const FiberCore* root, const FiberCore* top, const FiberCore* fiber) {
  const FiberCore* holder = fiber->shared_with;
  if (of_thread(holder)) return holder == root;
  if (holder->root == root) return true;
  for (const FiberCore* f = top; f != fiber; f = f->child)
    if (f == holder) return true;
  return false;
}

// A chain comes to another thread. What cannot see its bindings there is refused, or, to be killed, sees none.
void check_sharing(FiberCore* self, FiberCore* top, Deliver how) {
  for (FiberCore* f = top; f != nullptr; f = f->child) {
    if (!(f->flags & flag_shares) || shares_within(self->root, top, f)) continue;
    if (how != deliver_kill)
      refuse(FiberErrc::foreign, *f,
             "shares the bindings of a fiber of another thread (mask letter i); make it with p to resume it here");
    stop_sharing(f);
  }
}

bool has_catcher(const FiberCore* fiber, SignalSet bits) {
  while (fiber->parent != nullptr) {
    if (fiber->mask.overlaps(bits) && !fiber->pass.overlaps(bits)) return true;
    fiber = fiber->parent;
  }
  return false;
}

bool has_exception(const FiberCore* self, const FiberCore* fiber) {
  return (fiber == self ? self->root->thread_eh->uncaught : fiber->eh.uncaught) != 0;
}

}  // namespace

// Not across a stack that unwinds or is to, or a cleanup, even if nobody catches it; nor across a nursery, timeout or
// shield that is open between here and who would catch it: the task would be left suspended inside it. It stays pending
// until that is over.
bool may_be_interrupted(const FiberCore* self) {
  bool open = false;
  for (const FiberCore* fiber = self;; fiber = fiber->parent) {
    if (has_exception(self, fiber) || (fiber->flags & flag_killed)) return false;
    if (fiber->cleanup != nullptr && fiber->cleanup->shields(*self->root)) return false;
    if (fiber->parent == nullptr) return true;  // nobody catches it: that is an error wherever else it stands
    open |= fiber->open_scopes != 0;
    if (fiber->mask.overlaps(sig::interrupt) && !fiber->pass.overlaps(sig::interrupt)) return !open;
  }
}

namespace {

// Takes one that is pending, of the task or of its runtime, if it may be raised here. Of the task's a checkpoint takes
// one that nobody catches, too: that is an error. The runtime's are for who catches them [INT-1].
bool take_interrupt_here(const FiberCore* self, bool at_checkpoint) {
  FiberCore* root = self->root;
  const bool own = OwnInterrupts::pending(root);
  const bool shared = (root->alert.load(std::memory_order_relaxed) & alert_runtime) && root->listens_to->pending(*root);
  if (!own && !shared) [[likely]]
    return false;
  const bool caught = has_catcher(self, sig::interrupt);
  if (!(caught || (own && at_checkpoint)) || !may_be_interrupted(self)) return false;
  return (own && OwnInterrupts::take(root)) || (shared && caught && root->listens_to->take());
}

// make_exception_ptr wants a copy; a payload has none.
std::exception_ptr signal_exception(Event&& event) {
  try {
    throw SignalError(std::move(event));
  } catch (...) {
    return std::current_exception();
  }
}

// The exception that a payload holds, if any; an empty exception_ptr is none.
const std::exception_ptr* held_exception(const Payload& error) {
  const auto* held = error.get_if<std::exception_ptr>();
  return held != nullptr && *held != nullptr ? held : nullptr;
}

std::exception_ptr exception_of(Payload&& error) {
  if (const auto* held = held_exception(error)) return *held;
  return signal_exception(Event{sig::error, std::move(error)});
}

// A fiber that never ran ends without running.
void end_unstarted(FiberCore* fiber, std::exception_ptr failure) {
  fiber->state = State::alive;
  drop_closure_of(fiber);
  record_end(fiber, std::move(failure));
}

void keep_child(FiberCore* self, FiberCore* fiber) {
  if (self->flags & flag_root) return;
  stop_sharing(fiber);  // it needs no bindings any more, and need not keep that fiber's memory
  retain(fiber);
  if (self->kept != nullptr) release(self->kept);
  self->kept = fiber;
  self->flags |= flag_extras;
}

void mark_killed(FiberCore* fiber) {
  for (FiberCore* f = fiber; f != nullptr && !finished(*f); f = f->child) {
    f->flags |= flag_killed;
    f->ends = sig::all;
  }
}

}  // namespace

void drop_closure_of(FiberCore* fiber) {
  if (auto* drop = std::exchange(fiber->drop, nullptr)) drop(fiber);
}

namespace {

[[noreturn]] void throw_destroyed(const std::string& who) {
  throw FiberError(FiberErrc::destroyed, who + " was resumed while its last handle was destroyed");
}

// True if it lost its last handle while it ran, and there is none again.
bool detached(FiberCore* fiber) {
  if (!(fiber->flags & flag_detached)) return false;
  if (fiber->refs.load(std::memory_order_acquire) == 0) return true;
  fiber->flags &= static_cast<std::uint8_t>(~flag_detached);
  return false;
}

// The end of resume() for a part of a frozen chain that ran on its own. Its own claim stays with the frame above it.
const Event& finish_inner(FiberCore* self, FiberCore* fiber, const Held& held, const FiberCore& from) {
  FiberCore* outer = held.holder;
  outer->place = 0;  // what lies above the fibers below it has changed: the next resume looks at the whole chain
  held.give_up();
  if (detached(outer)) {
    const std::string who = describe(*fiber);
    const bool gone = !finished(*fiber) || detached(fiber);
    destroy_core(outer);
    if (gone) throw_destroyed(who);
  }
  if (self->deliver != deliver_value) (void)deliver_slow(self);
  return finished(*fiber) ? accept_end(self, fiber) : from.last;
}

}  // namespace

const Event& drive(FiberCore* self, FiberCore* fiber, ClaimKind claim, Payload&& value, Deliver how) {
  if (fiber == nullptr) throw FiberError(FiberErrc::empty_handle, "this Fiber handle is empty");
  const Held held = claim != ClaimKind::refused ? Held{fiber, claim} : claim_fiber(self, fiber);
  const bool inner = held.holder != fiber;  // part of a frozen chain, to run on its own
  FiberCore* const chain_parent = fiber->parent;

  try {
    if (finished(*fiber))
      refuse(FiberErrc::finished, *fiber,
             how == deliver_value ? "has finished; there is nothing left to resume"
                                  : "has finished; there is nothing left to cancel");
    if (self->depth() >= max_depth && how != deliver_kill)
      refuse(FiberErrc::too_deep, *fiber,
             "is not resumed: resumes are nested beyond the recursion limit (see set_recursion_limit)");
    if (how != deliver_kill && take_interrupt_here(self, false)) emit_slow(self, sig::interrupt, Payload(), true);
    if (fiber->root != self->root) check_sharing(self, fiber, how);
  } catch (...) {
    held.give_up();
    throw;
  }

  FiberCore* target = fiber;
  FiberCore* ended = nullptr;  // a pending child that ended while it was resumed on its own
  while (target->child != nullptr) {
    if (finished(*target->child)) {
      ended = target->child;
      break;
    }
    target = target->child;
  }

  if (target->state == State::new_ && how != deliver_value) {
    end_unstarted(target, how == deliver_kill ? std::make_exception_ptr(Unwind{}) : exception_of(std::move(value)));
    return finish_resume(self, fiber, held.kind);
  }

  self->child = fiber;
  self->last_child = fiber;
  self->last_child_id = fiber->id;
  fiber->parent = self;
  adopt_chain(self, fiber);
  if (how == deliver_kill) mark_killed(fiber);
  target->deliver = how;
  if (ended == nullptr) {
    target->last.value = std::move(value);
    target->state = State::alive;
  } else if (how == deliver_error) {
    target->last.value = std::move(value);
  }
  fp_words_switch(self, target);
  auto* from = static_cast<FiberCore*>(switch_fiber(*self, *target, ended != nullptr ? ended : target));

  self->child = nullptr;
  // An inner fiber goes back to its place in the chain; its end, if it came, waits there for the outer resume.
  fiber->parent = inner ? chain_parent : nullptr;
  if (inner) return finish_inner(self, fiber, held, *from);
  if (from->state == State::suspended && !(fiber->flags & flag_detached)) {
    fiber->innermost = from;
    held.give_up();
    return from->last;
  }
  return finish_resume(self, fiber, held.kind);
}

// The fiber has ended: its mask is asked; what it does not catch is rethrown here.
const Event& accept_end(FiberCore* self, FiberCore* fiber) {
  const Event& event = event_of(*fiber);
  if (event.bits.empty()) return event;
  if (fiber->mask.overlaps(event.bits) && !fiber->pass.overlaps(event.bits)) return event;
  if (fiber->failure == nullptr) {
    // Its event was a signal that ended it and was taken out since.
    fiber->failure = signal_exception(Event{event.bits, Payload()});
  }
  if (*fiber->failure.__cxa_exception_type() != typeid(Unwind)) {
    keep_child(self, fiber);
  } else if ((self->flags & flag_killed) && self->root->thread_eh->uncaught != 0) {
    return event;  // a destructor of the killed resumed it: see deliver_slow
  }  // and a kill ends nobody else; who does it may be about to free the fiber
  std::rethrow_exception(fiber->failure);
}

const Event& finish_resume(FiberCore* self, FiberCore* fiber, ClaimKind claim) {
  if (!finished(*fiber)) fiber->innermost = deepest(fiber);
  fiber->claim.give_up(claim);
  if (fiber->state == State::dead && fiber->end_event == nullptr && !(fiber->flags & flag_detached) &&
      self->deliver == deliver_value) [[likely]]
    return fiber->last;
  if (detached(fiber)) {
    const std::string who = describe(*fiber);
    destroy_core(fiber);
    if (self->deliver != deliver_value) (void)deliver_slow(self);
    throw_destroyed(who);
  }
  if (!finished(*fiber)) return deepest(fiber)->last;            // it lost its last handle, and has one again
  if (self->deliver != deliver_value) (void)deliver_slow(self);  // cancelled or killed while its child had ended
  return accept_end(self, fiber);
}

Payload deliver_slow(FiberCore* self) {
  const auto how = static_cast<Deliver>(std::exchange(self->deliver, std::uint8_t{deliver_value}));
  if (how == deliver_kill) {
    // Suspended in a destructor, with an exception in flight: it is unwinding already, and throwing would terminate.
    if (self->root->thread_eh->uncaught == 0) throw Unwind{};
    ++self->swallowed_yields;
    return {};
  }
  Payload error = std::move(self->last.value);
  if (const auto* held = held_exception(error)) std::rethrow_exception(*held);
  throw SignalError(Event{sig::error, std::move(error)});
}

namespace {

[[noreturn]] void throw_finishing(SignalSet bits, Payload&& value) {
  if (bits.contains(sig::error)) {
    if (const auto* held = held_exception(value)) std::rethrow_exception(*held);
  }
  throw SignalError(Event{bits, std::move(value)});
}

void check_bits(SignalSet bits) {
  if (bits.empty())
    throw EmitError("emit of the empty set: a signal needs at least one bit; to stop with a value, return it");
  const SignalSet bad = bits & sig::not_emittable;
  if (!bad.empty())
    throw EmitError("emit of " + to_string(bits) + ": " + to_string(bad) + " is raised by the runtime only");
}

struct Catch {
  FiberCore* catcher = nullptr;  // null: nobody
  SignalSet ends;
  bool killed = false;
  bool unwinding = false;  // and a stack between here and the killed fiber has an exception in flight
};

Catch find_catcher(FiberCore* self, SignalSet bits) {
  Catch found;
  bool in_flight = false;
  FiberCore* fiber = self;
  for (;;) {
    found.ends |= fiber->ends;
    in_flight |= has_exception(self, fiber);
    if (fiber->flags & flag_killed) {
      found.killed = true;
      found.unwinding = in_flight;
    }
    if (fiber->mask.overlaps(bits) && !fiber->pass.overlaps(bits)) break;
    fiber = fiber->parent;
  }
  found.catcher = fiber->parent;
  return found;
}

// Whoever catches would go on inside a nursery, timeout or shield that it knows nothing of. Signals that are answered
// on the spot may cross: a resumable error, debug, io, a wait that is only performed when it is resumed. Cleanups that
// are the only ones open are put aside.
void leave_scopes(FiberCore* self, const FiberCore* catcher, SignalSet bits) {
  for (const FiberCore* fiber = self; fiber != catcher; fiber = fiber->parent) {
    if (fiber->open_scopes == 0) continue;
    if (bits.overlaps(sig::error | sig::debug | sig::io | sig::wait)) return;
    throw FiberError(FiberErrc::scope_open,
                     describe(*fiber) + " emits " + to_string(bits) +
                         " with a nursery, timeout or shield still open: leave it first, or emit from outside of it");
  }
  bool aside = false;
  for (FiberCore* fiber = self; fiber != catcher; fiber = fiber->parent) {
    if (fiber->cleanup != nullptr || (aside && fiber->parent == catcher)) {
      put_cleanups_aside(fiber);
      aside = true;
    }
  }
  bool any = false;
  for (const FiberCore* fiber = catcher; fiber != nullptr; fiber = fiber->parent)
    any |= fiber->open_scopes != 0 || fiber->cleanup != nullptr;
  if (!any) self->root->alert.fetch_and(~std::uint32_t{alert_scope}, std::memory_order_relaxed);
}

// Throws if the signal does not suspend, and only then takes the value along. Returns false if it is to be ignored (a
// yield while being unwound).
bool admit(FiberCore* self, const Catch& found, SignalSet bits, Payload& value) {
  if (found.killed) {
    if (!found.unwinding) throw Unwind{};
    ++self->swallowed_yields;
    return false;
  }
  if (found.catcher == nullptr) {
    if (bits.overlaps(sig::error | sig::user0_4)) throw_finishing(bits, std::move(value));
    if (bits.contains(sig::halt)) throw Halt(std::move(value));
    throw UncaughtSignal(Event{bits, std::move(value)});
  }
  if (found.ends.overlaps(bits)) throw_finishing(bits, std::move(value));
  if (self->root->alert.load(std::memory_order_relaxed) & alert_scope) leave_scopes(self, found.catcher, bits);
  return true;
}

}  // namespace

Payload emit_slow(FiberCore* self, SignalSet bits, Payload&& value, bool from_runtime) {
  if (!from_runtime) check_bits(bits);
  if (!bits.contains(sig::interrupt) && take_interrupt_here(self, false))
    emit_slow(self, sig::interrupt, Payload(), true);
  const Catch found = find_catcher(self, bits);
  if (!admit(self, found, bits, value)) return {};
  self->last.bits = bits;
  self->last.value = std::move(value);
  self->state = State::suspended;
  fp_words_switch(self, found.catcher);
  switch_fiber(*self, *found.catcher, self);
  if (self->deliver != deliver_value) return deliver_slow(self);
  return std::move(self->last.value);
}

std::uint32_t max_depth = 16384;

}  // namespace detail

using namespace detail;

const FiberCore& Fiber::checked() const {
  if (core_ == nullptr) throw FiberError(FiberErrc::empty_handle, "this Fiber handle is empty");
  return *core_;
}

const Event& Fiber::cancel(Payload error) {
  return drive(current_core(), core_, ClaimKind::refused, std::move(error), deliver_error);
}

void Fiber::kill() {
  if (core_ == nullptr) throw FiberError(FiberErrc::empty_handle, "this Fiber handle is empty");
  if (detail::finished(*core_)) return;
  try {
    drive(current_core(), core_, ClaimKind::refused, Payload(), deliver_kill);
  } catch (const Unwind&) {
    if (!detail::finished(*core_)) throw;  // not this fiber's: the caller itself is being killed
  }
}

const Event& propagate(Fiber& child) {
  FiberCore* self = current_core();
  FiberCore* fiber = child.core();
  if (fiber == nullptr) throw FiberError(FiberErrc::empty_handle, "propagate of an empty Fiber handle");
  if (detail::finished(*fiber)) {
    if (event_of(*fiber).bits.empty())
      throw FiberError(FiberErrc::nothing_to_propagate,
                       detail::describe(*fiber) + " has returned normally; it has no signal to propagate");
    detail::keep_child(self, fiber);
    std::rethrow_exception(fiber->failure);
  }
  if (fiber->state == State::new_)
    throw FiberError(FiberErrc::nothing_to_propagate, detail::describe(*fiber) + " was never resumed");
  const Held held = claim_fiber(self, fiber);
  FiberCore* origin = deepest(fiber);
  const SignalSet bits = origin->last.bits;
  const Catch found = find_catcher(self, bits);
  try {
    if (held.holder != fiber)
      throw FiberError(FiberErrc::child_alive,
                       detail::describe(*fiber) + " is part of a frozen chain; propagate its outermost fiber");
    if (fiber->root != self->root) check_sharing(self, fiber, deliver_value);
    if (!admit(self, found, bits, origin->last.value)) {
      held.give_up();
      return origin->last;
    }
  } catch (...) {
    held.give_up();
    throw;
  }
  self->child = fiber;
  fiber->parent = self;
  adopt_chain(self, fiber);
  fp_words_switch(self, found.catcher);
  auto* from = static_cast<FiberCore*>(switch_fiber(*self, *found.catcher, origin));
  self->child = nullptr;
  fiber->parent = nullptr;
  if (from->state != State::suspended || (fiber->flags & flag_detached)) return finish_resume(self, fiber, held.kind);
  fiber->innermost = from;
  held.give_up();
  return from->last;
}

void checkpoint() {
  FiberCore* self = current_core();
  if (take_interrupt_here(self, true)) emit_slow(self, sig::interrupt, Payload(), true);
}

Interrupter interrupter() {
  return Interrupter(current_core()->root);
}

Fiber current_fiber() {
  FiberCore* self = current_core();
  if (self->flags & flag_root) return {};
  retain(self);
  return Fiber::adopt(self);
}

bool in_fiber() {
  return !(current_core()->flags & flag_root);
}

std::uint32_t recursion_limit() {
  read_options();
  return max_depth;
}
void set_recursion_limit(std::uint32_t limit) {
  read_options();
  max_depth = std::min(limit, most_depth);
}

}  // namespace weft::inline v0
