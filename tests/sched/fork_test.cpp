// SPDX-License-Identifier: MIT
#include <string>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"

using weft_test::Outcome;
using weft_test::run_program;

TEST_CASE("fork: without exec whatever would wait in the child is refused with a message [N-059]") {
  for (const char* what : {"yield", "recv", "end", "thread_recv", "run"}) {
    CAPTURE(what);
    const Outcome outcome = run_program("forking", {what});
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.says("weft: fork() without exec"));
    CHECK(outcome.says("the child ended with 70"));
  }
}

TEST_CASE("fork: exec in the child is safe, from a task and from the blocking pool [N-059]") {
  const Outcome outcome = run_program("forking", {"exec"});
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output == "the child ended with 0\nthe child ended with 1\n");
}

TEST_CASE("fork: a child that destroys its copy of a runtime waits for nobody [N-059]") {
  const Outcome outcome = run_program("forking", {"destroy"});
  CAPTURE(outcome.output);
  CHECK(outcome.output == "the child ended with 0\n");
}

TEST_CASE("fork: with no runtime alive the child may start its own [N-059]") {
  const Outcome outcome = run_program("forking", {"none"});
  CAPTURE(outcome.output);
  CHECK(outcome.output == "the child ended with 0\n");
}
