// SPDX-License-Identifier: MIT
// What: a shared object with hidden symbols, as a plugin would be: it has its own table behind each payload type.
#include "signal/modules/foreign.hpp"

#include "weft/payload.hpp"

extern "C" [[gnu::visibility("default")]] void foreign_int(weft::Payload& out) {
  out = 42;
}

extern "C" [[gnu::visibility("default")]] void foreign_shared(weft::Payload& out) {
  out = Shared{7, "made in a module, with a text that is too long to sit inside of a string object"};
}

extern "C" [[gnu::visibility("default")]] int foreign_read(const weft::Payload& in) {
  return in.as<Shared>().number;
}
