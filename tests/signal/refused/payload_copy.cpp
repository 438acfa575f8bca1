// SPDX-License-Identifier: MIT
// refused: (use of deleted function|call to deleted constructor)
#include "weft/payload.hpp"

weft::Payload one = 1;
weft::Payload two = one;
