// SPDX-License-Identifier: MIT
// Suspending out of an open scope [HB4].
#include <chrono>
#include <functional>
#include <string>

#include "doctest/doctest.h"
#include "weft/weft.hpp"

using namespace weft;
using namespace std::chrono_literals;

namespace {

FiberErrc code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const FiberError& error) {
    CHECK(std::string(error.what()).find("still open") != std::string::npos);
    return error.code();
  }
  return FiberErrc::empty_handle;
}

}  // namespace

TEST_CASE("scope_open: a generator cannot yield out of its nursery, its timeout or its shield [HB4]") {
  weft::run([] {
    CHECK(code_of([] {
            Generator<int> g([] { with_nursery([](Nursery&) { yield(1); }); });
            for (int x : g) (void)x;
          }) == FiberErrc::scope_open);
    CHECK(code_of([] {
            Generator<int> g([] { timeout(1h, [] { yield(1); }); });
            for (int x : g) (void)x;
          }) == FiberErrc::scope_open);
    CHECK(code_of([] {
            Generator<int> g([] { shield([] { yield(1); }); });
            for (int x : g) (void)x;
          }) == FiberErrc::scope_open);
  });
}

TEST_CASE("scope_open: an outer fiber's open scope is found too, and a closed one is forgotten [HB4]") {
  weft::run([] {
    Fiber outer(
        [] {
          timeout(1h, [] {
            Fiber inner([] { emit(sig::user(5), 1); });
            inner.resume();
          });
        },
        SignalSet{sig::user(5)});
    CHECK(code_of([&] { outer.resume(); }) == FiberErrc::scope_open);

    Generator<int> g([] {
      with_nursery([](Nursery& n) { n.start([] {}); });
      yield(7);
    });
    int got = 0;
    for (int x : g) got += x;
    CHECK(got == 7);
  });
}

TEST_CASE("scope_open: what is answered on the spot may cross: a resumable error, debug [HB4]") {
  weft::run([] {
    for (const SignalSet bits : {SignalSet{sig::error}, SignalSet{sig::debug}}) {
      Fiber f([bits] { return timeout(1h, [bits] { CHECK(emit(bits, 1).as<int>() == 41); }); }, bits);
      CHECK(f.resume().bits == bits);
      CHECK(f.resume(41).value.as<bool>());
    }
  });
}
