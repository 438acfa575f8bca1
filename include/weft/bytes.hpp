// SPDX-License-Identifier: MIT
// What: where bytes are, and where there is room for some: what anything contiguous and trivially copyable converts to.
#pragma once

#include <cstddef>
#include <ranges>
#include <string>
#include <type_traits>

namespace weft::inline v0 {
namespace detail {

template <class R>
concept ByteRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                    std::is_trivially_copyable_v<std::ranges::range_value_t<R>>;
template <class R>
concept WritableRange = ByteRange<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

}  // namespace detail

struct Bytes {
  constexpr Bytes() = default;
  constexpr Bytes(const void* from, std::size_t count) : data(from), size(count) {}
  // A string literal is its characters, without the 0.
  constexpr Bytes(const char* text) : data(text), size(std::char_traits<char>::length(text)) {}  // NOLINT: converts
  template <detail::ByteRange R>
    requires(!std::is_array_v<std::remove_cvref_t<R>> ||
             !std::is_same_v<std::remove_cv_t<std::ranges::range_value_t<R>>, char>)
  constexpr Bytes(const R& range)  // NOLINT(google-explicit-constructor): converts
      : data(std::ranges::data(range)), size(std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>)) {}

  const char* chars() const { return static_cast<const char*>(data); }
  Bytes from(std::size_t skipped) const { return {chars() + skipped, size - skipped}; }

  const void* data = nullptr;
  std::size_t size = 0;
};

struct Room {
  constexpr Room() = default;
  constexpr Room(void* from, std::size_t count) : data(from), size(count) {}
  template <class R>
    requires detail::WritableRange<R>
  constexpr Room(R&& range)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload): converts
      : data(std::ranges::data(range)), size(std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>)) {}

  Room from(std::size_t skipped) const { return {static_cast<char*>(data) + skipped, size - skipped}; }

  void* data = nullptr;
  std::size_t size = 0;
};

}  // namespace weft::inline v0
