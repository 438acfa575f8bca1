// SPDX-License-Identifier: MIT
// A breakpoint two fibers deep, and one in the resumer after both have ended: gdb must find its way in each.
#include "weft/fiber.hpp"

namespace {

[[gnu::noinline]] void stop_in_fiber() {
  asm volatile("");
}

[[gnu::noinline]] void stop_in_main() {
  asm volatile("");
}

[[gnu::noinline]] void inner_body() {
  stop_in_fiber();
  asm volatile("");
}

[[gnu::noinline]] void outer_body() {
  weft::Fiber inner(inner_body);
  inner.resume();
}

}  // namespace

int main() {
  weft::Fiber outer(outer_body);
  outer.resume();
  stop_in_main();
}
