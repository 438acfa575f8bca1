// SPDX-License-Identifier: MIT
// What an outside program does first: include, link, resume a fiber, answer its error with a value, catch an exception.
#include <iostream>
#include <stdexcept>

#include "weft/fiber.hpp"

int main() {
  weft::Fiber fiber([] { return 1 + weft::emit(weft::sig::error, "disk full").as<int>(); },
                    weft::SignalSet{weft::sig::error});
  std::cout << to_string(fiber.resume()) << "\n";
  if (fiber.resume(41).value.as<int>() != 42) return 1;

  weft::Fiber thrower([] { throw std::runtime_error("through two stacks"); });
  try {
    thrower.resume();
  } catch (const std::runtime_error& error) {
    std::cout << error.what() << "\n";
  }
}
