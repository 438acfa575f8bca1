// SPDX-License-Identifier: MIT
#include "weft/fiber.hpp"

#include <stdexcept>

#include "doctest/doctest.h"

using namespace weft;

TEST_CASE("fiber: a yield hands a value out and returns what resume hands in [J-015] [J-064]") {
  Fiber f([] { return 1 + yield(0).as<int>(); });
  CHECK(f.resume().value.as<int>() == 0);
  CHECK(f.resume(5).value.as<int>() == 6);
  CHECK(f.state() == State::dead);
}
