// SPDX-License-Identifier: MIT
// Where stacks come from, what they cost, what happens when there are none left.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "fiber/guard.hpp"
#include "weft/detail/tools.hpp"
#include "weft/fiber.hpp"

using namespace weft;
using weft_test::full_run;
using weft_test::guarded;
using weft_test::Outcome;
using weft_test::run_program;

namespace {

constexpr bool sanitized = WEFT_ASAN || WEFT_TSAN;

[[gnu::noinline]] int use_stack(int bytes) {
  char frame[1024];
  asm volatile("" ::"r"(frame) : "memory");
  frame[0] = 1;
  const int below = bytes <= 1024 ? 0 : use_stack(bytes - 1024);
  asm volatile("" ::"r"(frame) : "memory");
  return below + frame[0];
}

}  // namespace

TEST_CASE("stack: sizes from 16 KiB to 60 MiB are served, usable to the end, and guarded [V-010]") {
  constexpr std::size_t k = 1024;
  for (const std::size_t size : {16 * k, 64 * k, 200 * k, 1024 * k, 8192 * k, 60 * 1024 * k}) {
    // Sanitizers make frames several times larger; a quarter of the stack is enough for them.
    const std::size_t used = std::min(size / (sanitized ? 8 : 2), 16 * 1024 * k);
    Fiber f([used] { return use_stack(static_cast<int>(used)); }, "y", {.stack_size = size});
    CHECK(f.resume().value.as<int>() > 0);
    CHECK(f.stack_size() >= size);
    CHECK(guarded(f.core()->slot));
  }
}

TEST_CASE("stack: an idle fiber costs pages that it touched, not what it reserved [V-008]") {
  const auto resident = [] {
    long size = 0;
    long pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    const bool read = file != nullptr && std::fscanf(file, "%ld %ld", &size, &pages) == 2;
    if (file != nullptr) std::fclose(file);
    return read ? pages * 4096 : 0;
  };
  std::vector<Fiber> fibers;
  fibers.reserve(2000);
  const long before = resident();
  for (int i = 0; i < 2000; ++i) {
    fibers.emplace_back([] { yield(1); });
    fibers.back().resume();
  }
  const long each = (resident() - before) / 2000;
  CHECK(fibers[0].stack_size() > 100000);
  CHECK((!weft_test::plain_run() || each < 3 * 4096));
}

TEST_CASE("stack: one stack serves many fibers over time, and each begins afresh [V-001]") {
  std::set<const void*> places;
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 100; ++i) {
    Fiber f([] { return yield(1).as<int>(); });
    f.resume();
    places.insert(f.core());
    ids.insert(f.id());
    CHECK(f.resume(i).value.as<int>() == i);
  }
  CHECK(places.size() < 10);
  CHECK(ids.size() == 100);
}

TEST_CASE("stack: every guard of 1000 stacks faults, whatever their size [V-009]") {
  std::vector<Fiber> fibers;
  int open = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    fibers.emplace_back([] {}, "y", FiberOptions{.stack_size = i % 10 == 0 ? std::size_t{400} << 10 : 0});
    open += !guarded(fibers.back().core()->slot);
  }
  CHECK(open == 0);
}

TEST_CASE("stack: a write to a guard kills the process, the byte above it is usable [V-009]") {
  for (const char* kind : {"WEFT_GUARD=auto", "WEFT_GUARD=mprotect"}) {
    const Outcome end = run_program("limits", {"guards"}, {kind, "TSAN_OPTIONS=handle_segv=0"});
    CHECK(end.output == "ok\n");
    CHECK(end.exit_code == 0);
  }
}

TEST_CASE("stack: out of address space is a StackError, live fibers go on, freed stacks serve again [B31]") {
  const Outcome end = run_program("limits", {"address-space"});
  CHECK(end.output == (sanitized || weft_test::emulated() ? "not here\n" : "ok\n"));
  CHECK(end.exit_code == 0);
}

TEST_CASE("stack: out of mappings with mprotect guards is a StackError at the limit, nothing is lost [B31]") {
  const Outcome end = run_program("limits", {"mappings"}, {"WEFT_GUARD=mprotect"});
  CHECK((end.output == "ok\n" || (sanitized && end.output == "not here\n")));
  CHECK(end.exit_code == 0);
}

TEST_CASE("stack: any call of mmap, madvise or mprotect may fail: a clear error, no crash, no stack lost [B31]") {
  for (const char* kind : {"WEFT_GUARD=auto", "WEFT_GUARD=mprotect"}) {
    const Outcome end = run_program("limits", {"faults-large", "1"}, {kind});
    CHECK(end.output == "ok\n");
    CHECK(end.exit_code == 0);
    const Outcome many = full_run() ? run_program("limits", {"faults", "1"}, {kind})
                                    : run_program("limits", {"faults", "37", "300"}, {kind});
    CHECK(many.output == "ok\n");
    CHECK(many.exit_code == 0);
  }
}

TEST_CASE("stack: memory that is locked after the first guards still gives guarded stacks [HB22]") {
  const Outcome end = run_program("limits", {"locked"}, {"WEFT_STACK_SIZE=16K"});
  CHECK((end.output == "ok\n" || end.output == "not here\n"));
  CHECK(end.exit_code == 0);
}

TEST_CASE("stack: the high-water mark tells a deep fiber from a shallow one [V-011] [N-003]") {
  Fiber shallow([] { yield(1); });
  Fiber deep([] {
    use_stack(60000);
    yield(1);
  });
  shallow.resume();
  deep.resume();
  CHECK(deep.stack_high_water() >= 60000);
  CHECK(deep.stack_high_water() <= deep.stack_size());
  CHECK(shallow.stack_high_water() <= shallow.stack_size());
}

TEST_CASE(
    "stack: with WEFT_STACK_WATERMARK=1 the mark is this fiber's own, whoever had the stack before [V-011] [HC5]") {
  const Outcome exact = run_program("watermark", {}, {"WEFT_STACK_WATERMARK=1"});
  CHECK(exact.output == "deep at least 60000: yes\nshallow after it below 30000: yes\nfresh: 0\n");
  const Outcome bound = run_program("watermark", {}, {"WEFT_STACK_WATERMARK=0"});
  CHECK(bound.says("deep at least 60000: yes\nshallow after it below 30000: no\n"));
}
