// SPDX-License-Identifier: MIT
// refused: (use of deleted function|call to deleted function)
#include "weft/payload.hpp"

weft::Payload p = weft::Payload::ref(5);
