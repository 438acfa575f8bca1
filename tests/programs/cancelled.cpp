// SPDX-License-Identifier: MIT
// cancelled noexcept|destructor|child|own: a Cancelled that leaves a noexcept function or a destructor, and one that is
// swallowed again and again. What the process says and how it ends is the test.
#include <chrono>
#include <cstring>

#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/scope.hpp"

using namespace std::chrono_literals;

namespace {

void waits() noexcept {
  weft::sleep(1h);
}

struct Connection {
  ~Connection() { weft::sleep(1h); }
};

void swallow() {
  for (int i = 0; i < 5; ++i) {
    try {
      weft::sleep(1h);
    } catch (const weft::Cancelled&) {
    }
  }
}

}  // namespace

int main(int count, char** words) {
  const char* way = count > 1 ? words[1] : "";
  weft::run([&] {
    weft::with_nursery([&](weft::Nursery& nursery) {
      if (std::strcmp(way, "own") == 0) {
        nursery.cancel();
        swallow();
        return;
      }
      auto task = nursery.spawn(
          [&] {
            if (std::strcmp(way, "noexcept") == 0) waits();
            if (std::strcmp(way, "destructor") == 0) {
              const Connection connection;
              (void)connection;
            }
            if (std::strcmp(way, "child") == 0) swallow();
          },
          {.name = "the stubborn"});
      while (task.status() != weft::TaskStatus::waiting) weft::yield_now();
      nursery.cancel();
    });
  });
  return 0;
}
