// SPDX-License-Identifier: MIT
// Signals of running fibers: what each one is, how it arrives, which ones nobody may raise or see.
#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/watch.hpp"
#include "weft/fiber.hpp"
#include "weft/registry.hpp"
#include "weft/sugar.hpp"
#include "weft/trace.hpp"

using namespace weft;
using namespace weft_test;

TEST_CASE("signals: a body that returns gives ok, its value, and a dead fiber [J-012] [E-003]") {
  Fiber f([] { return 7; });
  const Event& event = f.resume();
  CHECK(event.ok());
  CHECK(event.bits == sig::ok);
  CHECK(event.bits.bits() == 0);
  CHECK(event.value.as<int>() == 7);
  CHECK(f.status() == Status::dead);
}

TEST_CASE("signals: any value can be raised as an error and arrives as it was [J-013] [E-004] [E-025]") {
  struct Point {
    int x, y;
  };
  const auto raised = [](auto value) {
    Fiber f([&] { emit(sig::error, std::move(value)); }, sig::error);
    f.resume();
    return f.take();
  };
  CHECK(raised(42).value.as<int>() == 42);
  CHECK(raised(std::string("disk full")).value.as<std::string>() == "disk full");
  CHECK(raised(Point{1, 2}).value.as<Point>().y == 2);
  CHECK(raised(std::function<int()>([] { return 9; })).value.as<std::function<int()>>()() == 9);
  CHECK(raised(std::make_unique<int>(5)).value.as<std::unique_ptr<int>>() != nullptr);
  CHECK(raised(1).bits == sig::error);

  SUBCASE("the same for user signals, under letters") {
    Fiber f([] { emit(sig::user3, Point{3, 4}); }, "3");
    CHECK(f.resume().value.as<Point>().x == 3);
  }
}

TEST_CASE("signals: a debug break suspends with exactly its bit and is resumable [J-014] [E-006]") {
  Fiber f([] { return emit(sig::debug, "here").as<int>() + 1; }, "d");
  const Event& event = f.resume();
  CHECK(event.bits == sig::debug);
  CHECK(event.bits.bits() == 4);
  CHECK(event.value.as<std::string>() == "here");
  CHECK(f.can_resume());
  CHECK(f.resume(9).value.as<int>() == 10);
}

TEST_CASE("signals: yield is caught by |yield| and resume continues [E-005] [J-063]") {
  std::vector<int> order;
  Fiber f(
      [&] {
        order.push_back(1);
        yield();
        order.push_back(2);
      },
      sig::yield);
  CHECK(f.resume().bits == sig::yield);
  CHECK(order == std::vector{1});
  CHECK(f.resume().ok());
  CHECK(order == std::vector{1, 2});
}

TEST_CASE(
    "signals: userN is caught by its digit, u, a, and t up to 4, by no other letter "
    "[J-016] [J-017] [J-018] [J-019] [J-020] [J-021] [J-022] [J-023]") {
  for (unsigned n = 0; n < 8; ++n) {
    for (const char letter : std::string("aedyturw0123456789")) {
      const bool wanted =
          letter == static_cast<char>('0' + n) || letter == 'u' || letter == 'a' || (letter == 't' && n <= 4);
      const Seen seen = watch(Mask(std::string(1, letter)), sig::user(n));
      CAPTURE(n);
      CAPTURE(letter);
      CHECK(seen.caught == wanted);
      CHECK(seen.bits == SignalSet::bit(16 + n));
      CHECK(seen.value == 7);
    }
  }
}

TEST_CASE("signals: await suspends its fiber until it is resumed with a result [J-025] [J-040]") {
  Fiber f([] { return emit(sig::await, "timer").as<int>(); }, "w");
  CHECK(f.resume().bits == sig::await);
  CHECK(f.status() == Status::suspended);
  CHECK(f.state() == State::suspended);
  CHECK(f.resume(3).value.as<int>() == 3);
}

namespace {

// Every transfer below is received here.
[[gnu::noinline]] const Event& receive(Fiber& f) {
  return f.resume(1);
}

struct Transfer {
  SignalSet bits;
  void (*body)();
};

const std::array<Transfer, 5> transfers{{
    {sig::ok, [] {}},
    {sig::error, [] { throw 1; }},
    {sig::yield, [] { yield(); }},
    {sig::debug, [] { emit(sig::debug); }},
    {sig::user6, [] { emit(sig::user6); }},
}};

}  // namespace

TEST_CASE("signals: return, error, yield, debug and user come back at one place, as one event, by one mask [J-026]") {
  std::set<const void*> places;
  for (const Transfer& transfer : transfers) {
    CAPTURE(to_string(transfer.bits));
    Fiber caught(
        [&] {
          // Where the resumer sleeps, and so where it goes on whatever we do now.
          places.insert(detail::current_core()->parent->ctx.pc);
          transfer.body();
        },
        "a");
    const Event& event = receive(caught);
    CHECK(event.bits == transfer.bits);
    CHECK(&event == &caught.last());

    // The same five under a mask that names none of them: the return arrives, nothing else does.
    bool arrived = false;
    Fiber outer(
        [&] {
          Fiber inner([&] { transfer.body(); }, "5");
          receive(inner);
          arrived = true;
        },
        "a");
    CHECK(receive(outer).bits == transfer.bits);
    CHECK(arrived == transfer.bits.empty());
  }
#if !defined(WEFT_CONTEXT_BOOST)
  CHECK(places.size() == 1);
#endif
}

TEST_CASE("signals: internal, runtime-only, reserved and empty bits cannot be emitted [E-020] [E-015]") {
  int refused = 0;
  Fiber f(
      [&] {
        for (unsigned n = 0; n < 64; ++n) {
          if (!sig::not_emittable.contains(SignalSet::bit(n))) continue;
          try {
            emit(SignalSet::bit(n) | sig::yield);
          } catch (const EmitError& error) {
            CHECK(std::string(error.what()).find(to_string(SignalSet::bit(n))) != std::string::npos);
            ++refused;
          }
        }
        CHECK_THROWS_AS(emit(sig::ok), EmitError);
      },
      sig::all);
  CHECK(f.resume().ok());
  CHECK(refused == sig::not_emittable.count());
  for (SignalSet bits : {sig::resume, sig::propagate, sig::query, sig::terminal, sig::switch_, sig::abort})
    CHECK_THROWS_AS(emit(bits), EmitError);
}

TEST_CASE("signals: what the runtime raises itself, masks can name: fuel is bit 12, wait bit 14, exec bit 11 [E-015]") {
  for (const unsigned n : {11u, 12u, 14u}) {
    Fiber f([n] { return detail::emit_slow(detail::current_core(), SignalSet::bit(n), Payload(1), true).as<int>(); },
            SignalSet{sig::exec, sig::fuel, sig::wait});
    CHECK(f.resume().bits == SignalSet::bit(n));
    CHECK(f.resume(5).value.as<int>() == 5);
  }
}

TEST_CASE(
    "signals: resuming, propagating and asking show no internal bit to any mask or event [E-007] [E-009] [E-011]") {
  constexpr SignalSet hidden = sig::resume | sig::propagate | sig::query | sig::switch_;
  std::vector<SignalSet> seen;
  const auto busy = [&] {
    Fiber child(
        [] {
          yield(1);
          emit(sig::user6, 2);
          emit(sig::user2, 3);
        },
        "y62");
    seen.push_back(child.resume().bits);
    // Questions: about itself, its child, the whole chain. None of them stops anybody.
    seen.push_back(child.last().bits);
    CHECK(current_fiber().status() == Status::alive);
    CHECK(child.status() == Status::pending);
    CHECK(!stack_of(child).empty());
    seen.push_back(child.resume().bits);
    seen.push_back(propagate(child).bits);
    propagate(child);
  };

  // Whoever names only internal bits sees nothing of it.
  Fiber blind(busy, hidden);
  Fiber middle([&] { blind.resume(); }, SignalSet{});
  Fiber outer([&] { middle.resume(); }, sig::all);
  seen.push_back(outer.resume().bits);
  CHECK(seen.back() == sig::user6);
  CHECK(outer.status() == Status::user6);
  seen.push_back(outer.resume().bits);
  CHECK(seen.back() == sig::user2);
  CHECK(blind.status() == Status::user2);
  const std::vector<SignalSet> wanted{sig::yield, sig::yield, sig::user6, sig::user6, sig::user2, sig::user2};
  CHECK(seen == wanted);
  for (SignalSet bits : seen) CHECK(!bits.overlaps(sig::internal));
}

TEST_CASE("signals: abort is error and terminal; its target unwinds through defer and protect [E-010]") {
  static_assert(sig::abort.bits() == 0x401);
  std::string log;
  const auto body = [&] {
    AtExit outer([&] { log += "o"; });
    defer([&] { log += "D"; },
          [&] {
            AtExit inner([&] { log += "i"; });
            log += protect([&] {
              AtExit innermost([&] { log += "m"; });
              yield();
            })
                       ? "returned "
                       : "protected ";
          });
    log += "after ";
  };
  SUBCASE("killed: destructors run, protect and defer let it through, the event says 0x401") {
    Fiber f(body);
    f.resume();
    f.kill();
    CHECK(log == "mio");
    CHECK(f.last().bits == sig::abort);
    CHECK(f.state() == State::error);
  }
  SUBCASE("cancelled: the target sees a plain error and its handlers run") {
    Fiber f(body);
    f.resume();
    CHECK(f.cancel("stop").ok());
    CHECK(log == "mprotected iDafter o");
  }
}

TEST_CASE("signals: terminal passes every mask, and defer and protect do not run [E-014] [E-018]") {
  static_assert(sig::terminal.bits() == 1024);
  bool cleaned = false, went_on = false;
  const Outcome outcome = in_child_process([&] {
    Fiber f(
        [&] {
          Fiber letters(
              [&] {
                defer([&] { cleaned = true; },
                      [&] {
                        protect([] { muffle([] { yield(); }, sig::yield)(); });
                        went_on = true;
                      });
              },
              "a");
          letters.resume();
          went_on = true;
        },
        sig::all);
    try {
      f.resume();
    } catch (const MuffledSignal&) {
      ::_exit(f.last().bits == sig::abort && !cleaned && !went_on ? 33 : 34);
    }
  });
  CHECK(outcome.exited(33));
  CHECK(outcome.text.find("muffled for |yield| emitted |yield|") != std::string::npos);
  for (const Mask& mask : {Mask(sig::all), Mask("a"), Mask("aedyturw0123456789")}) CHECK(!mask.catches(sig::abort));
}

TEST_CASE("signals: halt ends the run with its value, and no further code runs but destructors [E-012] [E-021]") {
  static_assert(sig::halt.bits() == 256);
  std::string log;
  const Event event = enclose([&] {
    Fiber outer([&] {
      AtExit bye([&] { log += "outer "; });
      Fiber inner([&] {
        AtExit bye_inner([&] { log += "inner "; });
        protect([&] {
          defer([&] { log += "CLEANUP "; }, [&] { emit(sig::halt, 42); });
          log += "AFTER ";
        });
        log += "AFTER ";
      });
      inner.resume();
      log += "AFTER ";
    });
    outer.resume();
    log += "AFTER ";
    return 1;
  });
  CHECK(event.bits == sig::halt);
  CHECK(event.value.as<int>() == 42);
  CHECK(log == "inner outer ");

  SUBCASE("a run without a halt gives its own value") {
    const Event plain = enclose([] { return 5; });
    CHECK(plain.ok());
    CHECK(plain.value.as<int>() == 5);
  }
  SUBCASE("a mask that names it catches it") {
    Fiber f([] { emit(sig::halt, 1); }, sig::halt);
    CHECK(f.resume().bits == sig::halt);
  }
}

TEST_CASE("signals: an error with more bits is still handled as an error [E-027]") {
  CHECK(watch("e", sig::error | sig::debug).caught);
  Fiber f([] { return protect([] { emit(sig::error | sig::user7, 5); }).error.as<int>(); });
  CHECK(f.resume().value.as<int>() == 5);
  Fiber g([] { emit(sig::error | sig::user7, 5); }, "7");
  g.resume();
  CHECK(g.status() == Status::error);
}

TEST_CASE("signals: emit keeps the payload in the fiber, suspends it, and resume returns the bits [E-037]") {
  Fiber f([] { emit(sig::user5, "payload"); }, "5");
  const SignalSet bits = f.resume().bits;
  CHECK(bits == sig::user5);
  CHECK(f.state() == State::suspended);
  CHECK(f.last().value.as<std::string>() == "payload");
}

TEST_CASE("signals: whether a signal is final is the handler's choice [E-036]") {
  const auto body = [] { return emit(sig::error, "no number").as<int>() + 1; };
  SUBCASE("one handler answers") {
    Fiber f(body, sig::error);
    CHECK(f.resume().bits == sig::error);
    CHECK(f.can_resume());
    CHECK(f.resume(41).value.as<int>() == 42);
  }
  SUBCASE("another lets it fall") {
    bool unwound = false;
    {
      Fiber f(
          [&] {
            AtExit gone([&] { unwound = true; });
            return body();
          },
          sig::error);
      CHECK(f.resume().bits == sig::error);
      CHECK(!unwound);
    }
    CHECK(unwound);
  }
}

TEST_CASE("signals: without a catcher an error is thrown where it was emitted, anything else as UncaughtSignal") {
  CHECK_THROWS_AS(emit(sig::error, 1), SignalError);
  CHECK_THROWS_AS(emit(sig::user4, 1), SignalError);
  CHECK_THROWS_AS(emit(sig::user5, 1), UncaughtSignal);
  CHECK_THROWS_AS(yield(1), UncaughtSignal);
  try {
    emit(sig::yield, 99);
  } catch (const UncaughtSignal& uncaught) {
    CHECK(uncaught.event.bits == sig::yield);
    CHECK(uncaught.event.value.as<int>() == 99);
    CHECK(std::string(uncaught.what()).find("|yield| carrying 99") != std::string::npos);
  }
  const auto failure = std::make_exception_ptr(std::string("mine"));
  CHECK_THROWS_AS(emit(sig::error, failure), std::string);
}
