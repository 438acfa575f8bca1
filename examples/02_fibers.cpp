// SPDX-License-Identifier: MIT
// A fiber is a function with a stack of its own: it can stop in the middle, hand a value out, and go on with another.
#include <iostream>

#include "weft/weft.hpp"

int main() {
  weft::Fiber greeter(
      [](weft::Payload first) {
        std::string name = first.as<std::string>();
        while (name != "nobody") {
          weft::Payload next = weft::yield("hello, " + name);
          name = next.as<std::string>();
        }
        return "goodbye";
      },
      "y", {.name = "greeter"});

  std::cout << "status: " << to_string(greeter.status()) << "\n";
  for (const char* name : {"Ada", "Grace", "nobody"}) {
    const weft::Event& event = greeter.resume(name);
    std::cout << event.value.as<std::string>() << " (" << to_string(event.bits) << ", " << to_string(greeter.status())
              << ")\n";
  }

  // Misuse is an error that names the fiber and says what to do.
  try {
    greeter.resume("Edsger");
  } catch (const weft::FiberError& error) {
    std::cout << "resumed again: " << to_string(error.code()) << "\n";
  }

  // Destroying a fiber half way unwinds it: destructors run.
  struct Guard {
    ~Guard() { std::cout << "the guard was destroyed\n"; }
  };
  weft::Fiber half([] {
    Guard guard;
    weft::yield();
    std::cout << "never printed\n";
  });
  half.resume();
  half = weft::Fiber();
  std::cout << "and main goes on\n";
}
