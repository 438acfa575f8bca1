// SPDX-License-Identifier: MIT
// What: every way in which a runtime says no.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace weft::inline v0 {

enum class RuntimeErrc : std::uint8_t {
  bad_environment,  // a WEFT_ variable that cannot be understood
  bad_options,      // RuntimeOptions that contradict themselves
};
const char* to_string(RuntimeErrc code);

// what() names the cause and says what was expected.
class RuntimeError : public std::runtime_error {
 public:
  RuntimeError(RuntimeErrc code, const std::string& what) : std::runtime_error(what), code_(code) {}
  RuntimeErrc code() const noexcept { return code_; }

 private:
  RuntimeErrc code_;
};

}  // namespace weft::inline v0
