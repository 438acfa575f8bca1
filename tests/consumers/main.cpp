// SPDX-License-Identifier: MIT
// What an outside program does first: include, link, catch a signal.
#include <iostream>

#include "weft/event.hpp"
#include "weft/mask.hpp"

int main() {
  const weft::Event event{weft::sig::error, "disk full"};
  if (!weft::Mask("ye").mask.overlaps(event.bits)) return 1;
  std::cout << to_string(event) << "\n";
}
