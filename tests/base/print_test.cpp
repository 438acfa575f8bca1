// SPDX-License-Identifier: MIT
#include "weft/print.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "doctest/doctest.h"

namespace {

enum class Colour { red, green };
const char* to_string(Colour colour) {
  return colour == Colour::red ? "red" : "green";
}
struct Place {
  std::string to_string() const { return "here"; }
};

using weft::format;

TEST_CASE("print: values of each kind as text") {
  CHECK(format("no field") == "no field");
  CHECK(format("{} {} {}", 1, -2, 3U) == "1 -2 3");
  CHECK(format("{}", std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(format("{}", std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(format("{} {} {}", 0.1, 1.0, 1e300) == "0.1 1 1e+300");
  CHECK(format("{}{}", true, 'c') == "truec");
  CHECK(format("{} {} {}", "literal", std::string("owned"), std::string_view("view")) == "literal owned view");
  CHECK(format("{} {}", Colour::green, Place()) == "green here");
  CHECK(format("{}", static_cast<const void*>(nullptr)) == "0x0");
  CHECK(format("{{{}}}", 7) == "{7}");
  CHECK(format("") == "");
}

TEST_CASE("print: width, fill, precision and base") {
  CHECK(format("[{:5}|{:<5}|{:^5}|{:*>5}]", 42, 42, 42, 42) == "[   42|42   | 42  |***42]");
  CHECK(format("[{:5}|{:>5}|{:.2}|{:-^6.2}]", "abc", "abc", "abc", "abc") == "[abc  |  abc|ab|--ab--]");
  CHECK(format("{:x} {:X} {:b} {:o} {:d} {:04}", 255, 255, 5, 8, 9, -7) == "ff FF 101 10 9 -007");
  CHECK(format("{:08x}", 48879) == "0000beef");
  CHECK(format("{:.2f} {:6.1f} {:.1e} {:.3g} {:07.2f}", 2.0 / 3, 2.25, 12345.0, 0.00012345, -1.5) ==
        "0.67    2.2 1.2e+04 0.000123 -001.50");
  CHECK(format("{:}", 1) == "1");
  CHECK(format("{:.9999f}", std::numeric_limits<double>::max()).size() > 309);
}

// Whether a text fits the kinds, as the constructor of FormatText asks while compiling.
constexpr weft::detail::FormatFault fault(std::string_view text,
                                          std::initializer_list<weft::detail::FormatKind> kinds) {
  return weft::detail::check_format(text, {kinds.begin(), kinds.size()});
}

TEST_CASE("print: a text that does not fit its values is found") {
  using enum weft::detail::FormatFault;
  using enum weft::detail::FormatKind;
  static_assert(fault("{} {:>4}", {integer, text}) == none);
  static_assert(fault("{}", {}) == too_few_values);
  static_assert(fault("{}", {integer, integer}) == too_many_values);
  static_assert(fault("{", {}) == brace);
  static_assert(fault("}", {}) == brace);
  static_assert(fault("{:x", {integer}) == brace);
  static_assert(fault("{0}", {integer}) == field);
  static_assert(fault("{:12345}", {integer}) == field);
  static_assert(fault("{:.}", {real}) == field);
  static_assert(fault("{:dd}", {integer}) == field);
  static_assert(fault("{:x}", {text}) == type);
  static_assert(fault("{:f}", {integer}) == type);
  static_assert(fault("{:.2}", {integer}) == type);
  static_assert(fault("{:s}", {boolean}) == type);
  CHECK(fault("{:04}", {text}) == type);
}

}  // namespace
