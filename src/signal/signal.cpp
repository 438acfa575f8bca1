// SPDX-License-Identifier: MIT
#include "weft/signal.hpp"

#include <stdexcept>
#include <string>

namespace weft::inline v0 {

namespace detail {

void throw_bad_bit(unsigned n) {
  throw std::out_of_range("SignalSet::bit(" + std::to_string(n) + "): a set has the bits 0 to 63");
}

void throw_bad_user_signal(unsigned n) {
  throw std::out_of_range("sig::user(" + std::to_string(n) + "): there are user0 to user9");
}

}  // namespace detail

}  // namespace weft::inline v0
