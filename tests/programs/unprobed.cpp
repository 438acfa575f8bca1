// SPDX-License-Identifier: MIT
// Compiled without stack-clash probes, as a user's own code may be: a frame larger than a page, smaller than the guard,
// whose first touch is its far end [HB22].
#include <cstdio>

#include "weft/fiber.hpp"

namespace {

[[gnu::noinline]] int step(int depth) {
  char frame[60000];
  asm volatile("" ::"r"(frame) : "memory");
  frame[0] = static_cast<char>(depth);
  const int below = depth < 0 ? 0 : step(depth + 1);
  asm volatile("" ::"r"(frame) : "memory");
  return below + frame[0];
}

}  // namespace

int main() {
  weft::Fiber f([] { return step(0); }, "y", {.name = "unprobed"});
  f.resume();
  std::puts("went on");
  return 2;
}
