// SPDX-License-Identifier: MIT
#include "weft/mask.hpp"

#include "signal/quoted.hpp"

namespace weft::inline v0 {

namespace detail {

void throw_bad_mask_letter(std::string_view letters, std::size_t position) {
  throw MaskError("mask " + quoted(letters) + ": unknown letter " + quoted(letters[position]) + " at position " +
                  std::to_string(position) + "; the letters are a e d y t u r w 0-9 i p");
}

void throw_null_mask() {
  throw MaskError("mask: null instead of letters; the letters are a e d y t u r w 0-9 i p");
}

}  // namespace detail

std::string to_string(const Mask& mask) {
  auto show = [](SignalSet set) { return set.empty() ? "nothing" : to_string(set); };
  std::string text = "catches " + show(mask.mask) + ", passes " + show(mask.pass) + ", ended by " + show(mask.ends);
  switch (mask.env) {
    case Env::none:
      break;
    case Env::share:
      text += ", shares bindings";
      break;
    case Env::layer:
      text += ", layers bindings";
      break;
  }
  return text;
}

}  // namespace weft::inline v0
