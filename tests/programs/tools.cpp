// SPDX-License-Identifier: MIT
// Faults that the memory tools must still see inside fibers, after stacks were recycled and exceptions thrown. Says
// "not here" when it was built without the tool in question.
#include "weft/detail/tools.hpp"

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "weft/fiber.hpp"

using namespace weft;

namespace {

// The compiler shall not see where a pointer comes from.
template <class T>
T* hide(T* pointer) {
  asm volatile("" : "+r"(pointer));
  return pointer;
}

void warm_up() {
  for (int i = 0; i < 200; ++i) {
    Fiber f([i] {
      char local[64];
      hide(local)[i % 64] = 1;
      yield(1);
      if (i % 3 == 0) throw std::runtime_error("x");
    });
    f.resume();
    try {
      if (i % 2 == 0) f.resume();
    } catch (const std::runtime_error&) {
    }
  }
}

int use_after_scope() {
  int* kept = nullptr;
  {
    int local[4] = {1, 2, 3, 4};
    kept = hide(local);
    yield(kept[0]);
  }
  yield(2);
  return *hide(kept);
}

int overrun() {
  int local[4] = {1, 2, 3, 4};
  yield(1);
  return hide(local)[4];
}

// A frame of a fiber that has ended, and whose stack waits for the next. By the frame's address: a local may be
// elsewhere, on a stack that the tool makes.
int use_after_end() {
  int* kept = nullptr;
  {
    Fiber f([&] {
      kept = hide(static_cast<int*>(__builtin_frame_address(0)));
      yield(*kept);
    });
    while (!f.resume().ok()) {
    }
  }
  return *hide(kept);
}

[[maybe_unused]] int in_a_fiber(int (*fault)()) {
  warm_up();
  Fiber f([fault] { return fault(); });
  while (!f.resume().ok()) {
  }
  std::printf("went on with %d\n", f.last().value.as<int>());
  return 0;
}

[[maybe_unused]] int race() {
  int counter = 0;
  std::atomic<int> started{0};
  const auto count = [&] {
    Fiber f([&] {
      ++started;
      while (started.load() < 2) std::this_thread::yield();
      for (int i = 0; i < 1000; ++i) {
        ++*hide(&counter);
        yield(i);
      }
    });
    while (!f.resume().ok()) {
    }
  };
  std::thread one(count);
  std::thread two(count);
  one.join();
  two.join();
  std::printf("went on with %d\n", counter > 0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  [[maybe_unused]] const std::string_view what = argc > 1 ? argv[1] : "";
#if WEFT_ASAN
  if (what == "use-after-scope") return in_a_fiber(use_after_scope);
  if (what == "overrun") return in_a_fiber(overrun);
  if (what == "use-after-end") return in_a_fiber(use_after_end);
#else
  (void)&use_after_end;
  (void)&use_after_scope;
  (void)&overrun;
#endif
#if WEFT_TSAN
  if (what == "race") return race();
#endif
  std::puts("not here");
  return 0;
}
