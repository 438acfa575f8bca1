// SPDX-License-Identifier: MIT
// What: Fiber, the one primitive: coroutine, generator, error boundary, dynamic scope. And the verbs that act on the
// running one: emit, yield, propagate, checkpoint.
//
//   weft::Fiber f([] { int got = weft::yield(1).as<int>(); return got + 1; });
//   f.resume().value.as<int>();                    // 1: suspended at the yield
//   f.resume(41).value.as<int>();                  // 42: finished
//
// A handle is shared: copies refer to the same fiber, and destroying the last one kills a fiber that is suspended.
// No scheduler is needed: a fiber runs on the thread that resumes it.
//
// Threads: a handle may be copied and resumed on any thread; two at once is an error for the second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/fiber_core.hpp"
#include "weft/event.hpp"
#include "weft/fiber_error.hpp"
#include "weft/mask.hpp"

namespace weft::inline v0 {

// Janet's sixteen.
enum class Status : std::uint8_t {
  dead,
  error,
  debug,
  pending,
  user0,
  user1,
  user2,
  user3,
  user4,
  user5,
  user6,
  user7,
  interrupted,
  suspended,
  new_,
  alive,
};
const char* to_string(Status status);
const char* to_string(State state);
// Which status a stop with these bits is shown as: error > debug > interrupt > await, io, wait > userN > yield.
Status status_of(SignalSet bits, bool finished);
// Janet's rule: everything but dead, error and user0-4.
bool resumable(Status status);

struct FiberOptions {
  std::string_view name = {};  // copied; the first 23 bytes are kept
  std::size_t stack_size = 0;  // bytes of usable stack; 0: WEFT_STACK_SIZE or 128 KiB
  bool fp_words = false;       // keep rounding mode and exception masks of its own
  std::source_location site = std::source_location::current();
};

class Fiber {
 public:
  Fiber() = default;

  // body: R() or R(Payload), where the argument is what the first resume passes; R may be void or anything that a
  // Payload takes.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Fiber> &&
             (std::is_invocable_v<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&, Payload>))
  explicit Fiber(F&& body, const Mask& mask = {}, const FiberOptions& options = {});

  Fiber(const Fiber& other) noexcept : core_(other.core_) {
    if (core_ != nullptr) detail::retain(core_);
  }
  Fiber(Fiber&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  Fiber& operator=(Fiber other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  ~Fiber() {
    if (core_ != nullptr) detail::release(core_);
  }

  // Runs it until it returns or a signal of it is caught by its mask, and returns that event, which lies in the fiber:
  // valid until it is resumed again or destroyed. Signals that its mask does not catch go on to whoever resumed the
  // caller; an error that ends it is rethrown here as the original exception.
  [[gnu::always_inline]] const Event& resume() { return resume_with(detail::Nothing{}); }
  // The value may be a part of the event that the fiber gave last: it is copied before that event goes.
  template <class T>
  [[gnu::always_inline]] const Event& resume(T&& value) {
    if constexpr (detail::fits_word<std::decay_t<T>>) {
      return resume_with(std::decay_t<T>(std::forward<T>(value)));
    } else if constexpr (std::is_same_v<std::remove_cvref_t<T>, Payload>) {
      return resume_with(std::forward<T>(value));
    } else {
      return resume_with(Payload(std::forward<T>(value)));
    }
  }

  // Delivers an error where it, or its deepest pending child, is suspended; handlers there run. Otherwise like resume.
  // A payload that holds an exception_ptr arrives as that exception, any other as SignalError.
  const Event& cancel(Payload error);

  // Unwinds it now, deepest child first: destructors run, protect and defer bodies do not.
  void kill();

  // The event of its last stop. For a frozen fiber, the one of the signal that froze it.
  const Event& last() const;
  // Moves that event out.
  Event take();

  Status status() const;
  State state() const;
  bool can_resume() const;
  bool finished() const { return state() >= State::dead; }

  SignalSet mask() const { return checked().mask; }
  SignalSet pass() const { return checked().pass; }
  SignalSet ends() const { return checked().ends; }
  std::uint64_t id() const { return checked().id; }
  std::string_view name() const { return checked().name; }
  const std::source_location& site() const { return checked().site; }

  // The child it is waiting for: running, or frozen with it, or the finished one whose event ended it.
  Fiber child() const;
  // The one it resumed last, if that still exists.
  Fiber last_child() const;
  // Who waits in resume for it. Does not keep that fiber alive while you do not hold the result.
  Fiber parent() const;

  std::size_t stack_size() const;
  // Bytes between the top of its stack and the deepest non-zero word on it: an upper bound, since earlier fibers on
  // the same stack leave traces (see WEFT_STACK_WATERMARK).
  std::size_t stack_high_water() const;
  // Would an I/O request, or a wait, of this fiber be seen by a fiber above? As of its last resume.
  bool io_caught() const { return checked().above() & detail::above_io; }
  bool wait_caught() const { return checked().above() & detail::above_wait; }
  // Yields that destructors did while it was being killed; they returned an empty payload at once.
  std::uint32_t swallowed_yields() const { return checked().swallowed_yields; }

  // One word for languages on top, given to destroy(slot) when the fiber is destroyed.
  void* user_slot() const { return checked().user_slot; }
  void set_user_slot(void* slot, void (*destroy)(void*) = nullptr);

  explicit operator bool() const noexcept { return core_ != nullptr; }
  friend bool operator==(const Fiber& a, const Fiber& b) noexcept { return a.core_ == b.core_; }

  // For the library's own floors.
  static Fiber adopt(detail::FiberCore* core) noexcept {
    Fiber fiber;
    fiber.core_ = core;
    return fiber;
  }
  detail::FiberCore* core() const noexcept { return core_; }

 private:
  template <class T>
  [[gnu::always_inline]] const Event& resume_with(T&& value) {
    detail::FiberCore* self = detail::current_core();
    if (core_ != nullptr && core_->claim.take_biased(self->root_number())) [[likely]]
      return detail::resume_claimed(self, core_, std::forward<T>(value));
    return detail::drive(self, core_, detail::ClaimKind::refused, detail::to_payload(std::forward<T>(value)),
                         detail::deliver_value);
  }
  const detail::FiberCore& checked() const;
  detail::FiberCore* core_ = nullptr;
};

namespace detail {

template <class D>
void run_closure(FiberCore* core) {
  D& body = *std::launder(static_cast<D*>(core->closure));
  if constexpr (std::is_invocable_v<D&, Payload>) {
    using R = std::invoke_result_t<D&, Payload>;
    Payload argument(std::move(core->last.value));  // apart, for a body that takes it by reference
    if constexpr (std::is_void_v<R>) {
      body(std::move(argument));
    } else {
      core->last.value = Payload(body(std::move(argument)));
    }
  } else {
    core->last.value.reset();
    using R = std::invoke_result_t<D&>;
    if constexpr (std::is_void_v<R>) {
      body();
    } else {
      core->last.value = Payload(body());
    }
  }
}

template <class D>
void drop_closure(FiberCore* core) {
  std::launder(static_cast<D*>(core->closure))->~D();
}

void describe_core(FiberCore* core, const FiberOptions& options);
void abandon_core(FiberCore* core) noexcept;

template <class F>
FiberCore* make_core(F&& body, const Mask& mask, std::size_t stack_size, bool scoped) {
  using D = std::decay_t<F>;
  static_assert(sizeof(D) <= 16384, "the fiber's closure lies on its stack: capture large objects by reference");
  static_assert(alignof(D) <= 4096);
  FiberCore* core = create_core(sizeof(D), alignof(D), mask, stack_size, scoped);
  if constexpr (std::is_nothrow_constructible_v<D, F>) {
    ::new (core->closure) D(std::forward<F>(body));
  } else {
    try {
      ::new (core->closure) D(std::forward<F>(body));
    } catch (...) {
      abandon_core(core);
      throw;
    }
  }
  core->run = &run_closure<D>;
  if constexpr (!std::is_trivially_destructible_v<D>) core->drop = &drop_closure<D>;
  return core;
}

}  // namespace detail

template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Fiber> &&
           (std::is_invocable_v<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&, Payload>))
Fiber::Fiber(F&& body, const Mask& mask, const FiberOptions& options)
    : core_(detail::make_core(std::forward<F>(body), mask, options.stack_size, false)) {
  detail::describe_core(core_, options);
}

// Raises a signal. If a fiber from here up to the next boundary catches it and nothing on the way ends by it, the
// caller is suspended and emit returns what it is resumed with. Otherwise it throws: SignalError (or the exception in
// the payload) if the signal ends a fiber, UncaughtSignal if nobody wants it, EmitError if the bits are not yours.
template <class T>
[[gnu::always_inline]] inline Payload emit(SignalSet bits, T&& value) {
  return detail::emit_from(detail::current_core(), bits, std::forward<T>(value));
}
[[gnu::always_inline]] inline Payload emit(SignalSet bits) {
  return detail::emit_from(detail::current_core(), bits, detail::Nothing{});
}

// Suspends the caller and hands a value to whoever catches yield.
template <class T>
[[gnu::always_inline]] inline Payload yield(T&& value) {
  return detail::emit_from(detail::current_core(), sig::yield, std::forward<T>(value));
}
[[gnu::always_inline]] inline Payload yield() {
  return detail::emit_from(detail::current_core(), sig::yield, detail::Nothing{});
}

// Re-raises the event of a child as if its mask had not caught it: with the child's own bits, keeping the link to it,
// so that traces show its frames. A finished child's event is thrown. For a suspended child it returns, once the chain
// is resumed, the child's next caught event.
const Event& propagate(Fiber& child);

// The running fiber; empty on a plain thread.
Fiber current_fiber();
bool in_fiber();

// A place where a pending interrupt is taken; costs a load and a branch. None is, here or elsewhere, while a stack of
// the chain unwinds or a cleanup runs, unless a fiber inside of that catches it: it stays pending.
void checkpoint();

// Interrupts the task that made it, or whatever runs on the plain thread that did: each call raises one interrupt
// signal there, at its next checkpoint, emit, resume or cancel.
class Interrupter {
 public:
  void interrupt() const noexcept {
    count_->fetch_add(1, std::memory_order_seq_cst);
    root_->alert.fetch_or(detail::alert_interrupt, std::memory_order_release);
  }

 private:
  friend Interrupter interrupter();
  explicit Interrupter(detail::FiberCore* root) : root_(root), count_(&root->interrupts()) {}
  detail::FiberCore* root_;
  seam::Atomic<std::uint32_t>* count_;
};
// Of the calling task or thread, which must outlive every use.
Interrupter interrupter();

// The bound on nested resumes: WEFT_MAX_DEPTH or 16384.
std::uint32_t recursion_limit();
void set_recursion_limit(std::uint32_t limit);

// Visits every fiber of the process that has not been destroyed, with the saved part of its stack (empty while it
// runs). For collectors and dumps: nothing else may run fibers meanwhile.
struct LiveFiber {
  std::uint64_t id;
  std::string_view name;
  State state;
  const void* stack_low;
  const void* stack_high;
  void* user_slot;
};
void for_each_fiber(void (*visit)(const LiveFiber&, void* context), void* context);

}  // namespace weft::inline v0
