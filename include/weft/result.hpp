// SPDX-License-Identifier: MIT
// What: the error value of the library. What the world can cause (a full table, an unknown name, a refused system
// call) is returned as Result<T>; breaking a rule of the API throws.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace weft::inline v0 {

enum class Errc : std::uint8_t {
  invalid_name,    // a signal name that is empty, unprintable or made of digits only
  builtin_name,    // the name belongs to the library
  duplicate_name,  // somebody registered it before
  full,            // no room left in a fixed table
  unknown_name,    // nobody registered it
  not_emittable,   // only the library may raise it
  out_of_range,    // an index outside of what it points into
  invalid_argument,
  out_of_memory,
  system,  // the system refused; os_error says why
};

const char* to_string(Errc code) noexcept;

struct Error {
  Errc code = Errc::invalid_argument;
  std::string what;
  int os_error = 0;  // errno at the time, for Errc::system

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(Errc code, std::string what, int os_error = 0) {
  return std::unexpected<Error>(Error{code, std::move(what), os_error});
}

std::string to_string(const Error& error);

}  // namespace weft::inline v0
