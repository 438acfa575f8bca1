// SPDX-License-Identifier: MIT
// Ends by a stack overflow in a fiber, or by something that only looks like one. Which, says the first argument.
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weft/fiber.hpp"

using namespace weft;

namespace {

[[gnu::noinline]] int recurse(int depth) {
  char frame[512];
  asm volatile("" ::"r"(frame) : "memory");
  frame[0] = static_cast<char>(depth);
  const int below = depth < 0 ? 0 : recurse(depth + 1);
  asm volatile("" ::"r"(frame) : "memory");
  return below + frame[0];
}

// One frame larger than the guard: the compiler's probes walk into it page by page.
[[gnu::noinline]] int leap(int depth) {
  char frame[200000];
  asm volatile("" ::"r"(frame) : "memory");
  frame[0] = static_cast<char>(depth);
  const int below = depth < 0 ? 0 : leap(depth + 1);
  asm volatile("" ::"r"(frame) : "memory");
  return below + frame[0];
}

Fiber doomed(std::size_t size = 0) {
  return Fiber([] { return recurse(0); }, "y", {.name = "doomed", .stack_size = size});
}

// A fault that is no overflow: a page of our own that may not be touched.
void touch_forbidden() {
  void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile int*>(page) = 1;
}

void say(const char* text) {
  if (write(2, text, std::strlen(text)) < 0) _exit(3);
}

void own_handler(int) {
  say("the program's own handler\n");
  _exit(7);
}

// What lies below the slot that overflows: the top of its neighbour, where that one's fiber is.
const unsigned char* neighbour_begin;
std::size_t neighbour_size;
std::vector<unsigned char> neighbour_before;

void compare_neighbour(int) {
  const bool same = std::memcmp(neighbour_begin, neighbour_before.data(), neighbour_size) == 0;
  say(same ? "the neighbour is as it was\n" : "the neighbour was changed\n");
  _exit(same ? 0 : 1);
}

int overflow_beside_neighbour() {
  std::vector<Fiber> fibers;
  for (int i = 0; i < 32; ++i) {
    fibers.push_back(doomed());
    const detail::Slot high = fibers.back().core()->slot;
    for (const Fiber& other : fibers) {
      const detail::Slot low = other.core()->slot;
      if (low.base + (std::uintptr_t{1} << low.shift) != high.base) continue;
      neighbour_size = detail::guard_bytes;
      neighbour_begin = reinterpret_cast<const unsigned char*>(high.base - neighbour_size);
      neighbour_before.assign(neighbour_begin, neighbour_begin + neighbour_size);
      // In place of the library's handler, on its alternate stack.
      struct sigaction action{};
      action.sa_handler = compare_neighbour;
      action.sa_flags = SA_ONSTACK;
      sigaction(SIGSEGV, &action, nullptr);
      sigaction(SIGBUS, &action, nullptr);
      fibers.back().resume();
    }
  }
  say("no two neighbours\n");
  return 2;
}

int run(std::string_view what) {
  if (what == "recursion") {
    doomed().resume();
  } else if (what == "leap") {
    Fiber([] { return leap(0); }, "y", {.name = "doomed"}).resume();
  } else if (what == "sized") {
    doomed(std::size_t{1} << 20).resume();
  } else if (what == "smallest") {
    doomed(1).resume();
  } else if (what == "thread") {
    Fiber([] {}).resume();  // this thread has an alternate stack; the other one needs its own
    std::thread([] { doomed().resume(); }).join();
  } else if (what == "nested") {
    Fiber outer([] { doomed().resume(); }, "y", {.name = "outer"});
    outer.resume();
  } else if (what == "neighbour") {
    return overflow_beside_neighbour();
  } else if (what == "own-handler") {
    std::signal(SIGSEGV, own_handler);
    Fiber(touch_forbidden).resume();
  } else if (what == "own-handler-overflow") {
    std::signal(SIGSEGV, own_handler);
    doomed().resume();
  } else if (what == "fault") {
    Fiber(touch_forbidden).resume();
  } else if (what == "raise") {
    Fiber([] { std::raise(SIGSEGV); }).resume();
  }
  say("went on\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc > 1 ? argv[1] : "");
}
