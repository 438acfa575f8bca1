// SPDX-License-Identifier: MIT
// What: text with values in it, a small part of std::format (which the library of g++ 12 does not have).
//
//   weft::println("{} of {}: {:.1f} %", done, all, 100.0 * done / all);
//   std::string row = weft::format("{:<12}{:>8}", name, count);
//
// A field is {} or {:[[fill]align][0][width][.precision][type]}: align < > ^, type d b o x X for whole numbers, f e g
// for others, s for text; {{ and }} are braces. Values: numbers, bool, char, text, pointers to void, and whatever has a
// to_string, as a function or a member. The text is a constant: fields that do not fit the values do not compile.
// print and println write to stdout, as one piece: lines of different tasks do not mix. They may block the thread, as
// every use of stdout does. Threads: any.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace weft::inline v0 {

namespace detail {

enum class FormatKind : std::uint8_t { boolean, character, integer, natural, real, text, address };

struct FormatSpec {
  char fill = ' ';
  char align = 0;
  bool zero = false;
  std::size_t width = 0;
  int precision = -1;
  char type = 0;
};

enum class FormatFault : std::uint8_t { none, brace, field, too_few_values, too_many_values, type };

constexpr bool is_align(char c) {
  return c == '<' || c == '>' || c == '^';
}

// Reads a number; at most four digits are one.
constexpr bool read_count(std::string_view& text, std::size_t& into) {
  std::size_t digits = 0;
  for (into = 0; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits)
    into = into * 10 + static_cast<std::size_t>(text[digits] - '0');
  text.remove_prefix(digits);
  return digits > 0 && digits <= 4;
}

// Of what stands between the braces.
constexpr bool read_spec(std::string_view text, FormatSpec& spec) {
  if (text.empty()) return true;
  if (text.front() != ':') return false;
  text.remove_prefix(1);
  if (text.size() > 1 && is_align(text[1])) {
    spec.fill = text[0];
    spec.align = text[1];
    text.remove_prefix(2);
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  if (text.starts_with('0')) {
    spec.zero = true;
    text.remove_prefix(1);
  }
  if (!text.empty() && text[0] >= '1' && text[0] <= '9' && !read_count(text, spec.width)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    std::size_t precision = 0;
    if (!read_count(text, precision)) return false;
    spec.precision = static_cast<int>(precision);
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  return text.empty();
}

constexpr bool fits(const FormatSpec& spec, FormatKind kind) {
  const auto one_of = [&](std::string_view types) {
    return spec.type == 0 || types.find(spec.type) != std::string_view::npos;
  };
  switch (kind) {
    case FormatKind::integer:
    case FormatKind::natural:
      return spec.precision < 0 && one_of("dboxX");
    case FormatKind::real:
      return one_of("feg");
    case FormatKind::text:
      return !spec.zero && one_of("s");
    case FormatKind::boolean:
    case FormatKind::character:
    case FormatKind::address:
      return !spec.zero && spec.precision < 0 && spec.type == 0;
  }
  return false;
}

// Calls on_text(piece) and on_field(spec) in order; a fault ends it.
template <class OnText, class OnField>
constexpr FormatFault scan_format(std::string_view text, OnText&& on_text, OnField&& on_field) {
  while (!text.empty()) {
    const std::size_t at = text.find_first_of("{}");
    on_text(text.substr(0, at));
    if (at == std::string_view::npos) return FormatFault::none;
    if (at + 1 < text.size() && text[at + 1] == text[at]) {
      on_text(text.substr(at, 1));
      text.remove_prefix(at + 2);
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (text[at] == '}' || end == std::string_view::npos) return FormatFault::brace;
    FormatSpec spec;
    if (!read_spec(text.substr(at + 1, end - at - 1), spec)) return FormatFault::field;
    const FormatFault fault = on_field(spec);
    if (fault != FormatFault::none) return fault;
    text.remove_prefix(end + 1);
  }
  return FormatFault::none;
}

constexpr FormatFault check_format(std::string_view text, std::span<const FormatKind> kinds) {
  std::size_t used = 0;
  const FormatFault fault = scan_format(
      text, [](std::string_view) {},
      [&](const FormatSpec& spec) {
        if (used == kinds.size()) return FormatFault::too_few_values;
        return fits(spec, kinds[used++]) ? FormatFault::none : FormatFault::type;
      });
  if (fault != FormatFault::none) return fault;
  return used == kinds.size() ? FormatFault::none : FormatFault::too_many_values;
}

// Not constexpr: to call one while compiling is the error, and its name says what is wrong.
void format_has_a_single_brace();
void format_has_a_field_that_it_does_not_know();
void format_has_more_fields_than_values();
void format_has_more_values_than_fields();
void format_has_a_field_of_another_type_than_its_value();

// A value as text is made of it.
template <class T>
auto shown(const T& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, char>) {
    return value;
  } else if constexpr (std::signed_integral<T>) {
    return static_cast<long long>(value);
  } else if constexpr (std::unsigned_integral<T>) {
    return static_cast<unsigned long long>(value);
  } else if constexpr (std::floating_point<T>) {
    static_assert(!std::is_same_v<T, long double>, "format: a long double is not supported; cast it to double");
    return static_cast<double>(value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string_view(value);
  } else if constexpr (requires { std::string(to_string(value)); }) {
    return std::string(to_string(value));
  } else if constexpr (requires { std::string(value.to_string()); }) {
    return std::string(value.to_string());
  } else {
    static_assert(std::is_same_v<std::remove_cv_t<std::remove_pointer_t<T>>, void> || std::is_null_pointer_v<T>,
                  "format: this type is no number, no text, and has no to_string");
    return static_cast<const void*>(value);
  }
}
template <class T>
using AsShown = decltype(shown(std::declval<const T&>()));

template <class S>
consteval FormatKind kind_of() {
  if constexpr (std::is_same_v<S, bool>) return FormatKind::boolean;
  if constexpr (std::is_same_v<S, char>) return FormatKind::character;
  if constexpr (std::is_same_v<S, long long>) return FormatKind::integer;
  if constexpr (std::is_same_v<S, unsigned long long>) return FormatKind::natural;
  if constexpr (std::is_same_v<S, double>) return FormatKind::real;
  if constexpr (std::is_same_v<S, const void*>) return FormatKind::address;
  return FormatKind::text;
}

struct FormatValue {
  explicit FormatValue(bool value) : kind(FormatKind::boolean), boolean(value) {}
  explicit FormatValue(char value) : kind(FormatKind::character), character(value) {}
  explicit FormatValue(long long value) : kind(FormatKind::integer), integer(value) {}
  explicit FormatValue(unsigned long long value) : kind(FormatKind::natural), natural(value) {}
  explicit FormatValue(double value) : kind(FormatKind::real), real(value) {}
  explicit FormatValue(std::string_view value) : kind(FormatKind::text), text(value) {}
  explicit FormatValue(const void* value) : kind(FormatKind::address), address(value) {}

  FormatKind kind;
  union {
    bool boolean;
    char character;
    long long integer;
    unsigned long long natural;
    double real;
    std::string_view text;
    const void* address;
  };
};

std::string format_values(std::string_view text, std::span<const FormatValue> values);
void print_values(std::string_view text, std::span<const FormatValue> values, bool line);

template <class Use, class... Ts>
decltype(auto) with_values(Use&& use, const Ts&... values) {
  const std::tuple<AsShown<Ts>...> kept{shown(values)...};  // owns what to_string made
  return std::apply(
      [&](const auto&... each) -> decltype(auto) {
        const std::array<FormatValue, sizeof...(Ts)> all{FormatValue(each)...};
        return use(std::span<const FormatValue>(all));
      },
      kept);
}

}  // namespace detail

// A text that has been compared with the types of its values.
template <class... Ts>
class FormatText {
 public:
  template <class S>
    requires std::convertible_to<const S&, std::string_view>
  consteval FormatText(const S& text) : text_(text) {  // NOLINT(google-explicit-constructor): as std::format_string
    constexpr std::array<detail::FormatKind, sizeof...(Ts)> kinds{detail::kind_of<detail::AsShown<Ts>>()...};
    using enum detail::FormatFault;
    const detail::FormatFault fault = detail::check_format(text_, kinds);
    if (fault == brace) detail::format_has_a_single_brace();
    if (fault == field) detail::format_has_a_field_that_it_does_not_know();
    if (fault == too_few_values) detail::format_has_more_fields_than_values();
    if (fault == too_many_values) detail::format_has_more_values_than_fields();
    if (fault == type) detail::format_has_a_field_of_another_type_than_its_value();
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

template <class... Ts>
std::string format(FormatText<std::type_identity_t<Ts>...> text, const Ts&... values) {
  return detail::with_values([&](auto all) { return detail::format_values(text.text(), all); }, values...);
}
template <class... Ts>
void print(FormatText<std::type_identity_t<Ts>...> text, const Ts&... values) {
  detail::with_values([&](auto all) { detail::print_values(text.text(), all, false); }, values...);
}
template <class... Ts>
void println(FormatText<std::type_identity_t<Ts>...> text, const Ts&... values) {
  detail::with_values([&](auto all) { detail::print_values(text.text(), all, true); }, values...);
}
inline void println() {
  detail::print_values({}, {}, true);
}

}  // namespace weft::inline v0
