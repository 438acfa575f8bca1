// SPDX-License-Identifier: MIT
// Walks of a fiber's stack, however they are done, end at its first frame [B29]. (gdb: tests/gdb.)
#include <execinfo.h>
#include <unwind.h>

#include <cstdint>
#include <vector>

#include "doctest/doctest.h"
#include "weft/fiber.hpp"
#include "weft/trace.hpp"

using namespace weft;

namespace {

using Walk = std::vector<std::uintptr_t>;

bool in_entry(std::uintptr_t pc) {
  const auto entry = reinterpret_cast<std::uintptr_t>(&detail::weft_fiber_entry);
  return pc > entry && pc <= entry + 64;
}

[[gnu::noinline]] Walk by_backtrace() {
  void* frames[512];
  const int count = backtrace(frames, 512);
  Walk walk;
  for (int i = 0; i < count; ++i) walk.push_back(reinterpret_cast<std::uintptr_t>(frames[i]));
  return walk;
}

[[gnu::noinline]] Walk by_unwinder() {
  Walk walk;
  const _Unwind_Reason_Code end = _Unwind_Backtrace(
      [](_Unwind_Context* context, void* data) {
        // The end of the stack itself is shown once, as an address of zero.
        if (_Unwind_GetIP(context) != 0) static_cast<Walk*>(data)->push_back(_Unwind_GetIP(context));
        return static_cast<Walk*>(data)->size() < 512 ? _URC_NO_REASON : _URC_NORMAL_STOP;
      },
      &walk);
  if (end != _URC_END_OF_STACK) walk.clear();
  return walk;
}

// Saved frame pointers, as perf follows them: up to the one that is zero.
[[gnu::noinline]] __attribute__((no_sanitize("address", "undefined"))) Walk by_frame_pointers() {
  Walk walk;
  auto* frame = static_cast<const std::uintptr_t*>(__builtin_frame_address(0));
  while (frame != nullptr && walk.size() < 512) {
    walk.push_back(frame[1]);
    frame = reinterpret_cast<const std::uintptr_t*>(frame[0]);
  }
  return walk;
}

[[gnu::noinline]] Walk deeper(int depth, Walk (*how)()) {
  asm volatile("" ::: "memory");
  Walk walk = depth == 0 ? how() : deeper(depth - 1, how);
  asm volatile("" ::: "memory");
  return walk;
}

Walk in_fibers(int nesting, int depth, Walk (*how)()) {
  if (nesting == 0) return deeper(depth, how);
  Fiber f([=] { return in_fibers(nesting - 1, depth, how); });
  return f.resume().value.as<Walk>();
}

// Ends in the entry frame, and only there.
bool ends_at_entry(const Walk& walk, std::size_t at_least) {
  if (walk.size() < at_least || !in_entry(walk.back())) return false;
  int entries = 0;
  for (const std::uintptr_t pc : walk) entries += in_entry(pc);
  return entries == 1;
}

}  // namespace

TEST_CASE("backtrace: backtrace() ends at the fiber's first frame, nested or not [B29]") {
  CHECK(ends_at_entry(in_fibers(1, 0, by_backtrace), 3));
  CHECK(ends_at_entry(in_fibers(1, 100, by_backtrace), 100));
  CHECK(ends_at_entry(in_fibers(5, 10, by_backtrace), 10));
}

TEST_CASE("backtrace: _Unwind_Backtrace reaches the end of the stack at the fiber's first frame [B29]") {
  CHECK(ends_at_entry(in_fibers(1, 0, by_unwinder), 3));
  CHECK(ends_at_entry(in_fibers(1, 100, by_unwinder), 100));
  CHECK(ends_at_entry(in_fibers(5, 10, by_unwinder), 10));
}

TEST_CASE("backtrace: a walk along saved frame pointers ends with zero at the fiber's first frame [B29]") {
  CHECK(ends_at_entry(in_fibers(1, 0, by_frame_pointers), 3));
  CHECK(ends_at_entry(in_fibers(1, 100, by_frame_pointers), 100));
  CHECK(ends_at_entry(in_fibers(5, 10, by_frame_pointers), 10));
}

TEST_CASE("backtrace: stack_of a suspended fiber ends at its first frame too [B29]") {
  Fiber f(
      [] {
        Fiber inner([] { emit(sig::user(5)); });
        inner.resume();
      },
      "5");
  f.resume();
  const Trace trace = stack_of(f);
  REQUIRE(trace.parts.size() == 2);
  for (const TracePart& part : trace.parts)
    CHECK(in_entry(reinterpret_cast<std::uintptr_t>(part.frames.back().address)));
}
