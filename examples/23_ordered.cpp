// SPDX-License-Identifier: MIT
// An ordered pipeline: pages are fetched three at a time and printed in order, however long each takes. The clock is
// virtual, so the times are the same everywhere.
#include <chrono>
#include <cstdio>
#include <string>

#include "weft/nursery.hpp"
#include "weft/ordered_channel.hpp"
#include "weft/runtime.hpp"
#include "weft/time.hpp"

using namespace std::chrono_literals;

namespace {

long seconds() {
  return weft::now().time_since_epoch() / 1s;
}

std::string fetch(int page, std::chrono::seconds takes) {
  weft::sleep(takes);
  std::printf("%ld s   page %d has arrived\n", seconds(), page);
  return "page " + std::to_string(page);
}

void example() {
  weft::with_nursery([](weft::Nursery& n) {
    weft::OrderedChannel<std::string> pages(1);  // one here, one with who sends, one with who receives
    n.start([&] {
      int page = 0;
      for (const std::chrono::seconds takes : {4s, 1s, 2s, 5s, 1s})
        pages.spawn(n, [number = ++page, takes] { return fetch(number, takes); });
      pages.close();
    });
    while (const auto page = pages.recv()) std::printf("%ld s   printed: %s\n", seconds(), page->c_str());
  });
  std::printf("%ld s for what one by one takes 13\n", seconds());
}

}  // namespace

int main() {
  weft::RuntimeOptions options;
  options.workers = 1;
  options.clock = weft::RuntimeOptions::Clock::virtual_;
  return weft::run(options, example);
}
