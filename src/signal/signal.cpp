// SPDX-License-Identifier: MIT
#include "weft/signal.hpp"

#include <stdexcept>

#include "signal/builtin.hpp"

namespace weft::inline v0 {

namespace detail {

void throw_bad_bit(unsigned n) {
  throw std::out_of_range("SignalSet::bit(" + std::to_string(n) + "): a set has the bits 0 to 63");
}

void throw_bad_user_signal(unsigned n) {
  throw std::out_of_range("sig::user(" + std::to_string(n) + "): there are user0 to user9");
}

}  // namespace detail

std::string to_string(SignalSet set) {
  if (set.empty()) return "ok";
  std::string text = "|";
  for (unsigned n = 0; n < 64; ++n) {
    SignalSet bit = SignalSet::bit(n);
    if (!set.contains(bit)) continue;
    if (text.size() > 1) text += ' ';
    std::string_view name = detail::builtin_name(bit);
    text += name.empty() ? "bit" + std::to_string(n) : std::string(name);
  }
  return text + "|";
}

}  // namespace weft::inline v0
