// SPDX-License-Identifier: MIT
#include "doctest/doctest.h"
#include "weft/event.hpp"
#include "weft/mask.hpp"
#include "weft/result.hpp"

using namespace weft;

TEST_CASE("signal floor: an event carries bits and a value through a move") {
  Event event{SignalSet{sig::error, sig::io}, "disk full"};
  Event moved = std::move(event);
  CHECK(moved.bits.contains(sig::error));
  CHECK(moved.value.as<std::string>() == "disk full");
  CHECK(event.value.empty());
  CHECK(to_string(moved) == "|error io| disk full");
  static_assert(Mask("ye").catches(sig::error));
  CHECK(Mask() == Mask("y"));
  Result<int> bad = fail(Errc::full, "no room");
  CHECK(to_string(bad.error()) == "full: no room");
}
