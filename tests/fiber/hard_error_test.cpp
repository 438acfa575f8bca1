// SPDX-License-Identifier: MIT
// What leaves resume when a fiber fails: HB3.
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "weft/fiber.hpp"
#include "weft/sugar.hpp"
#include "weft/trace.hpp"

using namespace weft;

namespace {

struct MyError : std::runtime_error {
  using std::runtime_error::runtime_error;
  int code = 0;
  const void* made_at = this;
};

// extern "C" and not inlined: a frame with a name that every machine shows alike.
extern "C" [[gnu::noinline]] void weft_test_thrower(int code) {
  MyError error("broken");
  error.code = code;
  throw error;
}
extern "C" [[gnu::noinline]] void weft_test_caller(int code) {
  weft_test_thrower(code);
  asm volatile("" ::: "memory");
}

std::vector<std::string> functions_of(const TracePart& part) {
  std::vector<std::string> names;
  for (const ResolvedFrame& frame : resolve(part)) names.push_back(frame.function);
  return names;
}

bool names(const TracePart& part, const std::string& function) {
  for (const std::string& name : functions_of(part))
    if (name.find(function) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("error: the original object leaves resume, through every fiber, unwrapped [HB3]") {
  const void* thrown = nullptr;
  Fiber outer([&] {
    Fiber inner([&] {
      try {
        weft_test_caller(7);
      } catch (const MyError& error) {
        thrown = &error;
        throw;
      }
    });
    inner.resume();
  });
  try {
    outer.resume();
    FAIL("the error got lost");
  } catch (MyError& error) {
    CHECK(&error == thrown);
    CHECK(error.code == 7);
  }
}

TEST_CASE("error: a caught one is the exception itself in the event [HB3]") {
  Fiber f([] { weft_test_caller(8); }, "e");
  const Event& event = f.resume();
  CHECK(event.bits == sig::error);
  try {
    std::rethrow_exception(event.value.as<std::exception_ptr>());
  } catch (const MyError& error) {
    CHECK(error.code == 8);
  }
}

TEST_CASE("error: trace() in the handler shows the throwing frames of every fiber, innermost first [HB3]") {
  std::uint64_t inner_id = 0;
  Fiber outer(
      [&] {
        Fiber inner([] { weft_test_caller(1); }, "y", {.name = "inner"});
        inner_id = inner.id();
        inner.resume();
      },
      "y", {.name = "outer"});
  try {
    outer.resume();
    FAIL("the error got lost");
  } catch (const MyError&) {
    const Trace seen = trace();
    REQUIRE(seen.parts.size() == 3);
    CHECK(seen.parts[0].fiber == inner_id);
    CHECK(seen.parts[0].name == "inner");
    CHECK(names(seen.parts[0], "weft_test_thrower"));
    CHECK(names(seen.parts[0], "weft_test_caller"));
    CHECK(seen.parts[1].fiber == outer.id());
    CHECK(seen.parts[1].name == "outer");
    CHECK(seen.parts[2].fiber == 0);
    const std::string text = to_string(seen);
    CHECK(text.find("\"inner\"") < text.find("\"outer\""));
  }
}

TEST_CASE("error: the frames are taken before unwinding, so a handler that saves nothing still has them [HB3]") {
  Trace seen;
  Fiber f([] { weft_test_caller(2); }, "e");
  f.resume();
  try {
    std::rethrow_exception(f.last().value.as<std::exception_ptr>());
  } catch (...) {
    seen = trace();
  }
  REQUIRE(seen.parts.size() == 2);
  CHECK(names(seen.parts[0], "weft_test_thrower"));
}

TEST_CASE("error: the trace belongs to one failure; outside a handler and for another error there is none [HB3]") {
  CHECK(trace().empty());
  Fiber f([] { weft_test_caller(3); }, "e");
  f.resume();
  CHECK(trace().empty());
  try {
    throw std::logic_error("another");
  } catch (const std::logic_error&) {
    const Trace seen = trace();
    CHECK(seen.parts.size() == 1);  // this stack alone
    CHECK(seen.parts[0].fiber == 0);
  }
}

TEST_CASE("error: other_errors is empty where one fiber failed alone [HB3]") {
  CHECK(other_errors().empty());
  Fiber f([] { weft_test_caller(4); });
  try {
    f.resume();
  } catch (const MyError&) {
    CHECK(other_errors().empty());
  }
}

TEST_CASE("error: SignalError is only for events that were no exceptions [HB3]") {
  Fiber thrown([] { emit(sig::error, std::make_exception_ptr(MyError("as payload"))); });
  CHECK_THROWS_AS(thrown.resume(), MyError);
  Fiber value([] { emit(sig::error, 5); });
  CHECK_THROWS_AS(value.resume(), SignalError);
}
