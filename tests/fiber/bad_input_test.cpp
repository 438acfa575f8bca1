// SPDX-License-Identifier: MIT
// Everything that can be asked wrongly is refused with words that name the thing, and nothing is lost by it.
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "fiber/lane.hpp"
#include "fiber/refusal.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"
#include "weft/registry.hpp"
#include "weft/sugar.hpp"
#include "weft/trace.hpp"

using namespace weft;
using weft_test::called;
using weft_test::has;
using weft_test::Lane;
using weft_test::Outcome;
using weft_test::refusal;
using weft_test::run_program;

namespace {

bool still_works() {
  Fiber f([] { return yield(1).as<int>() + 1; });
  return f.resume().value.as<int>() == 1 && f.resume(1).value.as<int>() == 2;
}

}  // namespace

TEST_CASE("bad input: an unknown mask letter is named with the mask that holds it [B15]") {
  const std::size_t before = detail::stack_stats().slots;
  const std::string text = refusal([] { Fiber f([] {}, std::string("yz")); });
  CHECK(has(text, "'z'"));
  CHECK(has(text, "yz"));
  CHECK(detail::stack_stats().slots == before);
  CHECK(still_works());
}

TEST_CASE("bad input: an unknown signal name, a taken one and the 33rd are refused by name") {
  const Result<SignalSet> unknown = signal_named("no-such-signal");
  REQUIRE_FALSE(unknown.has_value());
  CHECK(has(unknown.error().what, "no-such-signal"));
  SignalRegistry registry;
  int added = 0;
  for (int i = 0; i < 32; ++i) added += registry.add("signal-" + std::to_string(i)).has_value();
  CHECK(added == 32);
  const Result<SignalSet> one_more = registry.add("signal-32");
  REQUIRE_FALSE(one_more.has_value());
  CHECK(has(one_more.error().what, "signal-32"));
  const Result<SignalSet> again = registry.add("signal-3");
  REQUIRE_FALSE(again.has_value());
  CHECK(has(again.error().what, "signal-3"));
  const Result<SignalSet> built_in = registry.add("yield");
  REQUIRE_FALSE(built_in.has_value());
  CHECK(has(built_in.error().what, "yield"));
  CHECK(registry.find("signal-31").value() == SignalSet::bit(63));
}

TEST_CASE("bad input: resume and cancel of a finished fiber say so and name it") {
  Fiber f([] { return 5; }, "y", {.name = "short-lived"});
  f.resume();
  const std::string resumed = refusal([&] { f.resume(); });
  CHECK(has(resumed, "finished: "));
  CHECK(has(resumed, (called(f) + " \"short-lived\" has finished").c_str()));
  CHECK(has(refusal([&] { f.cancel("x"); }), "nothing left to cancel"));
  f.kill();
  CHECK(f.state() == State::dead);
  CHECK(f.last().value.as<int>() == 5);
  CHECK(still_works());
}

TEST_CASE("bad input: a fiber that resumes itself, or one of its callers, is told who is alive") {
  Fiber outer;
  std::vector<std::string> texts;
  outer = Fiber([&] {
    Fiber inner([&] {
      texts.push_back(refusal([&] { current_fiber().resume(); }));
      texts.push_back(refusal([&] { outer.resume(); }));
      texts.push_back(refusal([&] { outer.cancel("x"); }));
      return 1;
    });
    return inner.resume().value.as<int>();
  });
  CHECK(outer.resume().value.as<int>() == 1);
  for (const std::string& text : texts) CHECK(has(text, "alive: fiber "));
  CHECK(has(texts[1], called(outer).c_str()));
}

TEST_CASE("bad input: a fiber that another thread runs is refused, and runs on undisturbed") {
  Lane lane;
  std::binary_semaphore inside{0};
  std::binary_semaphore leave{0};
  Fiber f([&] {
    inside.release();
    leave.acquire();
    return 7;
  });
  std::thread helper([&] { lane.run([&] { f.resume(); }); });
  inside.acquire();
  const std::string text = refusal([&] { f.resume(); });
  const std::string killed = refusal([&] { f.kill(); });
  leave.release();
  helper.join();
  CHECK(has(text, "foreign: "));
  CHECK(has(text, called(f).c_str()));
  CHECK(has(killed, "foreign: "));
  CHECK(f.last().value.as<int>() == 7);
}

TEST_CASE("bad input: a payload of the wrong type is kept and both types are named") {
  Fiber f([] {
    try {
      return yield(1).as<std::string>();
    } catch (const PayloadTypeError& error) {
      return std::string(error.what());
    }
  });
  f.resume();
  const std::string text = f.resume(5).value.as<std::string>();
  CHECK(has(text, "int"));
  CHECK(has(text, "string"));
  Generator<int> words([] { yield("text"); });
  const std::string element = refusal([&] { words.next(); });
  CHECK(has(element, "string"));
  CHECK(has(element, "int"));
}

TEST_CASE("bad input: a stack that is too large is refused with the limit, and sizes around it work") {
  const std::string text = refusal([] { Fiber f([] {}, "y", {.stack_size = std::size_t{64} << 20}); });
  CHECK(has(text, "a fiber stack of 67108864 bytes is too large; the limit is "));
  CHECK(has(refusal([] { Fiber f([] {}, "y", {.stack_size = SIZE_MAX}); }), "too large"));
  CHECK(has(refusal([] { Fiber f([] {}, "y", {.stack_size = SIZE_MAX - 70000}); }), "too large"));
  const std::size_t limit = std::stoul(text.substr(text.find("limit is ") + 9));
  CHECK(refusal([&] { Fiber f([] {}, "y", {.stack_size = limit}); }) == "accepted");
  CHECK(has(refusal([&] { Fiber f([] {}, "y", {.stack_size = limit + 1}); }), "too large"));
  CHECK(still_works());
}

TEST_CASE("bad input: an empty handle and a moved-from one are refused by every question") {
  Fiber moved([] { yield(1); });
  Fiber owner = std::move(moved);
  Fiber empty;
  for (Fiber* handle : {&empty, &moved}) {
    const auto refuses = [&](auto&& act) { return has(refusal(act), "empty_handle: this Fiber handle is empty"); };
    CHECK_FALSE(static_cast<bool>(*handle));
    CHECK(refuses([&] { handle->resume(); }));
    CHECK(refuses([&] { handle->cancel(1); }));
    CHECK(refuses([&] { handle->kill(); }));
    CHECK(refuses([&] { handle->last(); }));
    CHECK(refuses([&] { handle->take(); }));
    CHECK(refuses([&] { handle->status(); }));
    CHECK(refuses([&] { handle->state(); }));
    CHECK(refuses([&] { handle->can_resume(); }));
    CHECK(refuses([&] { handle->id(); }));
    CHECK(refuses([&] { handle->name(); }));
    CHECK(refuses([&] { handle->child(); }));
    CHECK(refuses([&] { handle->parent(); }));
    CHECK(refuses([&] { handle->stack_high_water(); }));
    CHECK(has(refusal([&] { propagate(*handle); }), "empty Fiber handle"));
    CHECK(stack_of(*handle).empty());
  }
  CHECK(owner.resume().value.as<int>() == 1);
}

TEST_CASE("bad input: a moved-from Generator is refused, the new owner goes on") {
  Generator<int> first([] {
    for (int i = 0;; ++i) yield(i);
  });
  first.next();
  Generator<int> second = std::move(first);
  CHECK(has(refusal([&] { first.next(); }), "empty_handle: this Generator is empty"));
  CHECK(has(refusal([&] { first.begin(); }), "this Generator is empty"));
  CHECK(*second.next() == 1);
}

TEST_CASE("bad input: propagate of a fiber without a signal is refused by name") {
  Fiber fresh([] {}, "y", {.name = "fresh"});
  CHECK(has(refusal([&] { propagate(fresh); }), "nothing_to_propagate: "));
  fresh.resume();
  const std::string text = refusal([&] { propagate(fresh); });
  CHECK(has(text, "\"fresh\" has returned normally"));
  Fiber self([] {
    Fiber me = current_fiber();
    return refusal([&] { propagate(me); });
  });
  CHECK(has(self.resume().value.as<std::string>(), "alive: "));
}

TEST_CASE("bad input: nested resumes beyond the recursion limit are an error at the resume, no overflow [B45]") {
  const std::uint32_t before = recursion_limit();
  set_recursion_limit(100);
  struct Nest {
    static int deeper(int depth) {
      Fiber f([depth] { return deeper(depth + 1); });
      return f.resume().value.as<int>();
    }
  };
  const std::string text = refusal([] { Nest::deeper(0); });
  set_recursion_limit(before);
  CHECK(has(text, "too_deep: fiber "));
  CHECK(has(text, "recursion limit"));
  CHECK(still_works());
}

TEST_CASE("bad input: emit of nothing, of internal bits and out of an ended label are refused by name") {
  CHECK(has(refusal([] { emit(SignalSet{}); }), "emit of the empty set"));
  CHECK(has(refusal([] { emit(sig::terminal); }), "|terminal|"));
  Label* kept = nullptr;
  label([&](Label& here) { kept = &here; });
  CHECK(kept != nullptr);
}

TEST_CASE(
    "bad input: a WEFT_STACK_SIZE that is no size is an error that names it; mended, the program goes on [V-010]") {
  for (const char* text : {"abc", "12Q", "-5", "0", "128KB", "99999999999999999999"}) {
    const Outcome end = run_program("environment", {"mend"}, {std::string("WEFT_STACK_SIZE=") + text});
    CHECK(end.exit_code == 0);
    CHECK(end.says(std::string("StackError: WEFT_STACK_SIZE=") + text + ": expected a size in bytes"));
    CHECK(end.says("ran: 42"));
  }
  const Outcome huge = run_program("environment", {"mend"}, {"WEFT_STACK_SIZE=1G"});
  CHECK(huge.says("StackError: WEFT_STACK_SIZE=1G: a fiber stack of 1073741824 bytes is too large"));
  CHECK(huge.says("ran: 42"));
}

TEST_CASE("stack: WEFT_STACK_SIZE sets the default size [V-010]") {
  CHECK(run_program("environment", {}, {"WEFT_STACK_SIZE=1M"}).says("stack at least 1M"));
  CHECK(run_program("environment", {}, {"WEFT_STACK_SIZE=1048576"}).says("stack at least 1M"));
  CHECK(run_program("environment", {}, {"WEFT_STACK_SIZE=32k"}).says("stack at least small"));
  CHECK(run_program("environment", {}, {"WEFT_STACK_SIZE="}).says("stack at least small"));
}

TEST_CASE("bad input: a WEFT_GUARD that is none is an error that names it") {
  const Outcome end = run_program("environment", {"mend"}, {"WEFT_GUARD=brick"});
  CHECK(end.exit_code == 0);
  CHECK(end.says("StackError: WEFT_GUARD=brick: expected auto, madvise or mprotect\nran: 42"));
  CHECK(run_program("environment", {}, {"WEFT_GUARD=mprotect"}).says("guard mprotect"));
}

TEST_CASE("bad input: a WEFT_MAX_DEPTH that is no depth is an error that names it; a good one is obeyed") {
  for (const char* text : {"many", "0", "-1", "12x", "16777216"}) {
    const Outcome end = run_program("environment", {"mend"}, {std::string("WEFT_MAX_DEPTH=") + text});
    CHECK(end.exit_code == 0);
    CHECK(end.says(std::string("FiberError bad_environment: WEFT_MAX_DEPTH=") + text +
                   ": expected a number of nested resumes from 1 to 16777215\nran: 42"));
  }
  CHECK(run_program("environment", {}, {"WEFT_MAX_DEPTH=77"}).says("depth 77"));
  CHECK(run_program("environment", {}, {}).says("depth 16384"));
}

TEST_CASE("bad input: a WEFT_STACK_WATERMARK other than 0 and 1 is an error that names it") {
  const Outcome end = run_program("environment", {"mend"}, {"WEFT_STACK_WATERMARK=yes"});
  CHECK(end.exit_code == 0);
  CHECK(end.says("FiberError bad_environment: WEFT_STACK_WATERMARK=yes: expected 0 or 1\nran: 42"));
}

TEST_CASE("kill: a fiber stopped inside a noexcept function cannot be: terminate, and a report says why [HB2] [B15]") {
  const Outcome end = run_program("environment", {"kill-noexcept"});
  CHECK(end.signal == SIGABRT);
  CHECK(end.says("weft: fiber "));
  CHECK(end.says(" \"stuck\" was killed"));
  CHECK(end.says("inside a noexcept function"));
  CHECK(end.says("programs/environment.cpp:"));
}
