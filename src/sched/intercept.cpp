// SPDX-License-Identifier: MIT
#include "sched/intercept.hpp"

#include <stdexcept>
#include <system_error>
#include <utility>

#include "fiber/bindings.hpp"
#include "sched/io_door.hpp"
#include "sched/runtime_core.hpp"
#include "sched/task_end.hpp"
#include "weft/dyn.hpp"
#include "weft/intercept.hpp"
#include "weft/io.hpp"
#include "weft/task.hpp"

namespace weft::inline v0 {
namespace detail {

const char io_seal_key = 0;

namespace {

const Binding* find_in(const FiberCore* fiber, const void* key) {
  const FiberCore* holder = fiber->shared_with != nullptr ? fiber->shared_with : fiber;
  for (const Binding* b = holder->bindings; b != nullptr; b = b->next)
    if (b->key == key) return b;
  return nullptr;
}

// The nearest one along the chain; null: none. One that was lifted for its own handler counts as found.
IoSealRef seal_here(const FiberCore* fiber) {
  for (; fiber != nullptr; fiber = fiber->parent)
    if (const Binding* b = find_in(fiber, &io_seal_key)) return b->value.empty() ? nullptr : b->value.as<IoSealRef>();
  return nullptr;
}

// A seal or a door is bound, maybe.
bool is_bound(FiberCore* fiber) {
  for (; fiber != nullptr; fiber = fiber->parent)
    if (bindings_holder(fiber)->bindings != nullptr) return true;
  return false;
}

// The innermost fiber from here up whose resumer catches what I/O emits.
FiberCore* catching(FiberCore* fiber) {
  for (; fiber != nullptr; fiber = fiber->parent)
    if (fiber->catches & above_io) return fiber;
  return nullptr;
}

// Of the fiber that intercept() made; null: another one.
IoSealRef seal_of(const FiberCore* fiber) {
  for (const Binding* b = fiber->bindings; b != nullptr; b = b->next)
    if (b->key == &io_seal_key && !b->value.empty() && b->value.as<IoSealRef>()->fiber == fiber->id)
      return b->value.as<IoSealRef>();
  return nullptr;
}

IoResult ask_above(FiberCore* self, SignalSet bits, IoRequest& request) {
  const Payload answer = emit_slow(self, bits, Payload::ref(request), true);
  if (const IoResult* result = answer.get_if<IoResult>()) return *result;
  throw std::logic_error(std::string("the I/O request ") + to_string(request.op) +
                         " was answered by something that is not an IoResult");
}

// In the task that asks, with the next one out in force meanwhile.
IoResult call_handler(const IoSealRef& seal, IoRequest& request) {
  Payload outer;
  if (seal->outer != nullptr) outer = Payload::make<IoSealRef>(seal->outer);
  IoResult result;
  with_dyns([&] { result = seal->handler(request); }, DynBinding{&io_seal_key, std::move(outer)});
  return result;
}

}  // namespace

IoSealRef make_seal(IoHandler handler) {
  auto seal = std::make_shared<IoSeal>();
  seal->handler = std::move(handler);
  seal->outer = seal_here(current_core());
  return seal;
}

void answer_requests(Fiber& fiber, IoSeal& seal) {
  seal.fiber = fiber.id();
  const Event* event = &fiber.resume();
  while (!fiber.finished()) {
    IoRequest* const* request = event->value.get_if<IoRequest*>();
    if (request == nullptr) {  // an io signal of the program's own
      event = &propagate(fiber);
      continue;
    }
    IoResult result;
    std::exception_ptr failure;
    try {
      result = (*request)->op == IoOp::task ? IoResult() : seal.handler(**request);
    } catch (...) {
      failure = std::current_exception();
    }
    event = failure != nullptr ? &fiber.cancel(Payload(std::move(failure))) : &fiber.resume(result);
  }
}

void ask_to_spawn(FiberCore* self) {
  const FiberCore* fiber = catching(self);
  // One with a handler is carried by what is spawned; one that only catches yield does not care.
  if (fiber == nullptr || seal_of(fiber) != nullptr || !fiber->mask.contains(sig::io)) return;
  IoRequest request;
  request.op = IoOp::task;
  const IoResult answer = ask_above(self, sig::io, request);
  if (!answer.ok()) throw std::system_error(answer.error(), "spawn");
}

void may_spawn(TaskCore* task) {
  try {
    may_spawn();
  } catch (...) {
    abandon_task(task);
    drop_handle(task);
    throw;
  }
}

Binding* inherited_bindings(FiberCore* self) {
  Binding* head = retain_bindings(bindings_holder(self)->bindings);
  if (!(self->above() & above_io)) [[likely]]
    return head;
  // [SEAL-1] The innermost handler above, if the bindings do not have it as their newest.
  for (FiberCore* fiber = catching(self); fiber != nullptr; fiber = catching(fiber->parent)) {
    IoSealRef seal = seal_of(fiber);
    if (seal == nullptr) continue;
    const Binding* newest = find_in(self, &io_seal_key);
    if (newest != nullptr && !newest->value.empty() && newest->value.as<IoSealRef>() == seal) break;
    auto* node = new Binding;
    node->key = &io_seal_key;
    node->value = Payload::make<IoSealRef>(std::move(seal));
    node->next = head;
    return node;
  }
  return head;
}

}  // namespace detail

using namespace detail;

namespace {

[[gnu::noinline]] IoResult perform_by_others(FiberCore* self, IoRequest& request) {
  if (self->above() & above_io) return ask_above(self, sig::yield | sig::io, request);
  if (const IoSealRef seal = seal_here(self)) return call_handler(seal, request);
  return current_io().submit(request);
}

}  // namespace

// Nobody is asked and nothing is bound, most likely: then it leaves no frame on the stack.
IoResult perform_io(IoRequest& request) {
  FiberCore* self = current_core();
  const WorkerCore* worker = self->root->worker;
  if ((self->above() & above_io) || worker == nullptr || is_bound(self) || worker->runtime->virtual_time != nullptr)
      [[unlikely]]
    return perform_by_others(self, request);
  return io_submit(*worker->runtime, request);
}

}  // namespace weft::inline v0
