// SPDX-License-Identifier: MIT
// A switch of stacks under a shadow stack needs more than ours does. So none of our objects may say that it supports
// one, and a program that links us is started without [B32].
#include "doctest/doctest.h"
#include "fiber/child_process.hpp"

using weft_test::Outcome;
using weft_test::run_command;

TEST_CASE("cet: no object of the library claims a shadow stack or branch tracking [B32]") {
  const Outcome notes = run_command({"readelf", "--notes", "--wide", WEFT_TEST_LIBRARY});
  REQUIRE(notes.exit_code == 0);
  CHECK(notes.says("libweft"));
  CHECK_FALSE(notes.says("SHSTK"));
  CHECK_FALSE(notes.says("IBT"));
  const Outcome program = run_command({"readelf", "--notes", "--wide", std::string(WEFT_TEST_PROGRAMS) + "/verbs"});
  REQUIRE(program.exit_code == 0);
  CHECK_FALSE(program.says("SHSTK"));
}
