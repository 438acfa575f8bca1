// SPDX-License-Identifier: MIT
// refused: a payload owns what it holds and a pointer does not: use Payload::ref
#include "weft/payload.hpp"

int number = 0;
weft::Payload p = &number;
