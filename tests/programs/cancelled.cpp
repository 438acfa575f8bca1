// SPDX-License-Identifier: MIT
// cancelled noexcept|destructor|child|own|many|two: a Cancelled that leaves a noexcept function or a destructor, and
// one that is swallowed again and again. What the process says and how it ends is the test.
#include <atomic>
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

void swallow(int times = 5) {
  for (int i = 0; i < times; ++i) {
    try {
      weft::sleep(1h);
    } catch (const weft::Cancelled&) {
    }
  }
}

// Three hundred at once, each of them in turn.
void many() {
  std::atomic<int> begun = 0;
  weft::with_nursery([&](weft::Nursery& nursery) {
    for (int i = 0; i < 300; ++i)
      nursery.start([&] {
        ++begun;
        swallow();
      });
    while (begun < 300) weft::sleep(100us);
    nursery.cancel();
  });
}

// Asked by two scopes, one around the other: four times in all, but twice in each.
void two() {
  weft::with_nursery([](weft::Nursery& outer) {
    auto middle = outer.spawn([&] {
      weft::with_nursery([&](weft::Nursery& inner) {
        inner.start([&] {
          inner.cancel();
          swallow(2);
          outer.cancel();
          swallow(2);
        });
      });
    });
    middle.wait();
  });
}

}  // namespace

int main(int count, char** words) {
  const char* way = count > 1 ? words[1] : "";
  weft::run([&] {
    if (std::strcmp(way, "many") == 0) return many();
    if (std::strcmp(way, "two") == 0) return two();
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
