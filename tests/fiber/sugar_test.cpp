// SPDX-License-Identifier: MIT
// protect, try_, defer, with, label, squelch, muffle: each over plain fibers.
#include "weft/sugar.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/watch.hpp"
#include "weft/registry.hpp"
#include "weft/trace.hpp"

using namespace weft;
using namespace weft_test;

namespace sugared {
void thrower_in_defer();
[[gnu::noinline]] void thrower_in_defer() {
  throw std::runtime_error("in defer");
}
}  // namespace sugared

TEST_CASE("sugar: protect gives a value or an error, and a yield inside goes through [J-079]") {
  const auto good = protect([] { return 5; });
  CHECK(good.ok);
  CHECK(*good.value == 5);

  auto thrown = protect([]() -> int { throw std::out_of_range("far"); });
  CHECK(!thrown.ok);
  CHECK(!thrown.value);
  CHECK_THROWS_AS(thrown.rethrow(), std::out_of_range);

  const auto emitted = protect([] { emit(sig::error, 9); });
  CHECK(!emitted);
  CHECK(emitted.error.as<int>() == 9);

  Fiber f([] { return *protect([] { return yield("through").as<int>() + 1; }).value; });
  CHECK(f.resume().value.as<std::string>() == "through");
  CHECK(f.resume(6).value.as<int>() == 7);

  // Its mask is :ie and nothing more: other ends go through it.
  protect([] {
    CHECK(current_fiber().mask() == sig::error);
    CHECK(current_fiber().ends() == (sig::error | sig::user0_4));
  });
  CHECK_THROWS_AS(protect([] { emit(sig::user1); }), SignalError);
}

TEST_CASE("sugar: try_ gives its handler the error and the fiber, and catches nothing else [J-080]") {
  Status status{};
  const int result = try_([]() -> int { throw std::string("bad"); },
                          [&](Payload error, Fiber& fiber) {
                            status = fiber.status();
                            try {
                              std::rethrow_exception(error.as<std::exception_ptr>());
                            } catch (const std::string& text) {
                              return static_cast<int>(text.size());
                            }
                            return 0;
                          });
  CHECK(result == 3);
  CHECK(status == Status::error);
  CHECK(try_([] { return 1; }, [](Payload) { return 2; }) == 1);
  CHECK(try_([]() -> int { return emit(sig::error, 8).as<int>(); }, [](Payload e) { return e.as<int>(); }) == 8);

  for (const SignalSet bits : {sig::yield, sig::debug, sig::user2, sig::user6, sig::interrupt, sig::io, sig::halt}) {
    CAPTURE(to_string(bits));
    bool handled = false;
    Fiber f([&] { try_([&] { emit(bits); }, [&](Payload) { handled = true; }); }, "a");
    CHECK(f.resume().bits == bits);
    CHECK(!handled);
  }
}

TEST_CASE("sugar: defer runs its cleanup on return, error and user0-4, then gives value or signal on [J-081]") {
  int cleaned = 0;
  CHECK(defer([&] { ++cleaned; }, [] { return 4; }) == 4);
  CHECK(cleaned == 1);
  CHECK_THROWS_AS(defer([&] { ++cleaned; }, [] { throw 1; }), int);
  CHECK(cleaned == 2);
  for (const SignalSet bits : {sig::error, sig::user0, sig::user1, sig::user2, sig::user3, sig::user4}) {
    CAPTURE(to_string(bits));
    cleaned = 0;
    Fiber f([&] { defer([&] { ++cleaned; }, [&] { emit(bits, 3); }); }, "t");
    const Event& event = f.resume();
    CHECK(event.bits == bits);
    CHECK(event.value.as<int>() == 3);
    CHECK(cleaned == 1);
  }
  SUBCASE("the trace is the original one") {
    std::string text;
    try {
      Fiber f([] { defer([] {}, [] { sugared::thrower_in_defer(); }); });
      f.resume();
    } catch (const std::runtime_error&) {
      text = to_string(trace());
    }
    CHECK(text.find("thrower_in_defer") != std::string::npos);
  }
  SUBCASE("cleanups run innermost first") {
    std::string log;
    CHECK_THROWS(defer([&] { log += "a"; }, [&] { defer([&] { log += "b"; }, [] { throw 1; }); }));
    CHECK(log == "ba");
  }
}

TEST_CASE("sugar: a yield inside defer suspends without cleanup, which runs at the end [J-082]") {
  std::string log;
  Fiber f([&] {
    defer([&] { log += "cleanup"; },
          [&] {
            yield(1);
            yield(2);
            log += "body ";
          });
  });
  CHECK(f.resume().value.as<int>() == 1);
  CHECK(f.resume().value.as<int>() == 2);
  CHECK(log.empty());
  CHECK(f.resume().ok());
  CHECK(log == "body cleanup");
}

namespace {

struct File {
  int* closes;
  void close() const { ++*closes; }
};

}  // namespace

TEST_CASE("sugar: with closes its resource once, on success and on error, by close or by what it is given [J-083]") {
  int closes = 0;
  CHECK(with(File{&closes}, [](File&) { return 6; }) == 6);
  CHECK(closes == 1);
  CHECK_THROWS_AS(with(File{&closes}, [](File&) { throw 1; }), int);
  CHECK(closes == 2);
  with(std::make_unique<File>(File{&closes}), [](auto& file) { CHECK(file != nullptr); });
  CHECK(closes == 3);
  std::vector<int> destroyed;
  with(7, [](int& n) { n = 8; }, [&](int& n) { destroyed.push_back(n); });
  CHECK_THROWS(with(9, [](int&) { throw 1; }, [&](int& n) { destroyed.push_back(n); }));
  CHECK(destroyed == std::vector{8, 9});
  Fiber f([&] { with(File{&closes}, [](File&) { yield(); }); });
  f.resume();
  CHECK(closes == 3);
  f.resume();
  CHECK(closes == 4);
}

TEST_CASE("sugar: label leaves from any depth, through other fibers and defers") {
  std::string log;
  const Payload value = label([&](Label& here) {
    Fiber f([&] {
      AtExit gone([&] { log += "destructor "; });
      defer([&] { log += "defer "; }, [&] { here.exit(42); });
      log += "NOT REACHED";
    });
    f.resume();
    log += "NOT REACHED";
  });
  CHECK(value.as<int>() == 42);
  CHECK(log == "defer destructor ");
  CHECK(label([](Label&) { return 5; }).as<int>() == 5);
  SUBCASE("an inner label hands on what is the outer's") {
    const Payload outer = label([](Label& far) {
      label([&](Label&) { far.exit("far"); });
      return Payload("not reached");
    });
    CHECK(outer.as<std::string>() == "far");
  }
}

TEST_CASE("sugar: squelch makes a new function and leaves the original as it was [E-067]") {
  int calls = 0;
  auto original = [&calls](int n) {
    ++calls;
    return yield(n).as<int>();
  };
  auto quiet = squelch(original, sig::yield);
  static_assert(!std::is_same_v<decltype(quiet), decltype(original)>);
  Fiber f([&] { return original(3); });
  CHECK(f.resume().value.as<int>() == 3);
  CHECK(f.resume(4).value.as<int>() == 4);
  Fiber g([&] { return quiet(3); });
  CHECK_THROWS_AS(g.resume(), SignalViolation);
  CHECK(calls == 2);
}

TEST_CASE("sugar: a squelched signal is a violation, all others pass [E-068]") {
  auto f = squelch([](SignalSet bits) { return emit(bits, 1).as<int>(); }, sig::yield | sig::user6);
  Fiber violating([&] { f(sig::yield); });
  CHECK_THROWS_WITH_AS(violating.resume(), doctest::Contains("signal-violation"), SignalViolation);
  for (const SignalSet bits : {sig::io, sig::debug, sig::user7, sig::user5 | sig::io}) {
    CAPTURE(to_string(bits));
    Fiber passing([&] { return f(bits); }, "a");
    CHECK(passing.resume().bits == bits);
    CHECK(passing.resume(5).value.as<int>() == 5);
  }
  CHECK(squelch([] { return 3; }, sig::yield)() == 3);
}

TEST_CASE("sugar: errors are never affected by squelch, even if it names them [E-069]") {
  auto thrown = squelch([] { throw std::out_of_range("same"); }, sig::error | sig::yield);
  CHECK_THROWS_WITH_AS(thrown(), "same", std::out_of_range);
  Fiber f([] { squelch([] { emit(sig::error, 5); }, sig::error | sig::yield)(); }, "e");
  CHECK(f.resume().bits == sig::error);
  CHECK(f.last().value.as<int>() == 5);
  SUBCASE("an error with a squelched bit stays an error and keeps its payload") {
    Fiber g([] { squelch([] { emit(sig::error | sig::yield, 5); }, sig::yield)(); }, "e");
    CHECK(g.resume().bits == squelch_bits(sig::error | sig::yield, sig::yield));
    CHECK(g.last().value.as<int>() == 5);
  }
  SUBCASE("and stays resumable where errors are") {
    Fiber g([] { return squelch([] { return emit(sig::error | sig::yield, 5).as<int>(); }, sig::yield)(); },
            sig::error);
    CHECK(g.resume().bits == sig::error);
    CHECK(g.last().value.as<int>() == 5);
    CHECK(g.resume(6).value.as<int>() == 6);
  }
}

TEST_CASE("sugar: squelch of an unknown signal is an error that names it [E-075]") {
  CHECK_THROWS_WITH_AS(squelch([] {}, "nope"), doctest::Contains("nope"), RegistryError);
  auto quiet = squelch([] { yield(1); }, "|yield io|");
  Fiber f([&] { quiet(); });
  CHECK_THROWS_AS(f.resume(), SignalViolation);
}

TEST_CASE("sugar: a function that keeps its muffled promise is left alone") {
  auto f = muffle([](int n) { return n + yield(n).as<int>(); }, sig::io | sig::error);
  Fiber g([&] { return f(2); });
  CHECK(g.resume().value.as<int>() == 2);
  CHECK(g.resume(3).value.as<int>() == 5);
}
