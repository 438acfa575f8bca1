// SPDX-License-Identifier: MIT
//
// What: a move-only callable that lives in place. Closure<R(Args...), Room> keeps callables of up to Room bytes inside
// itself and puts larger ones on the heap; InlineClosure refuses those at compile time.
// Invariants:
//   [CLOSURE-1] Moving never throws and leaves the source empty. A callable whose own move may throw, or whose
//               alignment is larger than a pointer pair's, goes to the heap.
//   [CLOSURE-2] Calling an empty closure is an assertion, never a jump to null.
// Threads: like any value, one at a time.
// Rejected: std::move_only_function: its room (two words or so) is not ours to choose, so every task would allocate;
// and it cannot promise that it did not.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "weft/detail/assert.hpp"

namespace weft::inline v0::detail {

inline constexpr std::size_t closure_room = 48;

enum class ClosureHeap : bool { refused, allowed };

template <class Signature, std::size_t Room = closure_room, ClosureHeap Heap = ClosureHeap::allowed>
class Closure;

template <class Signature, std::size_t Room = closure_room>
using InlineClosure = Closure<Signature, Room, ClosureHeap::refused>;

template <class R, class... Args, std::size_t Room, ClosureHeap Heap>
class Closure<R(Args...), Room, Heap> {
  static constexpr std::size_t alignment = 2 * sizeof(void*);
  static_assert(Room >= sizeof(void*), "a closure keeps at least a pointer");

 public:
  template <class F>
  static constexpr bool fits = sizeof(F) <= Room && alignof(F) <= alignment && std::is_nothrow_move_constructible_v<F>;

  Closure() noexcept = default;
  Closure(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

  template <class F, class Function = std::decay_t<F>>
    requires(!std::is_same_v<Function, Closure> && std::is_invocable_r_v<R, Function&, Args...>)
  Closure(F&& function) {  // NOLINT(google-explicit-constructor): a lambda is meant to become one
    static_assert(Heap == ClosureHeap::allowed || fits<Function>,
                  "this callable does not fit into the closure: capture less, or by pointer");
    constexpr bool may_be_null = std::is_pointer_v<Function> || std::is_member_pointer_v<Function>;
    if constexpr (may_be_null && !std::is_function_v<std::remove_reference_t<F>>) {
      if (function == nullptr) return;
    }
    if constexpr (fits<Function>) {
      new (room_) Function(std::forward<F>(function));
      call_ = [](void* room, Args... args) -> R { return invoke(*at<Function>(room), std::forward<Args>(args)...); };
      operations_ = &inline_operations<Function>;
    } else {
      new (room_) Function*(new Function(std::forward<F>(function)));
      call_ = [](void* room, Args... args) -> R { return invoke(**at<Function*>(room), std::forward<Args>(args)...); };
      operations_ = &heap_operations<Function>;
    }
  }

  Closure(Closure&& from) noexcept { take(from); }
  Closure& operator=(Closure&& from) noexcept {
    if (this != &from) {
      reset();
      take(from);
    }
    return *this;
  }
  ~Closure() { reset(); }

  R operator()(Args... args) { return call_(room_, std::forward<Args>(args)...); }

  explicit operator bool() const noexcept { return operations_ != nullptr; }
  bool on_heap() const noexcept { return operations_ != nullptr && operations_->on_heap; }

  void reset() noexcept {
    // Empty first: the callable's destructor may look at us again.
    const Operations* operations = std::exchange(operations_, nullptr);
    call_ = &call_empty;
    if (operations != nullptr) operations->destroy(room_);
  }

 private:
  struct Operations {
    void (*move)(void* from, void* to) noexcept;  // and destroys what is in from
    void (*destroy)(void* room) noexcept;
    bool on_heap;
  };

  template <class T>
  static T* at(void* room) noexcept {
    return std::launder(static_cast<T*>(room));
  }

  template <class F>
  static R invoke(F& function, Args... args) {
    if constexpr (std::is_void_v<R>) {
      std::invoke(function, std::forward<Args>(args)...);
    } else {
      return std::invoke(function, std::forward<Args>(args)...);
    }
  }

  [[noreturn]] static R call_empty(void*, Args...) {
    assert_failed("call of an empty closure", "closure != nullptr", __FILE__, __LINE__);
  }

  template <class F>
  static constexpr Operations inline_operations = {
      [](void* from, void* to) noexcept {
        F* source = at<F>(from);
        new (to) F(std::move(*source));
        source->~F();
      },
      [](void* room) noexcept { at<F>(room)->~F(); },
      false,
  };
  template <class F>
  static constexpr Operations heap_operations = {
      [](void* from, void* to) noexcept { new (to) F*(*at<F*>(from)); },
      [](void* room) noexcept { delete *at<F*>(room); },
      true,
  };

  void take(Closure& from) noexcept {
    if (from.operations_ == nullptr) return;
    from.operations_->move(from.room_, room_);
    operations_ = std::exchange(from.operations_, nullptr);
    call_ = std::exchange(from.call_, &call_empty);
  }

  alignas(alignment) std::byte room_[Room];
  R (*call_)(void*, Args...) = &call_empty;
  const Operations* operations_ = nullptr;  // null: empty
};

}  // namespace weft::inline v0::detail
