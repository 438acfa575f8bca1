// SPDX-License-Identifier: MIT
// Structured tasks: children end before their nursery does; the first failure stops the others and comes out as itself.
#include <atomic>
#include <chrono>
#include <iostream>
#include <stdexcept>

#include "weft/weft.hpp"

using namespace std::chrono_literals;

int main() {
  return weft::run([] {
    weft::with_nursery([](weft::Nursery& n) {
      auto left = n.spawn([] { return 20; });
      auto right = n.spawn([] {
        weft::sleep(1ms);
        return 22;
      });
      std::cout << "together " << left.join() + right.join() << "\n";
    });

    try {
      std::atomic<bool> waiting = false;  // a task that is cancelled before it starts never runs
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] {
          while (!waiting) weft::yield_now();
          throw std::runtime_error("the disk is full");
        });
        n.start([&] {
          try {
            waiting = true;
            weft::sleep(1h);
          } catch (const weft::Cancelled& cancelled) {
            std::cout << "the other one: " << cancelled.what() << "\n";
            throw;
          }
        });
        weft::sleep(1h);
      });
    } catch (const std::runtime_error& error) {
      std::cout << "out of the nursery: " << error.what() << "\n";
    }

    const bool in_time = weft::timeout(2ms, [] { weft::sleep(1h); });
    std::cout << (in_time ? "in time" : "its time ran out") << "\n";
  });
}
