// SPDX-License-Identifier: MIT
// What: turns "this must throw" into text that a test can look at.
#pragma once

#include <exception>
#include <string>

#include "weft/fiber.hpp"

namespace weft_test {

// "alive: fiber 3 is running, ...", or the what() of any other exception, or "accepted".
template <class F>
std::string refusal(F&& act) {
  try {
    act();
  } catch (const weft::FiberError& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

inline bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// What a handle's name looks like in an error: fiber 12.
inline std::string called(const weft::Fiber& fiber) {
  return "fiber " + std::to_string(fiber.id());
}

}  // namespace weft_test
