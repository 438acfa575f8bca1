// SPDX-License-Identifier: MIT
// Resume, yield, freeze, fail, cancel, kill: a round through the floor for builds with another context switch.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "weft/fiber.hpp"
#include "weft/generator.hpp"
#include "weft/sugar.hpp"

using namespace weft;

namespace {

int faults = 0;
void expect(bool condition, const char* what) {
  if (condition) return;
  ++faults;
  std::printf("wrong: %s\n", what);
}

struct Flag {
  bool* set;
  ~Flag() { *set = true; }
};

void values() {
  Fiber f([](Payload first) { return first.as<int>() + yield(1).as<int>(); });
  expect(f.resume(40).value.as<int>() == 1, "yield");
  expect(f.resume(2).value.as<int>() == 42, "return");
  int sum = 0;
  for (const int x : Generator<int>([] {
         for (int i = 0; i < 1000; ++i) yield(i);
       }))
    sum += x;
  expect(sum == 499500, "generator");
}

void chains() {
  Fiber outer(
      [] {
        Fiber inner([] { return emit(sig::user(5), 1).as<int>() * 2; });
        return inner.resume().value.as<int>() + 1;
      },
      "5");
  expect(outer.resume().value.as<int>() == 1, "a signal past a fiber");
  expect(outer.resume(10).value.as<int>() == 21, "the frozen chain goes on");
}

void errors() {
  Fiber f([] { throw std::runtime_error("x"); });
  try {
    f.resume();
    expect(false, "an error leaves resume");
  } catch (const std::runtime_error& error) {
    expect(std::string(error.what()) == "x", "the original error");
  }
  Fiber parked([] {
    try {
      throw std::logic_error("mine");
    } catch (const std::logic_error& error) {
      yield();
      return std::string(error.what());
    }
  });
  parked.resume();
  expect(std::current_exception() == nullptr, "exception state belongs to the fiber");
  expect(parked.resume().value.as<std::string>() == "mine", "parked inside catch");
  Fiber cancelled([] {
    try {
      yield();
    } catch (const SignalError& error) {
      return error.event.value.as<std::string>();
    }
    return std::string();
  });
  cancelled.resume();
  expect(cancelled.cancel("stop").value.as<std::string>() == "stop", "cancel");
  expect(!protect([] { throw 1; }).ok, "protect");
}

void kills() {
  bool unwound = false;
  Fiber f([&] {
    const Flag flag{&unwound};
    yield();
  });
  f.resume();
  f.kill();
  expect(unwound && f.state() == State::error, "kill");
  unwound = false;
  {
    Fiber dropped([&] {
      const Flag flag{&unwound};
      yield();
    });
    dropped.resume();
  }
  expect(unwound, "the last handle kills");
  Fiber swallows([] {
    try {
      yield();
    } catch (...) {
    }
  });
  swallows.resume();
  swallows.kill();
  expect(swallows.state() == State::error, "swallowed");
}

}  // namespace

int main() {
  for (int i = 0; i < 1000; ++i) {
    values();
    chains();
    errors();
    kills();
  }
  std::puts(faults == 0 ? "ok" : "failed");
  return faults == 0 ? 0 : 1;
}
