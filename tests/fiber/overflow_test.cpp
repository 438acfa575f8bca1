// SPDX-License-Identifier: MIT
// A stack that runs out: who is told, and what is left alone.
#include <csignal>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"

using weft_test::Outcome;
using weft_test::run_program;

TEST_CASE("overflow: the message names the fiber, where it was made and its size, then it dies [N-002] [V-009] [B30]") {
  const Outcome end = run_program("overflow", {"recursion"});
  CHECK(end.signal == SIGSEGV);
  CHECK(end.says("weft: stack overflow in fiber "));
  CHECK(end.says(" \"doomed\"\n"));
  CHECK(end.says("  made at "));
  CHECK(end.says("programs/overflow.cpp:"));
  CHECK(end.says("doomed(std::size_t)"));
  CHECK(end.says("  stack of "));
  CHECK(end.says(" bytes, touched "));
  CHECK(end.says("FiberOptions::stack_size"));
  CHECK_FALSE(end.says("went on"));
}

TEST_CASE("overflow: the same with mprotect guards [V-009] [B30]") {
  const Outcome end = run_program("overflow", {"recursion"}, {"WEFT_GUARD=mprotect"});
  CHECK(end.signal == SIGSEGV);
  CHECK(end.says(" \"doomed\"\n"));
}

TEST_CASE("overflow: a frame below the guard's size and without probes does not step over it [HB22] [B30]") {
  const Outcome end = run_program("unprobed", {});
  CHECK(end.signal == SIGSEGV);
  CHECK(end.says(" \"unprobed\"\n"));
}

TEST_CASE("overflow: with the probes that our target exports, a frame above the guard's size is caught too [HB22]") {
  const Outcome end = run_program("overflow", {"leap"});
  CHECK(end.signal == SIGSEGV);
  CHECK(end.says(" \"doomed\"\n"));
}

TEST_CASE("overflow: the neighbouring slot's fiber is untouched [V-009] [N-002] [B30]") {
  const Outcome end = run_program("overflow", {"neighbour"});
  CHECK(end.output == "the neighbour is as it was\n");
  CHECK(end.exit_code == 0);
}

TEST_CASE("overflow: reported on a second thread too, which has an alternate stack of its own [B30]") {
  const Outcome end = run_program("overflow", {"thread"});
  CHECK(end.signal == SIGSEGV);
  CHECK(end.says(" \"doomed\"\n"));
}

TEST_CASE("overflow: endless recursion on the smallest stack is reported like any other [B45]") {
  const Outcome end = run_program("overflow", {"smallest"});
  CHECK(end.signal == SIGSEGV);
  CHECK(end.says(" \"doomed\"\n"));
}

TEST_CASE("overflow: of nested fibers the one that overflowed is named [N-002]") {
  const Outcome end = run_program("overflow", {"nested"});
  CHECK(end.signal == SIGSEGV);
  CHECK(end.says(" \"doomed\"\n"));
  CHECK_FALSE(end.says("\"outer\""));
}

TEST_CASE("overflow: the size in the message is the fiber's own [N-002]") {
  const Outcome end = run_program("overflow", {"sized"});
  CHECK(end.signal == SIGSEGV);
  const std::size_t at = end.output.find("stack of ");
  REQUIRE(at != std::string::npos);
  CHECK(std::stoul(end.output.substr(at + 9)) >= 1u << 20);
}

TEST_CASE("overflow: the program's own handler gets every other fault, the report every overflow [B30]") {
  const Outcome fault = run_program("overflow", {"own-handler"});
  CHECK(fault.exit_code == 7);
  CHECK(fault.output == "the program's own handler\n");
  const Outcome overflow = run_program("overflow", {"own-handler-overflow"});
  CHECK(overflow.signal == SIGSEGV);
  CHECK(overflow.says("weft: stack overflow in fiber "));
}

TEST_CASE("overflow: without a handler of its own the program dies of other faults as ever [B30]") {
  const std::vector<std::string> bare{"ASAN_OPTIONS=handle_segv=0", "TSAN_OPTIONS=handle_segv=0"};
  const Outcome fault = run_program("overflow", {"fault"}, bare);
  CHECK(fault.signal == SIGSEGV);
  CHECK_FALSE(fault.says("weft: "));
  const Outcome raised = run_program("overflow", {"raise"}, bare);
  CHECK(raised.signal == SIGSEGV);
  CHECK_FALSE(raised.says("went on"));
}
