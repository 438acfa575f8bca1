// SPDX-License-Identifier: MIT
// refused: a payload holds plain values: ask for the type without const, reference or array
#include "weft/payload.hpp"

const int& read(weft::Payload& p) {
  return p.as<const int>();
}
