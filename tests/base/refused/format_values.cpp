// SPDX-License-Identifier: MIT
// refused: format_has_more_fields_than_values
#include "weft/print.hpp"

void show(int done) {
  weft::println("{} of {}", done);
}
