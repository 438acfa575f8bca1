// SPDX-License-Identifier: MIT
// What: what a fiber stopped with. Empty bits: it returned, and value is the result.
#pragma once

#include <string>

#include "weft/payload.hpp"
#include "weft/signal.hpp"

namespace weft::inline v0 {

struct Event {
  SignalSet bits;
  Payload value;

  bool ok() const noexcept { return bits.empty(); }
};

// "|error io| disk full"
std::string to_string(const Event& event);

}  // namespace weft::inline v0
