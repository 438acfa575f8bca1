// SPDX-License-Identifier: MIT
// A deep fiber, then a shallow one on the same stack: how deep does the library say that each went?
#include <cstdio>

#include "weft/fiber.hpp"
#include "weft/runtime.hpp"

using namespace weft;

namespace {

[[gnu::noinline]] int use_stack(int bytes) {
  char frame[1024];
  asm volatile("" ::"r"(frame) : "memory");
  frame[0] = 1;
  const int below = bytes <= 1024 ? 0 : use_stack(bytes - 1024);
  asm volatile("" ::"r"(frame) : "memory");
  return below + frame[0];
}

std::size_t mark_of(int bytes, const void** place) {
  Fiber f([bytes] {
    use_stack(bytes);
    yield(1);
  });
  f.resume();
  *place = f.core();
  return f.stack_high_water();
}

// Tasks of two spawn sites, the shallow ones after the deep ones and so on the same stacks.
int sites() {
  RuntimeOptions options;
  options.workers = 1;
  Runtime runtime(options);
  runtime.run([&] {
    for (int i = 0; i < 3; ++i) runtime.go([] { use_stack(60000); }, {.name = "deep"}).join();
    for (int i = 0; i < 3; ++i) runtime.go([] { use_stack(0); }, {.name = "shallow"}).join();
  });
  std::fputs(runtime.stats_text().c_str(), stdout);
  return 0;
}

}  // namespace

int main(int count, char**) {
  if (count > 1) return sites();
  const void* first = nullptr;
  const void* second = nullptr;
  std::printf("deep at least 60000: %s\n", mark_of(60000, &first) >= 60000 ? "yes" : "no");
  const std::size_t shallow = mark_of(0, &second);
  if (first != second) std::puts("another stack");
  std::printf("shallow after it below 30000: %s\n", shallow < 30000 ? "yes" : "no");
  Fiber fresh([] {});
  std::printf("fresh: %zu\n", fresh.stack_high_water());
  return 0;
}
