// SPDX-License-Identifier: MIT
#include "sched/thread_stack.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "sched/runtime_help.hpp"
#include "weft/detail/tools.hpp"
#include "weft/fiber.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t patience = 1'000'000'000;

// A thread that waits for a processor may not answer in time: it is asked again.
bool answers(long tid, ThreadStack& stack) {
  return eventually([&] { return take_thread_stack(tid, patience, stack); });
}

// Spins with a frame pointer of 0, as a thread has it for a few instructions when it switches to a fiber that begins.
[[gnu::noinline]] void spin_without_frame(const std::atomic<bool>& stop) {
#if defined(__x86_64__)
  asm volatile(
      "movq %%rbp, %%rax\n\t"
      "xorl %%ebp, %%ebp\n"
      "1:\n\t"
      "cmpb $0, (%[stop])\n\t"
      "je 1b\n\t"
      "movq %%rax, %%rbp\n\t"
      :
      : [stop] "r"(&stop)
      : "rax", "memory", "cc");
#elif defined(__aarch64__)
  asm volatile(
      "mov x9, x29\n\t"
      "mov x29, xzr\n"
      "1:\n\t"
      "ldrb w10, [%[stop]]\n\t"
      "cbz w10, 1b\n\t"
      "mov x29, x9\n\t"
      :
      : [stop] "r"(&stop)
      : "x9", "x10", "memory", "cc");
#endif
}

[[gnu::noinline]] void add_one(int& value) {
  asm volatile("" : : "r"(&value) : "memory");
  ++value;
}

[[gnu::noinline]] int throw_deep(int depth) {
  if (depth == 0) throw depth;
  return throw_deep(depth - 1) + 1;
}

// Two frames of one size: ASan would give the second the place of the first, had it been taken for free.
[[gnu::noinline]] int use_a_frame() {
  int one = 0;
  add_one(one);
  return one;
}

[[gnu::noinline]] int throw_and_be_asked(std::atomic<long>& tid, const std::atomic<bool>& stop) {
  const long own = sys::gettid();
  int last = 0;
  int three = 0;
  add_one(three);
  try {
    throw three;
  } catch (...) {  // NOLINT(bugprone-empty-catch): ASan sorts its frames out when the next one begins
  }
  tid = own;
  spin_without_frame(stop);
  for (int i = 0; i < 200'000; ++i) last = use_a_frame();  // all places of this size, one after another
  add_one(three);
  return three + last;
}

}  // namespace

TEST_CASE("thread stack: one that is asked in the middle of a switch answers; its registers are not believed [V-085]") {
  std::atomic<long> tid{0};
  std::atomic<bool> stop{false};
  std::thread switcher([&] {
    tid = sys::gettid();
    Fiber old([] {
      for (;;) weft::yield();
    });
    while (!stop) {
      Fiber fresh([] {});  // it begins with a frame pointer of 0
      (void)fresh.resume();
      for (int i = 0; i < 20; ++i) (void)old.resume();
    }
  });
  while (tid == 0) std::this_thread::yield();
  ThreadStack stack;
  int answers = 0;
  for (int i = 0; i < 5000; ++i) answers += take_thread_stack(tid, patience, stack);
  stop = true;
  switcher.join();
  CHECK(answers > 0);
}

TEST_CASE(
    "thread stack: one that is asked in the middle of a throw answers; the frames being installed are not believed") {
  std::atomic<long> tid{0};
  std::atomic<bool> stop{false};
  std::thread thrower([&] {
    tid = sys::gettid();
    while (!stop) {
      try {
        throw_deep(3);
      } catch (const int&) {  // NOLINT(bugprone-empty-catch): only the way there matters
      }
    }
  });
  while (tid == 0) std::this_thread::yield();
  ThreadStack stack;
  int answers = 0;
  for (int i = 0; i < 5000; ++i) answers += take_thread_stack(tid, patience, stack);
  stop = true;
  thrower.join();
  CHECK(answers > 0);
}

TEST_CASE("thread stack: a frame pointer of 0 is not followed [V-085]") {
  std::atomic<long> tid{0};
  std::atomic<bool> stop{false};
  std::thread spinner([&] {
    tid = sys::gettid();
    spin_without_frame(stop);
  });
  while (tid == 0) std::this_thread::yield();
  ThreadStack stack;
  // TSan puts signals off until the thread calls something, which this one does not.
  for (int i = 0; i < 20 && !WEFT_TSAN; ++i) CHECK(answers(tid, stack));
  stop = true;
  spinner.join();
}

TEST_CASE("thread stack: who is asked after a throw keeps its frames, also for ASan [V-085]") {
  std::atomic<long> tid{0};
  std::atomic<bool> stop{false};
  const auto body = [&] { CHECK(throw_and_be_asked(tid, stop) == 3); };
  for (const bool in_fiber : {false, true}) {
    tid = 0;
    stop = false;
    std::thread asked([&] {
      (void)thread_root();  // has its alternate stack from now on
      if (!in_fiber) return body();
      Fiber fiber(body);
      (void)fiber.resume();
    });
    while (tid == 0) std::this_thread::yield();
    ThreadStack stack;
    if (!WEFT_TSAN) CHECK(answers(tid, stack));
    stop = true;
    asked.join();
  }
}

TEST_CASE("thread stack: one that sits in the kernel tells who called, however often it is asked [N-014]") {
  Pipe pipe;
  std::atomic<long> tid{0};
  std::thread reader([&] {
    tid = sys::gettid();
    pipe.wait();
  });
  while (tid == 0) std::this_thread::yield();
  ThreadStack stack;
  CHECK(eventually([&] { return take_thread_stack(tid, patience, stack) && stack.count >= 3; }));
  pipe.release(1);
  reader.join();
}
