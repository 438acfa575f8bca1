// SPDX-License-Identifier: MIT
// What: the table of functions behind a Payload's type, the flags beside its address, and the rules which types may
// be a payload.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace weft::inline v0 {

class Payload;

// True if moving a T and destroying the source equals copying its bytes. Programs may specialise it for their types.
template <class T>
inline constexpr bool trivially_relocatable = std::is_trivially_copyable_v<T>;
template <>
inline constexpr bool trivially_relocatable<std::exception_ptr> = true;
template <class T>
inline constexpr bool trivially_relocatable<std::shared_ptr<T>> = true;
template <class T>
inline constexpr bool trivially_relocatable<std::weak_ptr<T>> = true;
template <class T>
inline constexpr bool trivially_relocatable<std::unique_ptr<T>> = true;

}  // namespace weft::inline v0

namespace weft::inline v0::detail {

inline constexpr std::size_t payload_room = 32;
inline constexpr std::size_t payload_align = 8;

struct alignas(8) PayloadOps {
  const std::type_info* type;
  void (*destroy)(void* room) noexcept;
  void (*relocate)(void* to, void* from) noexcept;  // null: copying the room's bytes is enough
  std::string (*describe)(const void* room);        // null: nothing better than the type's name
};

// Low bits of a payload's head.
inline constexpr std::uintptr_t payload_owns = 1;           // destroy must be called
inline constexpr std::uintptr_t payload_moves_by_call = 2;  // relocate must be called
inline constexpr std::uintptr_t payload_wide = 4;           // more than the first word of the room is in use
inline constexpr std::uintptr_t payload_flags = 7;

template <class T>
inline constexpr bool payload_inline =
    sizeof(T) <= payload_room && alignof(T) <= payload_align && std::is_nothrow_move_constructible_v<T>;

// Copied as one word, with nothing to call.
template <class T>
inline constexpr bool payload_one_word =
    payload_inline<T> && std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t);

template <class T>
inline constexpr std::uintptr_t payload_flags_of =
    !payload_inline<T> ? payload_owns
                       : (std::is_trivially_destructible_v<T> && trivially_relocatable<T> ? 0 : payload_owns) |
                             (trivially_relocatable<T> ? 0 : payload_moves_by_call) |
                             (sizeof(T) > sizeof(std::uint64_t) ? payload_wide : 0);

[[noreturn]] void throw_null_text();
std::string type_name(const std::type_info& type);

std::string describe_bool(bool value);
std::string describe_char(char value);
std::string describe_signed(long long value);
std::string describe_unsigned(unsigned long long value);
std::string describe_float(float value);
std::string describe_double(double value);
std::string describe_exception(const std::exception_ptr& error);

template <class T>
concept HasToString = requires(const T& value) {
  { to_string(value) } -> std::convertible_to<std::string>;
};

template <class T>
struct PayloadFunctions {
  static T* object(void* room) noexcept {
    if constexpr (payload_inline<T>) {
      return std::launder(static_cast<T*>(room));
    } else {
      T* heap;
      std::memcpy(&heap, room, sizeof heap);
      return heap;
    }
  }

  static void destroy(void* room) noexcept {
    if constexpr (payload_inline<T>) {
      object(room)->~T();
    } else {
      ::delete object(room);
    }
  }

  static void relocate(void* to, void* from) noexcept {
    T* source = object(from);
    ::new (to) T(std::move(*source));
    source->~T();
  }

  static std::string describe(const void* room) {
    const T& value = *object(const_cast<void*>(room));
    if constexpr (std::is_same_v<T, bool>) {
      return describe_bool(value);
    } else if constexpr (std::is_same_v<T, char>) {
      return describe_char(value);
    } else if constexpr (std::is_same_v<T, float>) {
      return describe_float(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return describe_double(static_cast<double>(value));
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      return describe_signed(value);
    } else if constexpr (std::is_integral_v<T>) {
      return describe_unsigned(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return value;
    } else if constexpr (std::is_same_v<T, std::exception_ptr>) {
      return describe_exception(value);
    } else if constexpr (std::is_base_of_v<std::exception, T>) {
      return value.what();
    } else {
      return to_string(value);
    }
  }

  static constexpr bool describable = std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                                      std::is_same_v<T, std::exception_ptr> || std::is_base_of_v<std::exception, T> ||
                                      HasToString<T>;

  static consteval PayloadOps table() {
    PayloadOps ops{&typeid(T), &destroy, nullptr, nullptr};
    if constexpr (payload_inline<T> && !trivially_relocatable<T>) ops.relocate = &relocate;
    if constexpr (describable) ops.describe = &describe;
    return ops;
  }
};

template <class T>
inline constexpr PayloadOps payload_ops = PayloadFunctions<T>::table();

template <class T>
std::uintptr_t payload_head() noexcept {
  return reinterpret_cast<std::uintptr_t>(&payload_ops<T>) + payload_flags_of<T>;
}

// Keeps a word whole and in a general register: compilers like to fuse neighbouring words into one 16-byte access and
// to split a widened int into two 4-byte stores.
inline void hold_apart(std::uint64_t& word) noexcept {
#if defined(__GNUC__)
  asm("" : "+r"(word));
#else
  (void)word;
#endif
}

// Copies bytes that may never have been written (an empty payload, the end of a struct of 24 bytes).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
inline void copy_word(unsigned char* to, const unsigned char* from) noexcept {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  hold_apart(word);
  std::memcpy(to, &word, sizeof word);
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

template <class T>
inline constexpr bool is_in_place_type = false;
template <class T>
inline constexpr bool is_in_place_type<std::in_place_type_t<T>> = true;

template <class T>
inline constexpr bool is_c_string = std::is_same_v<T, char*> || std::is_same_v<T, const char*>;

template <class T>
struct PayloadStored {
  using type = T;
};
template <>
struct PayloadStored<char*> {
  using type = std::string;
};
template <>
struct PayloadStored<const char*> {
  using type = std::string;
};
template <class C, class Traits>
struct PayloadStored<std::basic_string_view<C, Traits>> {
  using type = std::basic_string<C, Traits>;
};

// What a payload made from a value of (decayed) type T holds.
template <class T>
using payload_stored_t = typename PayloadStored<T>::type;

template <class T>
inline constexpr bool is_object_pointer = std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>;

// Which types a value may have when it is handed over as a payload.
template <class T>
concept PayloadSource = std::is_same_v<T, std::decay_t<T>> && !std::is_void_v<T> && !std::is_null_pointer_v<T> &&
                        (!is_object_pointer<T> || is_c_string<T>);

template <class T>
consteval void check_payload_source() {
  static_assert(!std::is_null_pointer_v<T>, "nullptr is no payload: say Payload{} for none");
  static_assert(!is_object_pointer<T> || is_c_string<T>,
                "a payload owns what it holds and a pointer does not: use Payload::ref(object) for a borrowed "
                "object (read it with as<T*>()), or hand over the value itself");
}

// T itself, after checking that a payload can hold exactly T.
template <class T>
struct PayloadPlain {
  static_assert(std::is_same_v<T, std::decay_t<T>> && !std::is_void_v<T>,
                "a payload holds plain values: ask for the type without const, reference or array");
  static_assert(std::is_same_v<T, payload_stored_t<T>>,
                "a payload owns its text: views and char pointers are stored as std::string, ask for that");
  static_assert(!std::is_same_v<T, ::weft::Payload>, "a payload of a payload is that payload");
  using type = T;
};
template <class T>
using payload_plain_t = typename PayloadPlain<T>::type;

inline std::string_view text_of(const char* text) {
  if (!text) throw_null_text();
  return text;
}

template <std::size_t N>
std::string_view text_of_array(const char (&text)[N]) {
  const void* end = std::memchr(text, '\0', N);
  return {text, end ? static_cast<std::size_t>(static_cast<const char*>(end) - text) : N};
}

}  // namespace weft::inline v0::detail
