// SPDX-License-Identifier: MIT
// What: the alphabets of HTTP/1.1 (RFC 9110, 5.5 and 5.6; RFC 9112, 3) and words in whatever case.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weft::inline v0::detail {

enum HttpChar : std::uint8_t {
  http_token = 1,   // of names and methods
  http_value = 2,   // of field values and reasons: no controls but tab
  http_target = 4,  // of a target: printable, no blank, no fragment
  http_digit = 8,
  http_host = 16,  // of Host: whatever would make it more than one name
};

inline constexpr std::array<std::uint8_t, 256> http_chars = [] {
  std::array<std::uint8_t, 256> table{};
  for (unsigned c = 0; c < 256; ++c) {
    std::uint8_t bits = 0;
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (digit) bits |= http_digit;
    if (digit || letter || (c < 128 && std::string_view("!#$%&'*+-.^_`|~").contains(static_cast<char>(c))))
      bits |= http_token;
    if (c == '\t' || (c >= 0x20 && c != 0x7f)) bits |= http_value;
    if (c > 0x20 && c < 0x7f && c != '#') bits |= http_target;
    if (!std::string_view(" \t,/\\@").contains(static_cast<char>(c))) bits |= http_host;
    table[c] = bits;
  }
  return table;
}();

constexpr bool is_http(char c, HttpChar kind) {
  return (http_chars[static_cast<unsigned char>(c)] & kind) != 0;
}

constexpr bool all_http(std::string_view text, HttpChar kind) {
  for (const char c : text)
    if (!is_http(c, kind)) return false;
  return true;
}

// Eight characters as a number, and what is done to all of them at once.
inline constexpr std::uint64_t each_byte = 0x0101010101010101;
inline std::uint64_t eight_at(const char* text) {
  std::uint64_t eight;
  std::memcpy(&eight, text, sizeof eight);
  return eight;
}
// The top bit of each byte that is from `low` to `high`, both below 128.
constexpr std::uint64_t within(std::uint64_t eight, unsigned low, unsigned high) {
  const std::uint64_t small = eight & 0x7f * each_byte;
  const std::uint64_t not_below = small + (0x80 - low) * each_byte;
  const std::uint64_t above = small + (0x7f - high) * each_byte;
  return not_below & ~above & ~eight & 0x80 * each_byte;
}
constexpr std::uint64_t lower(std::uint64_t eight) {
  return eight | within(eight, 'A', 'Z') >> 2;
}

// all_http(text, http_value): eight by eight, and one by one where a control character is (it may be a tab).
inline bool all_value(std::string_view text) {
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    const std::uint64_t eight = eight_at(text.data() + i);
    if ((within(eight, 0, 0x1f) | within(eight, 0x7f, 0x7f)) != 0 && !all_http(text.substr(i, 8), http_value))
      return false;
  }
  return all_http(text.substr(i), http_value);
}

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

inline bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  std::size_t i = 0;
  for (; i + 8 <= a.size(); i += 8)
    if (lower(eight_at(a.data() + i)) != lower(eight_at(b.data() + i))) return false;
  for (; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Calls f(member) for each member, that is not empty, of a list separated by commas.
template <class F>
constexpr void for_each_member(std::string_view list, F&& f) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view member = trimmed(list.substr(0, comma));
    if (!member.empty()) f(member);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace weft::inline v0::detail
