// SPDX-License-Identifier: MIT
// Select: the first of several things that may happen. Its cases are values, so a function can make one.
#include <chrono>
#include <iostream>
#include <string>
#include <variant>

#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/select.hpp"

namespace {

using namespace std::chrono_literals;

// A case that gives text, whatever it waits for: others may select over it.
weft::Op<std::string> spoken(weft::Channel<int>& numbers) {
  return weft::op::wrap(weft::op::recv(numbers), [](std::optional<int> number) {
    return number ? "the number " + std::to_string(*number) : std::string("the end of the numbers");
  });
}

}  // namespace

int main() {
  return weft::run([] {
    weft::Channel<int> numbers;
    weft::Channel<std::string> words;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        numbers.send(1);
        words.send("one");
        numbers.send(2);
        words.send("two");
        numbers.close();
      });
      for (bool open = true; open;) {
        auto got = weft::select(weft::op::recv(numbers), weft::op::recv(words));
        if (got.index() == 0) {
          open = std::get<0>(got).has_value();
          if (open) std::cout << "number " << *std::get<0>(got) << "\n";
        } else {
          std::cout << "word " << *std::get<1>(got) << "\n";
        }
      }
    });

    std::cout << "waiting a while gives " << std::get<0>(weft::select(spoken(numbers), weft::op::timeout(10s))) << "\n";

    weft::Channel<int> silent;
    const auto got = weft::select(weft::op::recv(silent), weft::op::timeout(1ms));
    std::cout << (got.index() == 1 ? "nobody spoke for a millisecond\n" : "?\n");
    const auto now = weft::select(weft::op::send(silent, 7), weft::op::otherwise());
    std::cout << (now.index() == 1 ? "nobody listens now\n" : "?\n");
  });
}
