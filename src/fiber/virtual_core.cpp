// SPDX-License-Identifier: MIT
#include "fiber/virtual_core.hpp"

#include <cxxabi.h>
#include <unwind.h>

#include <stdexcept>
#include <utility>

#include "fiber/bindings.hpp"
#include "fiber/failure.hpp"
#include "fiber/fp_words.hpp"
#include "fiber/tool_hooks.hpp"

namespace weft::inline v0::detail {
namespace {

// [VC-1] Threads count upwards from 1 with the top bit clear; see open_carrier.
std::uint32_t number_of(Slot slot) {
  return std::uint32_t{1} << 31 | static_cast<std::uint32_t>(slot.base >> min_slot_shift);
}
static_assert(address_bits - min_slot_shift <= 30);  // never Claim::revoking

}  // namespace

FiberCore* create_virtual_core(Carrier& carrier, std::size_t stack_size, void (*loop)(FiberCore*)) {
  FiberCore* core = take_core(carrier, stack_size);
  const std::uint32_t number = number_of(core->slot);
  core->closure = core;
  core->ctx = make_context(core);
  core->mask = sig::all;
  core->pass = {};
  core->ends = {};
  core->catches = 0;
  core->place = Place{number} << place_root_shift;
  core->parent = nullptr;
  core->child = nullptr;
  core->root = core;
  core->eh = {};
  core->claim.favour(number);
  (void)core->claim.take_owned();
  core->id = fresh_id(carrier);
  core->state = State::alive;
  core->deliver = deliver_value;
  core->flags = flag_root;
  core->last.bits = sig::ok;
  core->innermost = core;
  core->last_child_id = 0;
  core->refs.store(1, std::memory_order_relaxed);
  core->drop = nullptr;
  core->run = loop;
  fp_words_default(core->fp_words);
  open_tool_state(core->tools, core->slot);
  return core;
}

void destroy_virtual_core(Carrier& carrier, FiberCore* core) noexcept {
  const Slot slot = core->slot;
  if (core->listens_to != nullptr) core->listens_to->forget(*core);  // [INT-3]
  core->claim.give_up_biased();
  close_tool_state(core->tools);
  if (core->pending_trace != nullptr) drop_trace(core);
  core->~FiberCore();
  new (core) FiberCore;
  core->slot = slot;
  give_core(carrier, core);
}

#if !defined(WEFT_CONTEXT_BOOST)

extern "C" {

extern char weft_guarded_landing[];

_Unwind_Reason_Code weft_guard_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class /*language*/,
                                           _Unwind_Exception* exception, _Unwind_Context* context) {
  if (version != 1) return _URC_FATAL_PHASE1_ERROR;
  if (actions & _UA_FORCE_UNWIND) return _URC_CONTINUE_UNWIND;
  if (actions & _UA_SEARCH_PHASE) {
    if (!is_untraced(exception)) take_trace(current_core());
    return _URC_HANDLER_FOUND;
  }
  if (actions & _UA_HANDLER_FRAME) {
    _Unwind_SetGR(context, __builtin_eh_return_data_regno(0), reinterpret_cast<std::uintptr_t>(exception));
    _Unwind_SetIP(context, reinterpret_cast<std::uintptr_t>(weft_guarded_landing));
    return _URC_INSTALL_CONTEXT;
  }
  return _URC_CONTINUE_UNWIND;
}

}  // extern "C"

std::exception_ptr take_exception(_Unwind_Exception* exception) noexcept {
  __cxxabiv1::__cxa_begin_catch(exception);
  std::exception_ptr failure = std::current_exception();
  if (failure == nullptr) failure = std::make_exception_ptr(std::runtime_error("an exception that is not C++'s"));
  __cxxabiv1::__cxa_end_catch();
  attach_trace(current_core(), failure);
  return failure;
}

#endif

std::exception_ptr guarded_run(void (*body)(void*), void* argument) noexcept {
  struct Call {
    void (*body)(void*);
    void* argument;
  } call{body, argument};
  constexpr TaskAct* act = [](TaskCore*, void* passed) {
    const Call& mine = *static_cast<const Call*>(passed);
    mine.body(mine.argument);
  };
  return guarded_call(nullptr, &call, &act);
}

Boundary::Boundary(FiberCore* self, Binding* bindings) noexcept
    : self_(self),
      child_(std::exchange(self->child, nullptr)),
      bindings_(std::exchange(self->bindings, bindings)),
      shared_with_(std::exchange(self->shared_with, nullptr)),
      is_inner_(!(self->flags & flag_root)) {
  ThreadEh* thread = self->root->thread_eh;
  eh_ = {thread->caught, thread->uncaught, 0};
  *thread = {nullptr, 0};
  if (is_inner_) [[unlikely]] {
    inner_ = {self->mask, self->pass, self->ends, self->parent, self->place, self->flags};
    self->mask = sig::all;
    self->pass = self->ends = {};
    self->parent = nullptr;
    self->place = self->root->place;
    self->flags = flag_root;
  }
}

Boundary::~Boundary() {
  // Maybe on another thread than before: the task may have parked.
  FiberCore* self = self_;
  *self->root->thread_eh = {eh_.caught, eh_.uncaught};
  if (is_inner_) [[unlikely]] {
    self->mask = inner_.mask;
    self->pass = inner_.pass;
    self->ends = inner_.ends;
    self->parent = inner_.parent;
    self->place = inner_.place;
    self->flags = static_cast<std::uint8_t>(inner_.flags | (self->flags & flag_extras));
  }
  self->shared_with = shared_with_;
  if (self->bindings != nullptr) [[unlikely]]
    release_bindings(self->bindings);
  self->bindings = bindings_;
  self->child = child_;
}

}  // namespace weft::inline v0::detail
