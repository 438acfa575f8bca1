// SPDX-License-Identifier: MIT
// What: Payload, the value that travels with a signal. Move-only; owns what it holds; 40 bytes, of which 32 are room
// for the value itself.
//
// A value lives inline if it fits (size <= 32, alignment <= 8) and moves without throwing, else on the heap. Text
// (string views, char arrays, const char*) is copied into a std::string. A pointer does not own, so it must be asked
// for: Payload::ref(object), read back with as<T*>(). Function pointers are plain values.
//
// Invariants
// [PAY-1] head_ is 0 (empty), or the address of the type's Ops plus three flags in its low bits, so that moving and
//         destroying a value that needs no code reads no memory but the payload itself.
// [PAY-2] A value of one word (an int, a pointer, a heap-held value) occupies all eight bytes of that word. It is
//         stored and loaded eight bytes at a time, and head_ lies at the far end, so that no compiler fuses the two
//         into one 16-byte load: a load wider than the stores before it waits until they have left the store buffer.
// [PAY-3] Moved-from is empty.
//
// Threads: none of it is synchronised; one owner at a time.
//
// Rejected: std::any (copyable values only, no inline room for a string); one virtual "manage" call (an indirect call
// for each move of an int); a type id from a counter (differs between shared objects).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "weft/detail/payload_ops.hpp"

namespace weft::inline v0 {

struct PayloadTypeError : std::logic_error {
  using std::logic_error::logic_error;
};

class Payload {
 public:
  static constexpr std::size_t room = detail::payload_room;

  Payload() noexcept = default;

  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Payload> && !detail::is_in_place_type<std::remove_cvref_t<T>>)
  Payload(T&& value) {
    fill(std::forward<T>(value));
  }

  template <class T, class... A>
  explicit Payload(std::in_place_type_t<T>, A&&... args) {
    construct<detail::payload_plain_t<T>>(std::forward<A>(args)...);
  }

  Payload(Payload&& other) noexcept : head_(std::exchange(other.head_, 0)) { take_room(head_, other); }

  Payload& operator=(Payload&& other) noexcept {
    if (head_ & detail::payload_owns) [[unlikely]]
      return replace(other);
    take(other);
    return *this;
  }

  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  ~Payload() {
    if (head_ & detail::payload_owns) destroy();
  }

  // A T built in place from args.
  template <class T, class... A>
  static Payload make(A&&... args) {
    if constexpr (std::is_same_v<T, Payload>) {
      return Payload(std::forward<A>(args)...);
    } else {
      return Payload(std::in_place_type<T>, std::forward<A>(args)...);
    }
  }

  // A borrowed pointer to object, which must outlive the payload. Read it with as<T*>().
  template <class T>
  static Payload ref(T& object) noexcept {
    Payload p;
    p.construct<T*>(std::addressof(object));
    return p;
  }
  template <class T>
  static Payload ref(const T&&) = delete;

  // Replaces the value. The arguments must not be parts of the old one; if the constructor of T throws, the payload is
  // empty.
  template <class T, class... A>
  T& emplace(A&&... args) {
    reset();
    construct<detail::payload_plain_t<T>>(std::forward<A>(args)...);
    return *slot<T>();
  }

  // Replaces the value by what Payload(value) would hold. The new value may be made from parts of the old one
  // (resume(event.value.as<std::string>()) does that): it is complete before the old one goes.
  template <class T>
  void set(T&& value) {
    using Stored = detail::payload_stored_t<std::decay_t<T>>;
    if constexpr (std::is_same_v<std::remove_cvref_t<T>, Payload>) {
      *this = std::forward<T>(value);
    } else if constexpr (detail::payload_one_word<Stored>) {
      detail::check_payload_source<std::decay_t<T>>();
      Stored copy(std::forward<T>(value));
      reset();
      construct<Stored>(copy);
    } else if (empty()) {
      fill(std::forward<T>(value));
    } else {
      *this = Payload(std::forward<T>(value));
    }
  }

  bool empty() const noexcept { return head_ == 0; }
  explicit operator bool() const noexcept { return head_ != 0; }

  [[gnu::always_inline]] void reset() noexcept {
    if (head_ & detail::payload_owns) destroy();
    head_ = 0;
  }

  template <class T>
  bool is() const noexcept {
    return head_ == detail::payload_head<detail::payload_plain_t<T>>() || holds(typeid(T));
  }

  // Whether it holds a T of this very shared object; false says nothing. And the value, for who knows that it does.
  template <class T>
  bool surely() const noexcept {
    return head_ == detail::payload_head<detail::payload_plain_t<T>>();
  }
  template <class T>
  T& unchecked() noexcept {
    return *slot<T>();
  }

  template <class T>
  T* get_if() noexcept {
    return is<T>() ? slot<T>() : nullptr;
  }
  template <class T>
  const T* get_if() const noexcept {
    return is<T>() ? slot<T>() : nullptr;
  }

  template <class T>
  T& as() & {
    demand<T>();
    return *slot<T>();
  }
  template <class T>
  const T& as() const& {
    demand<T>();
    return *slot<T>();
  }
  // Moves the value out; the payload is empty afterwards.
  template <class T>
  T as() && {
    demand<T>();
    T value = std::move(*slot<T>());
    if constexpr (detail::payload_flags_of<T> & detail::payload_owns) detail::PayloadFunctions<T>::destroy(room_);
    head_ = 0;
    return value;
  }
  template <class T>
  T as() const&& = delete;

  const std::type_info& type() const noexcept { return head_ ? *ops()->type : typeid(void); }
  std::string type_name() const;  // demangled; "void" when empty

  // For people: numbers, text, enums and whatever has a to_string, what() of exceptions, else "<type>".
  std::string to_string() const;

 private:
  template <class T>
  void fill(T&& value) {
    detail::check_payload_source<std::decay_t<T>>();
    if constexpr (std::is_array_v<std::remove_reference_t<T>>) {
      construct<detail::payload_stored_t<std::decay_t<T>>>(detail::text_of_array(value));
    } else if constexpr (detail::is_c_string<std::decay_t<T>>) {
      construct<std::string>(detail::text_of(static_cast<const char*>(value)));
    } else {
      construct<detail::payload_stored_t<std::decay_t<T>>>(std::forward<T>(value));
    }
  }

  template <class T, class... A>
  void construct(A&&... args) {
    static_assert(std::is_constructible_v<T, A...>, "the payload's type cannot be built from these arguments");
    if constexpr (!detail::payload_inline<T>) {
      auto word = reinterpret_cast<std::uint64_t>(::new T(std::forward<A>(args)...));
      detail::hold_apart(word);
      std::memcpy(room_, &word, sizeof word);
    } else if constexpr (detail::payload_one_word<T>) {
      std::uint64_t word = 0;
      ::new (static_cast<void*>(&word)) T(std::forward<A>(args)...);
      detail::hold_apart(word);
      std::memcpy(room_, &word, sizeof word);
    } else {
      ::new (static_cast<void*>(room_)) T(std::forward<A>(args)...);
    }
    head_ = detail::payload_head<T>();
  }

  template <class T>
  T* slot() const noexcept {
    return detail::PayloadFunctions<T>::object(const_cast<unsigned char*>(room_));
  }

  // *this owns nothing; other may be *this.
  void take(Payload& other) noexcept {
    std::uintptr_t head = std::exchange(other.head_, 0);
    head_ = head;
    take_room(head, other);
  }

  void take_room(std::uintptr_t head, Payload& other) noexcept {
    detail::copy_word(room_, other.room_);
    if (head & (detail::payload_moves_by_call | detail::payload_wide)) [[unlikely]] {
      if (head & detail::payload_moves_by_call) {
        ops()->relocate(room_, other.room_);
      } else {
        detail::copy_word(room_ + 8, other.room_ + 8);
        detail::copy_word(room_ + 16, other.room_ + 16);
        detail::copy_word(room_ + 24, other.room_ + 24);
      }
    }
  }

  const detail::PayloadOps* ops() const noexcept {
    return reinterpret_cast<const detail::PayloadOps*>(head_ & ~detail::payload_flags);
  }

  template <class T>
  void demand() const {
    if (head_ != detail::payload_head<detail::payload_plain_t<T>>()) [[unlikely]]
      demand_type(typeid(T));
  }

  // The slow half of the type test: another shared object's Ops for the same type.
  bool holds(const std::type_info& asked) const noexcept;
  void demand_type(const std::type_info& asked) const;
  Payload& replace(Payload& other) noexcept;
  void destroy() noexcept { ops()->destroy(room_); }

  alignas(8) unsigned char room_[room];
  std::uintptr_t head_ = 0;
};

static_assert(sizeof(Payload) == 40 && alignof(Payload) == 8);

}  // namespace weft::inline v0
