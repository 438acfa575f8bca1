// SPDX-License-Identifier: MIT
// Out of stacks, memory, threads: who spawns, or joins, is told what ran out; nothing hangs, nothing is lost.
#include <string>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"

using namespace weft_test;

namespace {

constexpr bool sanitized = WEFT_ASAN || WEFT_TSAN;

void check_limit(const char* what) {
  const Outcome end = run_program("task_limits", {what});
  CAPTURE(end.output);
  CHECK((end.output == "ok\n" || ((sanitized || emulated()) && end.output == "not here\n")));
  CHECK(end.exit_code == 0);
}

}  // namespace

TEST_CASE("limits: without room for another stack a task fails with that reason, the others go on [B31]") {
  check_limit("stacks");
}

TEST_CASE("limits: without memory for another record the spawn says so, and what was spawned runs [B31]") {
  check_limit("memory");
}

TEST_CASE("limits: without memory for another record par says so, whoever takes its piece and however [B31] [HB18]") {
  check_limit("pieces");
}

TEST_CASE("limits: without threads a runtime of several workers says so, and one of a single worker runs [B31]") {
  check_limit("threads");
}

TEST_CASE("limits: a million tasks that have not begun cost at most 256 bytes each, and all of them run [N-010]") {
  check_limit("unstarted");
}

TEST_CASE("limits: tasks that wait cost a page and at most 256 bytes each [HC14]") {
  if (emulated()) return;  // what it notes of each mapping would count
  check_limit("parked");
}
