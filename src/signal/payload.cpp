// SPDX-License-Identifier: MIT
#include "weft/payload.hpp"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>

#include "weft/detail/tools.hpp"
#include "weft/event.hpp"

namespace weft::inline v0 {

namespace detail {

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string bracketed(const std::string& name) {
  std::string text("<");
  return text.append(name).append(">");
}

}  // namespace

std::string type_name(const std::type_info& type) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                    &std::free);
  std::string name = status == 0 && plain ? plain.get() : type.name();
  replace_all(name, "std::__cxx11::", "std::");
  replace_all(name, "weft::v0::", "weft::");
  replace_all(name, "std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string");
  replace_all(name, "std::basic_string_view<char, std::char_traits<char> >", "std::string_view");
  replace_all(name, "std::__exception_ptr::", "std::");
  return name;
}

void throw_null_text() {
  throw std::invalid_argument("a null const char* is no payload: say \"\" for an empty text or Payload{} for none");
}

std::string describe_bool(bool value) {
  return value ? "true" : "false";
}
std::string describe_char(char value) {
  return std::string(1, value);
}
std::string describe_signed(long long value) {
  return std::to_string(value);
}
std::string describe_unsigned(unsigned long long value) {
  return std::to_string(value);
}

namespace {

// The shortest text that reads back as the same number.
template <class T>
std::string shortest(T value, int most_digits, T (*read)(const char*, char**)) {
  char text[32];
  for (int digits = 6; digits <= most_digits; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if (read(text, nullptr) == value) break;
  }
  return text;
}

}  // namespace

std::string describe_float(float value) {
  return shortest(value, 9, &std::strtof);
}
std::string describe_double(double value) {
  return shortest(value, 17, &std::strtod);
}

std::string describe_exception(const std::exception_ptr& error) {
  if (!error) return "no exception";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::string text = e.what();
    tools_error_was_read(error);
    return text;
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return type ? bracketed(type_name(*type)) : "<unknown exception>";
  }
}

}  // namespace detail

bool Payload::holds(const std::type_info& asked) const noexcept {
  return head_ != 0 && *ops()->type == asked;
}

void Payload::demand_type(const std::type_info& asked) const {
  if (empty()) throw PayloadTypeError("payload is empty, asked for " + detail::type_name(asked));
  if (!holds(asked)) throw PayloadTypeError("payload holds " + type_name() + ", asked for " + detail::type_name(asked));
}

Payload& Payload::replace(Payload& other) noexcept {
  if (this != &other) {
    Payload old(std::move(*this));  // destroyed last: other may be a part of it
    take(other);
  }
  return *this;
}

std::string Payload::type_name() const {
  return detail::type_name(type());
}

std::string Payload::to_string() const {
  if (empty()) return "nothing";
  if (ops()->describe) return ops()->describe(room_);
  return detail::bracketed(type_name());
}

std::string to_string(const Event& event) {
  return event.value.empty() ? to_string(event.bits) : to_string(event.bits) + " " + event.value.to_string();
}

}  // namespace weft::inline v0
