// SPDX-License-Identifier: MIT
// Fibers on alternating threads, for the optimisation levels that the test suite itself is not built with [N-007].
#include <cstdio>

#include "fiber/traveller.hpp"

int main() {
  const int wrong = weft_test::travel(10, 200);
  std::printf("wrong: %d\n", wrong);
  return wrong == 0 ? 0 : 1;
}
