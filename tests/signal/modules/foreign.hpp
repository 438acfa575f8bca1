// SPDX-License-Identifier: MIT
// What: what the test program and the module that it loads both know.
#pragma once

#include <string>

struct Shared {
  int number;
  std::string text;
};
