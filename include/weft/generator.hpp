// SPDX-License-Identifier: MIT
// What: Generator<T>, a fiber that yields values of one type, as an input range.
//
//   for (int x : weft::Generator<int>([] { for (int i = 0;; ++i) weft::yield(i); }) | std::views::take(3)) ...
//
// `++` is lazy: it marks the element as consumed, and the body runs at the next `*` or comparison. So take(3) pulls
// three. Errors of the body leave the iteration; destroying a generator half way unwinds its body.
// The body may call anything that yields; its waits and I/O go through to whoever runs the generator.
//
// Threads: one owner; it may move to another thread between two elements unless it shares bindings (it does: letter i).
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <ranges>
#include <utility>

#include "weft/fiber.hpp"

namespace weft::inline v0 {

namespace detail {
inline constexpr Mask generator_mask = Mask("yi");

// One owner, no shared handles: the claim needs no atomic read-modify-write.
[[gnu::always_inline]] inline const Event& resume_owned(FiberCore* fiber) {
  FiberCore* self = current_core();
  if (!fiber->claim.take_owned()) [[unlikely]]
    return drive(self, fiber, ClaimKind::refused, Payload(), deliver_value);
  return resume_claimed(self, fiber, Nothing{});
}

// The same for a fiber whose value is empty and that most likely yields at once again. Returns it as it came back in a
// register from the other side, so that the next element need not wait until this frame's copy of the pointer can be
// read (the frame pointer comes from memory after a switch); null if it did not simply yield.
[[gnu::always_inline]] inline FiberCore* resume_again(FiberCore* fiber) {
  FiberCore* self = current_core();
  const Place place = (self->place + place_one_deeper) | fiber->catches;
  if (fiber->state == State::alive || fiber->place != place || self->root->alert.load(std::memory_order_relaxed) != 0 ||
      !fiber->claim.take_owned()) [[unlikely]] {
    resume_owned(fiber);
    return nullptr;
  }
  fiber->state = State::alive;
  self->child = fiber;
  self->last_child = fiber;
  self->last_child_id = fiber->id;
  fiber->parent = self;
  auto* from = static_cast<FiberCore*>(switch_fiber(*self, *fiber, fiber));
  FiberCore* came = from;
  asm("" : "+r"(came));  // hides that it equals `fiber`, or the compiler would use that one
  if (from != fiber || came->state != State::suspended || (came->flags & flag_detached)) [[unlikely]] {
    settle(self, fiber, from);
    return nullptr;
  }
  self->child = nullptr;
  came->parent = nullptr;
  came->claim.give_up_biased();
  return came;
}
}  // namespace detail

template <class T>
class Generator {
 public:
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;

    [[gnu::always_inline]] T& operator*() const {
      if (core_->last.value.empty()) [[unlikely]]
        fetch_late(core_);
      return element(core_);
    }
    Iterator& operator++() {
      consume(core_);
      return *this;
    }
    void operator++(int) { consume(core_); }
    [[gnu::always_inline]] friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.at_end(); }

   private:
    friend class Generator;
    [[gnu::always_inline]] bool at_end() const { return !fetch(core_); }
    explicit Iterator(detail::FiberCore* core) : core_(core) {}
    mutable detail::FiberCore* core_ = nullptr;  // the same fiber always; see resume_again
  };

  Generator() = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Generator> && std::is_invocable_v<std::decay_t<F>&>)
  explicit Generator(F&& body, const FiberOptions& options = {})
      : core_(detail::make_core(std::forward<F>(body), detail::generator_mask, options.stack_size, false)) {
    detail::describe_core(core_, options);
  }
  Generator(Generator&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  Generator& operator=(Generator&& other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  ~Generator() {
    if (core_ != nullptr) detail::release(core_);
  }

  Iterator begin() { return Iterator(checked()); }
  std::default_sentinel_t end() const noexcept { return {}; }

  // The next element, moved out; nothing when the body has returned.
  std::optional<T> next() {
    detail::FiberCore* core = checked();
    if (!fetch(core)) return std::nullopt;
    std::optional<T> moved(std::move(element(core)));
    consume(core);
    return moved;
  }

  // Delivers an error at the yield where the body stands. True if the body yielded again all the same.
  bool cancel(Payload error) {
    Fiber fiber = handle();
    consume(core_);
    detail::FiberCore* self = detail::current_core();
    const auto claim = core_->claim.take_owned() ? detail::ClaimKind::biased : detail::ClaimKind::refused;
    detail::drive(self, core_, claim, std::move(error), detail::deliver_error);
    return present(core_) || fetch_odd(core_);
  }
  State state() const { return handle().state(); }
  Status status() const { return handle().status(); }
  std::string_view name() const { return checked()->name; }
  explicit operator bool() const noexcept { return core_ != nullptr; }

 private:
  detail::FiberCore* checked() const {
    if (core_ == nullptr) throw FiberError(FiberErrc::empty_handle, "this Generator is empty (moved from?)");
    return core_;
  }
  Fiber handle() const {
    detail::retain(checked());
    return Fiber::adopt(core_);
  }

  // An element is present iff the fiber has not ended and holds a value; an empty one has been consumed.
  [[gnu::always_inline]] static bool present(detail::FiberCore* core) {
    return core->state == State::suspended && core->last.value.template surely<T>();
  }
  [[gnu::always_inline]] static bool fetch(detail::FiberCore*& core) {
    if (core->last.value.empty() && !detail::finished(*core)) [[likely]] {
      detail::FiberCore* came = detail::resume_again(core);
      if (came != nullptr && came->last.value.template surely<T>()) [[likely]] {
        core = came;
        return true;
      }
    }
    return present(core) || fetch_odd(core);
  }
  // For who looks at an element without having asked whether there is one.
  [[gnu::noinline]] static void fetch_late(detail::FiberCore*& core) { fetch(core); }
  // Ended, of another type, or frozen: then the element lies in an inner fiber that yielded through.
  [[gnu::noinline]] static bool fetch_odd(detail::FiberCore* core) {
    if (detail::finished(*core)) return false;
    detail::FiberCore* origin = core;
    while (origin->child != nullptr) origin = origin->child;
    if (origin != core && core->last.value.empty()) core->last.value = std::move(origin->last.value);
    if (core->last.value.template is<T>()) return true;
    // Throws, naming both types. The element is dropped, so that the next call goes on with the body.
    Payload odd = std::move(core->last.value);
    (void)odd.template as<T>();
    return true;
  }
  // After a fetch that said yes, which has looked at the type.
  [[gnu::always_inline]] static T& element(detail::FiberCore* core) { return core->last.value.template unchecked<T>(); }
  static void consume(detail::FiberCore* core) noexcept { core->last.value.reset(); }

  detail::FiberCore* core_ = nullptr;
};

// A generator of fn(x) for each x of a range, which is moved in.
template <std::ranges::input_range R, class F>
auto generate(R&& range, F fn, const FiberOptions& options = {}) {
  using T = std::remove_cvref_t<std::invoke_result_t<F&, std::ranges::range_reference_t<R>>>;
  return Generator<T>(
      [range = std::forward<R>(range), fn = std::move(fn)]() mutable {
        for (auto&& x : range) yield(Payload::make<T>(fn(std::forward<decltype(x)>(x))));
      },
      options);
}

}  // namespace weft::inline v0

template <class T>
inline constexpr bool std::ranges::enable_view<weft::Generator<T>> = false;
