// SPDX-License-Identifier: MIT
// refused: a payload owns its text: views and char pointers are stored as std::string, ask for that
#include "weft/payload.hpp"

std::string_view read(weft::Payload& p) {
  return p.as<std::string_view>();
}
