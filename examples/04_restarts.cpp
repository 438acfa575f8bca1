// SPDX-License-Identifier: MIT
// Errors as signals. Under a SignalSet mask an error does not unwind: the code that failed waits, the handler looks at
// the error and answers with a value, and the work goes on where it stood. The same function under a letter mask
// simply fails, as in any language with exceptions.
#include <iostream>
#include <string>
#include <vector>

#include "weft/weft.hpp"

namespace {

int parse(const std::string& text) {
  if (text.find_first_not_of("0123456789") == std::string::npos) return std::stoi(text);
  return weft::emit(weft::sig::error, "not a number: " + text).as<int>();
}

int sum(const std::vector<std::string>& words) {
  int total = 0;
  for (const std::string& word : words) total += parse(word);
  return total;
}

}  // namespace

int main() {
  const std::vector<std::string> words = {"1", "two", "3", "four"};

  weft::Fiber lenient([&] { return sum(words); }, weft::SignalSet{weft::sig::error});
  const weft::Event* event = &lenient.resume();
  while (event->bits.contains(weft::sig::error)) {
    std::cout << "handler: " << event->value.as<std::string>() << ", use 0\n";
    event = &lenient.resume(0);
  }
  std::cout << "lenient sum: " << event->value.as<int>() << "\n";

  auto strict = weft::protect([&] { return sum(words); });
  std::cout << "strict: " << (strict ? "ok" : strict.error.as<std::string>()) << "\n";

  // Cleanup runs however the body ends, and the error goes on with its original frames.
  try {
    weft::defer([] { std::cout << "cleanup\n"; },
                [&] {
                  std::cout << "working\n";
                  throw std::runtime_error("disk full");
                });
  } catch (const std::runtime_error& error) {
    std::cout << "caught: " << error.what() << "\n";
  }

  // Leaving from any depth, through other fibers.
  weft::Payload found = weft::label([&](weft::Label& out) {
    for (const std::string& word : words)
      weft::protect([&] {
        if (word.size() > 3) out.exit(word);
      });
  });
  std::cout << "first long word: " << found.as<std::string>() << "\n";
}
