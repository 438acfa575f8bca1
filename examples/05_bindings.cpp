// SPDX-License-Identifier: MIT
// Dynamic bindings belong to fibers: a value that everything called from here sees, without passing it along.
#include <iostream>
#include <string>

#include "weft/weft.hpp"

namespace {

weft::Dyn<int> indent("indent");
weft::Dyn<std::string> user("user");

void log(const std::string& text) {
  std::cout << std::string(static_cast<std::size_t>(indent.get_or(0)), ' ') << user.get_or("nobody") << ": " << text
            << "\n";
}

}  // namespace

int main() {
  log("outside");
  weft::with_dyns(
      [] {
        log("inside");
        weft::with_dyns([] { log("deeper"); }, indent.bind(4));
        log("back");
      },
      indent.bind(2), user.bind("ada"));
  log("outside again");

  // i shares the maker's bindings, p puts a layer over them, neither means none.
  user.set("main");
  weft::Fiber([] { log("none"); }, "y").resume();
  weft::Fiber(
      [] {
        user.set("layer");
        log("layered");
      },
      "yp")
      .resume();
  log("unchanged");
  weft::Fiber([] { user.set("shared"); }, "yi").resume();
  log("changed");
}
