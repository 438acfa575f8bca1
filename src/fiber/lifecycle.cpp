// SPDX-License-Identifier: MIT
// How a fiber begins and ends: creation on a pooled stack, the first frame, the last one, destruction.
#include <cxxabi.h>
#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <typeinfo>

#include "fiber/bindings.hpp"
#include "fiber/carrier.hpp"
#include "fiber/chain.hpp"
#include "fiber/failure.hpp"
#include "fiber/fp_words.hpp"
#include "fiber/options.hpp"
#include "fiber/tool_hooks.hpp"
#include "fiber/watermark.hpp"
#include "weft/fiber.hpp"

namespace weft::inline v0::detail {
namespace {

std::uint8_t catches_of(const Mask& mask) {
  std::uint8_t bits = 0;
  if (mask.mask.overlaps(sig::yield | sig::io) && !mask.pass.overlaps(sig::io)) bits |= above_io;
  if (mask.mask.overlaps(sig::wait | sig::await) && !mask.pass.overlaps(sig::wait | sig::await)) bits |= above_wait;
  if (mask.mask.overlaps(sig::interrupt) && !mask.pass.overlaps(sig::interrupt)) bits |= above_interrupt;
  return bits;
}

void inherit_bindings(FiberCore* self, FiberCore* core, Env env, bool scoped) {
  FiberCore* holder = bindings_holder(self);
  if (env == Env::layer) {
    core->bindings = retain_bindings(holder->bindings);
  } else if (env == Env::share) {
    core->shared_with = holder;
    core->flags |= flag_shares;
    if (!scoped && !(holder->flags & flag_root)) {
      // Not a handle: a fiber that has the sharer in its own frame would never lose the last one.
      holder->memory.fetch_add(1, std::memory_order_relaxed);
      holder->flags |= flag_lent;
      core->flags |= flag_keeps | flag_extras;
    }
  }
}

void* object_of(const std::exception_ptr& failure) {
  static_assert(sizeof(std::exception_ptr) == sizeof(void*));
  void* object;
  std::memcpy(&object, &failure, sizeof object);  // NOLINT(bugprone-undefined-memory-manipulation): reads, never copies
  return object;
}

// Leaves the stack for good.
[[noreturn]] void leave(FiberCore* core) {
  FiberCore* parent = core->parent;
  fp_words_switch(core, parent);
  switch_fiber(*core, *parent, core, true);
  std::abort();
}

}  // namespace

void retain(FiberCore* core) noexcept {
  core->refs.fetch_add(1, std::memory_order_relaxed);
}

FiberCore* create_core(std::size_t closure_size, std::size_t closure_align, const Mask& mask, std::size_t stack_size,
                       bool scoped) {
  FiberCore* self = current_core();
  Carrier& carrier = *self->root->carrier;
  FiberCore* core = take_core(carrier, stack_size);
  const auto end = reinterpret_cast<std::uintptr_t>(core);
  const std::uintptr_t closure = (end - closure_size) & ~(closure_align - 1);
  core->closure = reinterpret_cast<void*>(closure);
  core->ctx = make_context(reinterpret_cast<void*>(closure & ~std::uintptr_t{15}));
  core->mask = mask.mask;
  core->pass = mask.pass;
  core->ends = mask.ends;
  core->catches = catches_of(mask);
  core->place = self->depth() < max_depth ? (self->place + place_one_deeper) | core->catches : 0;  // 0: resume asks
  core->parent = nullptr;
  core->child = nullptr;
  core->root = self->root;
  core->eh = {};
  core->claim.favour(self->root_number());
  core->id = fresh_id(carrier);
  core->state = State::new_;
  core->deliver = deliver_value;
  core->flags = 0;
  core->last.bits = sig::ok;
  core->innermost = core;
  core->last_child_id = 0;
  core->refs.store(1, std::memory_order_relaxed);
  core->drop = nullptr;
  open_tool_state(core->tools, core->slot);
  if (mask.env != Env::none) inherit_bindings(self, core, mask.env, scoped);
  if (core->catches & above_interrupt) [[unlikely]]
    listen_for_interrupts(self->root);
  return core;
}

void describe_core(FiberCore* core, const FiberOptions& options) {
  core->site = options.site;
  if (!options.name.empty()) {
    const std::size_t length = std::min(options.name.size(), sizeof core->name - 1);
    std::memcpy(core->name, options.name.data(), length);
    core->name[length] = '\0';
  }
  if (options.fp_words) {
    core->flags |= flag_fp;
    core->catches |= above_fp;
    fp_words_default(core->fp_words);
  }
}

namespace {

// Did it live so plainly that what create_core does not write is still blank? [CAR-1]
bool blank(const FiberCore& core) {
  return core.state == State::dead && (core.flags & ~flag_shares) == 0 && core.failure == nullptr &&
         core.bindings == nullptr && core.name[0] == '\0';
}

void free_core(FiberCore* core) noexcept {
  if (blank(*core)) [[likely]] {
    core->last.value.reset();
    core->shared_with = nullptr;
    core->site = {};
  } else {
    const Slot slot = core->slot;
    core->~FiberCore();
    new (core) FiberCore;
    core->slot = slot;
  }
  if (option_watermark) erase_stack(core->slot.floor(), reinterpret_cast<std::uintptr_t>(core));
  give_core(*current_core()->root->carrier, core);
}

void release_memory(FiberCore* core) noexcept {
  if (core->memory.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  release_bindings(core->bindings);
  free_core(core);
}

[[gnu::noinline]] void release_extras(FiberCore* core) noexcept {
  if (core->user_destroy != nullptr && core->user_slot != nullptr) core->user_destroy(core->user_slot);
  // A chain of ended fibers may be thousands long: taken apart link by link, not by recursion.
  for (FiberCore* kept = std::exchange(core->kept, nullptr); kept != nullptr;) {
    FiberCore* next = kept->refs.load(std::memory_order_acquire) == 1 ? std::exchange(kept->kept, nullptr) : nullptr;
    release(kept);
    kept = next;
  }
  stop_sharing(core);
  if (core->bindings != nullptr && !(core->flags & flag_lent)) release_bindings(core->bindings);
  if (core->pending_trace != nullptr) drop_trace(core);
}

}  // namespace

void stop_sharing(FiberCore* fiber) noexcept {
  FiberCore* holder = std::exchange(fiber->shared_with, nullptr);
  if (fiber->flags & flag_keeps) release_memory(holder);
  fiber->flags &= static_cast<std::uint8_t>(~(flag_shares | flag_keeps));
}

void abandon_core(FiberCore* core) noexcept {
  core->id = 0;  // before anything of the user's runs: last_child() must not find it any more
  if ((core->flags & flag_extras) || core->bindings != nullptr) release_extras(core);
  close_tool_state(core->tools);
  if (core->flags & flag_lent) [[unlikely]] {
    core->last = Event{};
    core->failure = nullptr;
    release_memory(core);
    return;
  }
  free_core(core);
}

void destroy_core(FiberCore* core) noexcept {
  if (core->claim.held()) {
    // It runs, or is frozen inside a chain: whoever is in resume() of it gets it back and destroys it, unless by then
    // there are handles again (it may have made one to itself).
    core->refs.store(0, std::memory_order_relaxed);
    core->flags |= flag_detached;
    return;
  }
  if (!finished(*core)) {
    core->flags &= static_cast<std::uint8_t>(~flag_detached);
    core->refs.store(1, std::memory_order_relaxed);  // ours: handles made while it unwinds do not destroy it again
    if (core->state == State::new_) {
      drop_closure_of(core);
    } else {
      try {
        drive(current_core(), core, ClaimKind::refused, Payload(), deliver_kill);
      } catch (...) {
        // The end of a killed fiber, whatever it threw at last, concerns nobody any more.
      }
    }
    if (core->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;  // and they may stay, with a fiber that ended
  }
  abandon_core(core);
}

void record_end(FiberCore* fiber, std::exception_ptr failure) {
  const std::type_info* type = failure.__cxa_exception_type();
  fiber->end_event = nullptr;
  if ((fiber->flags & flag_killed) || *type == typeid(Unwind)) {
    if (*type != typeid(Unwind)) failure = std::make_exception_ptr(Unwind{});
    fiber->last = Event{sig::abort, Payload(failure)};
    fiber->state = State::error;
  } else if (*type == typeid(SignalError)) {
    fiber->end_event = &static_cast<SignalError*>(object_of(failure))->event;
    fiber->last = Event{};
    fiber->state = fiber->end_event->bits.contains(sig::error) ? State::error : State::dead;
  } else if (*type == typeid(MuffledSignal)) {
    fiber->last = Event{sig::abort, Payload(failure)};
    fiber->state = State::error;
  } else if (*type == typeid(Halt)) {
    fiber->last = Event{sig::halt | sig::terminal, Payload(failure)};
    fiber->state = State::error;
  } else {
    fiber->last = Event{sig::error, Payload(failure)};
    fiber->state = State::error;
  }
  fiber->failure = std::move(failure);
}

namespace {

// The body has returned. Its result waits apart: these destructors may emit, which needs the place where it lies.
void end_body(FiberCore* core) {
  if (core->drop != nullptr || core->kept != nullptr) {
    Payload result = std::move(core->last.value);
    drop_closure_of(core);
    if (core->kept != nullptr) release(std::exchange(core->kept, nullptr));
    core->last.value = std::move(result);
  }
  if (core->flags & flag_killed) {
    record_end(core, std::make_exception_ptr(Unwind{}));
  } else {
    core->last.bits = sig::ok;
    core->state = State::dead;
  }
}

// Of the exception being handled; one that is not C++'s has no exception_ptr.
std::exception_ptr current_failure() {
  std::exception_ptr failure = std::current_exception();
  if (failure == nullptr) failure = std::make_exception_ptr(std::runtime_error("an exception that is not C++'s"));
  return failure;
}

}  // namespace

#if !defined(WEFT_CONTEXT_BOOST)

extern "C" {

// The first C++ code on a fresh stack, called by weft_fiber_entry.
[[noreturn]] void weft_fiber_run(FiberCore* core) {
  tools_after_switch(core->tools);
  core->run(core);
  end_body(core);
  leave(core);
}

// An exception left the body. The frames below are gone; the trace was taken while they stood.
[[noreturn]] void weft_fiber_failed(FiberCore* core, void* unwind_header) noexcept {
  __cxxabiv1::__cxa_begin_catch(unwind_header);
  std::exception_ptr failure = current_failure();
  __cxxabiv1::__cxa_end_catch();
  drop_closure_of(core);
  attach_trace(core, failure);
  record_end(core, std::move(failure));
  leave(core);
}

extern char weft_fiber_landing[];

_Unwind_Reason_Code weft_entry_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class /*language*/,
                                           _Unwind_Exception* exception, _Unwind_Context* context) {
  if (version != 1) return _URC_FATAL_PHASE1_ERROR;
  if (actions & _UA_FORCE_UNWIND) return _URC_CONTINUE_UNWIND;
  if (actions & _UA_SEARCH_PHASE) {
    FiberCore* core = current_core();
    if (!(core->flags & flag_killed) && !is_untraced(exception)) take_trace(core);
    return _URC_HANDLER_FOUND;
  }
  if (actions & _UA_HANDLER_FRAME) {
    _Unwind_SetGR(context, __builtin_eh_return_data_regno(0), reinterpret_cast<std::uintptr_t>(exception));
    _Unwind_SetIP(context, reinterpret_cast<std::uintptr_t>(weft_fiber_landing));
    return _URC_INSTALL_CONTEXT;
  }
  return _URC_CONTINUE_UNWIND;
}

}  // extern "C"

#else

void boost_entry(BoostTransfer transfer) {
  auto* arrived = static_cast<BoostSwitch*>(transfer.data);
  arrived->from->sp = transfer.context;
  auto* core = static_cast<FiberCore*>(arrived->arg);
  std::exception_ptr failure;
  try {
    tools_after_switch(core->tools);
    core->run(core);
    end_body(core);
  } catch (...) {
    failure = current_failure();
  }
  if (failure != nullptr) {
    drop_closure_of(core);
    record_end(core, std::move(failure));
    failure = nullptr;
  }
  leave(core);
}
#endif

}  // namespace weft::inline v0::detail
