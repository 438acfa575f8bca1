// SPDX-License-Identifier: MIT
// Looking at fibers: status, links, stacks.
#include "fiber/carrier.hpp"
#include "fiber/chain.hpp"
#include "fiber/watermark.hpp"
#include "weft/fiber.hpp"

namespace weft::inline v0 {

using namespace detail;

const char* to_string(Status status) {
  switch (status) {
    case Status::dead:
      return "dead";
    case Status::error:
      return "error";
    case Status::debug:
      return "debug";
    case Status::pending:
      return "pending";
    case Status::user0:
      return "user0";
    case Status::user1:
      return "user1";
    case Status::user2:
      return "user2";
    case Status::user3:
      return "user3";
    case Status::user4:
      return "user4";
    case Status::user5:
      return "user5";
    case Status::user6:
      return "user6";
    case Status::user7:
      return "user7";
    case Status::interrupted:
      return "interrupted";
    case Status::suspended:
      return "suspended";
    case Status::new_:
      return "new";
    case Status::alive:
      return "alive";
  }
  return "?";
}

const char* to_string(State state) {
  switch (state) {
    case State::new_:
      return "new";
    case State::alive:
      return "alive";
    case State::suspended:
      return "suspended";
    case State::dead:
      return "dead";
    case State::error:
      return "error";
  }
  return "?";
}

Status status_of(SignalSet bits, bool ended) {
  if (bits.contains(sig::error)) return Status::error;
  if (bits.contains(sig::debug)) return Status::debug;
  if (bits.contains(sig::interrupt)) return Status::interrupted;
  if (bits.overlaps(sig::await | sig::io | sig::wait)) return Status::suspended;
  for (unsigned n = 0; n < 8; ++n)
    if (bits.contains(sig::user(n))) return static_cast<Status>(static_cast<unsigned>(Status::user0) + n);
  return ended ? Status::dead : Status::pending;
}

bool resumable(Status status) {
  return status != Status::dead && status != Status::error && !(status >= Status::user0 && status <= Status::user4);
}

State Fiber::state() const {
  const FiberCore& core = checked();
  return frozen(core) ? State::suspended : core.state;
}

Status Fiber::status() const {
  switch (state()) {
    case State::new_:
      return Status::new_;
    case State::alive:
      return Status::alive;
    case State::suspended:
      return status_of(event_of(*core_).bits, false);
    case State::dead:
    case State::error:
      return status_of(event_of(*core_).bits, true);
  }
  return Status::dead;
}

bool Fiber::can_resume() const {
  const State now = state();
  return now == State::new_ || now == State::suspended;
}

const Event& Fiber::last() const {
  return event_of(checked());
}

Event Fiber::take() {
  auto& event = const_cast<Event&>(event_of(checked()));
  return Event{event.bits, std::move(event.value)};
}

namespace {

Fiber handle_of(FiberCore* core) {
  if (core == nullptr || (core->flags & flag_root)) return {};
  retain(core);
  return Fiber::adopt(core);
}

}  // namespace

Fiber Fiber::child() const {
  const FiberCore& core = checked();
  if (core.child != nullptr) return handle_of(core.child);
  return detail::finished(core) ? handle_of(core.kept) : Fiber();
}

Fiber Fiber::last_child() const {
  const FiberCore& core = checked();
  if (core.last_child == nullptr || core.last_child->id != core.last_child_id) return {};
  return handle_of(core.last_child);
}

Fiber Fiber::parent() const {
  return handle_of(checked().parent);
}

std::size_t Fiber::stack_size() const {
  const FiberCore& core = checked();
  return reinterpret_cast<std::uintptr_t>(core.closure) - core.slot.floor();
}

std::size_t Fiber::stack_high_water() const {
  const FiberCore& core = checked();
  const auto top = reinterpret_cast<std::uintptr_t>(core.closure) & ~std::uintptr_t{7};
  return top - deepest_word(core.slot.floor(), top);
}

void Fiber::set_user_slot(void* slot, void (*destroy)(void*)) {
  checked();
  core_->user_slot = slot;
  core_->user_destroy = destroy;
  core_->flags |= flag_extras;
}

void for_each_fiber(void (*visit)(const LiveFiber&, void* context), void* context) {
  struct Visit {
    void (*visit)(const LiveFiber&, void*);
    void* context;
  } data{visit, context};
  for_each_slot(
      [](Slot slot, void* raw) {
        const FiberCore* core = core_of(slot);
        if (core->id == 0) return;
        LiveFiber live{core->id, core->name, core->state, nullptr, nullptr, core->user_slot};
        const bool is_frozen = frozen(*core);
        if (is_frozen) live.state = State::suspended;
        // A fiber that waits in resume() is alive and yet does not run; one that never ran has its closure there.
        const bool waits = core->state == State::alive && core->child != nullptr;
        if (core->state == State::new_ || core->state == State::suspended || waits) {
          live.stack_low = core->ctx.sp;
          live.stack_high = reinterpret_cast<const void*>(slot.ceiling());
        }
        auto* d = static_cast<Visit*>(raw);
        d->visit(live, d->context);
      },
      &data);
}

}  // namespace weft::inline v0
