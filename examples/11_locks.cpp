// SPDX-License-Identifier: MIT
// Locks that park tasks, a value that is made once, and what happens when two tasks wait for each other.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>

#include "weft/weft.hpp"

using namespace std::chrono_literals;

int main() {
  return weft::run([] {
    // A hundred tasks share one counter; std::lock_guard fits.
    weft::Mutex mutex;
    int count = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 100; ++i)
        n.start([&] {
          const std::lock_guard guard(mutex);
          ++count;
          weft::yield_now();  // a task may wait while it holds a weft::Mutex
        });
    });
    std::printf("counted: %d\n", count);

    // Whoever asks first makes it, and may wait meanwhile; the others get the same.
    int made = 0;
    weft::Lazy<std::string> greeting([&] {
      weft::sleep(1ms);
      ++made;
      return std::string("hello");
    });
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 3; ++i) n.start([&] { (void)greeting.get(); });
    });
    std::printf("%s, made %d time\n", greeting->c_str(), made);

    // Every wait can have a limit.
    weft::Semaphore seats(1);
    seats.acquire();
    std::printf("a second seat within 1 ms: %s\n", seats.acquire_for(1ms) ? "yes" : "no");

    // Two tasks, two mutexes, opposite orders. Here the rest of the program lives on, so it is asked for by name; a
    // program in which nothing can run any more gets a weft::Deadlock from run().
    weft::Mutex left;
    weft::Mutex right;
    weft::Barrier both(2);
    weft::with_nursery([&](weft::Nursery& n) {
      const auto lock = [&both](weft::Mutex& first, weft::Mutex& second) {
        const std::lock_guard one(first);
        (void)both.arrive_and_wait();
        const std::lock_guard two(second);
      };
      auto a = n.spawn([&] { lock(left, right); }, {.name = "a"});
      auto b = n.spawn([&] { lock(right, left); }, {.name = "b"});
      while (weft::deadlocks().empty()) weft::sleep(1ms);
      const std::string cycle = weft::deadlocks();
      const bool named =
          cycle.find("\"a\" -lock-> ") != std::string::npos && cycle.find("\"b\" -lock-> ") != std::string::npos;
      std::printf("a and b wait for each other: %s\n", named ? "yes" : "no");
      a.cancel();  // its lock_guard lets go of the first mutex
    });
  });
}
