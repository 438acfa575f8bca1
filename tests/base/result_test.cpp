// SPDX-License-Identifier: MIT
#include "weft/result.hpp"

#include <cerrno>
#include <set>
#include <string>

#include "doctest/doctest.h"

using namespace weft;

TEST_CASE("result: an error carries a kind, words and what the system said") {
  Result<int> bad = fail(Errc::system, "cannot map a stack", ENOMEM);
  REQUIRE(!bad);
  CHECK(bad.error() == Error{Errc::system, "cannot map a stack", ENOMEM});
  CHECK(to_string(bad.error()) == "system: cannot map a stack (Cannot allocate memory)");
  CHECK(to_string(Error{Errc::full, "no room"}) == "full: no room");
  Result<int> good = 5;
  CHECK(good.value() == 5);
  Result<void> done;
  CHECK(done.has_value());
}

TEST_CASE("result: every kind has a name of its own") {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(Errc::system); ++code) {
    std::string name = to_string(static_cast<Errc>(code));
    CHECK(name != "unknown");
    CHECK(names.insert(name).second);
  }
  CHECK(std::string(to_string(static_cast<Errc>(200))) == "unknown");
}
