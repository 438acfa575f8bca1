// SPDX-License-Identifier: MIT
// A child and its parent's engine.
#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "io/engines.hpp"

using weft_test::Outcome;
using weft_test::run_program;

TEST_CASE("fork: a child leaves the engine to its parent, who reads on [N-059] [B38] [HC15]") {
  for (const weft_test::IoEngine engine : weft_test::engines()) {
    const std::string name = engine == weft_test::IoEngine::uring ? "uring" : "epoll";
    CAPTURE(name);
    const Outcome outcome = run_program("forking", {"read"}, {"WEFT_IO=" + name});
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.says("weft: fork() without exec"));
    CHECK(outcome.says("the child ended with 70"));
    CHECK_FALSE(outcome.says("something else"));
  }
}

TEST_CASE("fork: a child that destroys its copy of a runtime leaves the engine alone [N-059] [B38]") {
  for (const weft_test::IoEngine engine : weft_test::engines()) {
    const std::string name = engine == weft_test::IoEngine::uring ? "uring" : "epoll";
    const Outcome outcome = run_program("forking", {"destroy"}, {"WEFT_IO=" + name});
    CAPTURE(outcome.output);
    CHECK(outcome.output == "the child ended with 0\n");
  }
}
