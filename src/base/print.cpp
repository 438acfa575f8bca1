// SPDX-License-Identifier: MIT
#include "weft/print.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>

namespace weft::inline v0::detail {

namespace {

using Digits = std::array<char, 512>;  // room for every double at the longest precision that is looked at

template <class N>
std::string_view whole(Digits& room, N value, char type) {
  const int base = type == 'b' ? 2 : type == 'o' ? 8 : type == 'x' || type == 'X' ? 16 : 10;
  char* end = std::to_chars(room.data(), room.data() + room.size(), value, base).ptr;
  if (type == 'X')
    std::transform(room.data(), end, room.data(),
                   [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; });
  return {room.data(), end};
}

std::string_view real(Digits& room, double value, const FormatSpec& spec) {
  char* const begin = room.data();
  char* const end = begin + room.size();
  if (spec.type == 0 && spec.precision < 0) return {begin, std::to_chars(begin, end, value).ptr};
  const auto how = spec.type == 'f'   ? std::chars_format::fixed
                   : spec.type == 'e' ? std::chars_format::scientific
                                      : std::chars_format::general;
  // The largest double has 309 digits before the point.
  const int precision = std::min(spec.precision < 0 ? 6 : spec.precision, 150);
  return {begin, std::to_chars(begin, end, value, how, precision).ptr};
}

void put_padded(std::string& out, std::string_view text, const FormatSpec& spec, char usual_align) {
  const std::size_t missing = spec.width > text.size() ? spec.width - text.size() : 0;
  const char align = spec.align != 0 ? spec.align : usual_align;
  const std::size_t before = align == '<' ? 0 : align == '>' ? missing : missing / 2;
  out.append(before, spec.fill).append(text).append(missing - before, spec.fill);
}

void put_number(std::string& out, std::string_view digits, const FormatSpec& spec) {
  if (!spec.zero || spec.align != 0 || digits.size() >= spec.width) return put_padded(out, digits, spec, '>');
  if (digits.starts_with('-')) {
    out.push_back('-');
    digits.remove_prefix(1);
    out.append(spec.width - digits.size() - 1, '0');
  } else {
    out.append(spec.width - digits.size(), '0');
  }
  out.append(digits);
}

void put(std::string& out, const FormatValue& value, const FormatSpec& spec) {
  Digits room;
  switch (value.kind) {
    case FormatKind::boolean:
      return put_padded(out, value.boolean ? "true" : "false", spec, '<');
    case FormatKind::character:
      return put_padded(out, {&value.character, 1}, spec, '<');
    case FormatKind::integer:
      return put_number(out, whole(room, value.integer, spec.type), spec);
    case FormatKind::natural:
      return put_number(out, whole(room, value.natural, spec.type), spec);
    case FormatKind::real:
      return put_number(out, real(room, value.real, spec), spec);
    case FormatKind::text:
      return put_padded(out, value.text.substr(0, static_cast<std::size_t>(spec.precision)), spec, '<');
    case FormatKind::address: {
      const std::string_view digits = whole(room, reinterpret_cast<std::uintptr_t>(value.address), 'x');
      return put_padded(out, std::string("0x").append(digits), spec, '>');
    }
  }
}

}  // namespace

std::string format_values(std::string_view text, std::span<const FormatValue> values) {
  std::string out;
  const FormatValue* next = values.data();
  (void)scan_format(
      text, [&](std::string_view piece) { out.append(piece); },
      [&](const FormatSpec& spec) {
        put(out, *next++, spec);
        return FormatFault::none;
      });
  return out;
}

void print_values(std::string_view text, std::span<const FormatValue> values, bool line) {
  std::string out = format_values(text, values);
  if (line) out.push_back('\n');
  (void)std::fwrite(out.data(), 1, out.size(), stdout);  // one piece: it is locked meanwhile
}

}  // namespace weft::inline v0::detail
