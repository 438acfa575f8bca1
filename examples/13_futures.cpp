// SPDX-License-Identifier: MIT
// Futures: started, awaited, raced, stopped. The clock is virtual, so the program is over at once and prints the same
// times everywhere.
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/weft.hpp"

using namespace std::chrono_literals;

namespace {

long seconds() {
  return weft::now().time_since_epoch() / 1s;
}

std::string fetch(const char* mirror, std::chrono::seconds takes) {
  weft::sleep(takes);
  return std::string("page from ") + mirror;
}

void example() {
  // Begun now, awaited later.
  weft::Future<int> answer = weft::async([] {
    weft::sleep(2s);
    return 42;
  });
  std::printf("%ld s: done: %s\n", seconds(), answer.done() ? "yes" : "no");
  std::printf("%ld s: ", seconds());
  const int value = answer.await();
  std::printf("after %ld s: %d\n", seconds(), value);

  // The first of several; the others are stopped.
  auto page = weft::race(weft::label<"near">([] { return fetch("near", 3s); }),
                         weft::label<"far">([] { return fetch("far", 30s); }));
  std::printf("%ld s: %s won\n", seconds(), std::string(page.label()).c_str());

  // All of them.
  auto [a, b] = weft::join_all([] { return fetch("a", 1s); }, [] { return fetch("b", 2s); });
  std::printf("%ld s: %s, %s\n", seconds(), a.c_str(), b.c_str());

  // In the order of their ends.
  std::vector<weft::Future<int>> many;
  for (const int n : {3, 1, 2})
    many.push_back(weft::async([n] {
      weft::sleep(std::chrono::seconds(n));
      return n;
    }));
  for (weft::Future<int>& done : weft::as_completed(std::move(many)))
    std::printf("%ld s: %d\n", seconds(), done.await());

  // A failure arrives as it was thrown.
  weft::Future<void> broken = weft::async([] { throw std::runtime_error("disk on fire"); });
  try {
    broken.await();
  } catch (const std::runtime_error& error) {
    std::printf("failed: %s\n", error.what());
  }

  // One that nobody needs any more is stopped when it goes, and has ended by then.
  {
    weft::Future<void> idle = weft::async([] {
      try {
        weft::sleep(1h);
      } catch (const weft::Cancelled&) {
        std::printf("idle: asked to stop\n");
        throw;
      }
    });
    weft::settle();
  }
  std::printf("%ld s: the end\n", seconds());
}

}  // namespace

int main() {
  weft::RuntimeOptions options;
  options.clock = weft::RuntimeOptions::Clock::virtual_;
  return weft::run(options, example);
}
