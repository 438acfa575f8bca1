// SPDX-License-Identifier: MIT
// refused: format: this type is no number, no text, and has no to_string
#include "weft/print.hpp"

struct Opaque {};
void show(const Opaque& opaque) {
  weft::println("{}", opaque);
}
