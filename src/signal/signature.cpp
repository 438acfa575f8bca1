// SPDX-License-Identifier: MIT
#include "weft/signature.hpp"

#include <stdexcept>
#include <string>

#include "weft/registry.hpp"

namespace weft::inline v0 {

namespace detail {

void throw_bad_parameter(unsigned index) {
  throw std::out_of_range("Signature::parameter(" + std::to_string(index) +
                          "): a signature tells the parameters 0 to 31 apart");
}

}  // namespace detail

Result<Signature> Signature::squelched(std::string_view names) const {
  Result<SignalSet> signals = signals_named(names);
  if (!signals) return std::unexpected(signals.error());
  return squelched(*signals);
}

std::string to_string(Signature signature) {
  if (signature.is_silent()) return "silent";
  std::string text = signature.bits.empty() ? "" : to_string(signature.bits);
  if (signature.propagates == 0) return text;
  text += text.empty() ? "parameters" : " + parameters";
  for (unsigned i = 0; i < Signature::parameters; ++i) {
    if (signature.propagates >> i & 1) text += ' ' + std::to_string(i);
  }
  return text;
}

}  // namespace weft::inline v0
