// SPDX-License-Identifier: MIT
// refused: a payload owns what it holds and a pointer does not: use Payload::ref
#include "weft/payload.hpp"

int numbers[3] = {1, 2, 3};
weft::Payload p = numbers;
