// SPDX-License-Identifier: MIT
#include "weft/result.hpp"

#include <system_error>

namespace weft::inline v0 {

const char* to_string(Errc code) noexcept {
  switch (code) {
    case Errc::invalid_name:
      return "invalid_name";
    case Errc::builtin_name:
      return "builtin_name";
    case Errc::duplicate_name:
      return "duplicate_name";
    case Errc::full:
      return "full";
    case Errc::unknown_name:
      return "unknown_name";
    case Errc::not_emittable:
      return "not_emittable";
    case Errc::out_of_range:
      return "out_of_range";
    case Errc::invalid_argument:
      return "invalid_argument";
    case Errc::out_of_memory:
      return "out_of_memory";
    case Errc::system:
      return "system";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  std::string text = std::string(to_string(error.code)) + ": " + error.what;
  if (error.os_error != 0) text += " (" + std::generic_category().message(error.os_error) + ")";
  return text;
}

}  // namespace weft::inline v0
