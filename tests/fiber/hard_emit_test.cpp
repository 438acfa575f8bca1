// SPDX-License-Identifier: MIT
// Who catches, who ends, who owns the value: HA8, HB6, HB28 and the small cases HC1 to HC4.
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/refusal.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"
#include "weft/registry.hpp"
#include "weft/sugar.hpp"

using namespace weft;
using weft_test::has;
using weft_test::refusal;

namespace {

struct Note {
  std::vector<std::string>& log;
  const char* word;
  ~Note() { log.emplace_back(word); }
};

}  // namespace

TEST_CASE("emit: a body that threw is over, although its SignalSet mask lets handlers resume errors [HA8.1]") {
  Fiber f([] { throw std::runtime_error("x"); }, SignalSet{sig::error});
  CHECK(f.ends().empty());
  CHECK(f.resume().bits == sig::error);
  CHECK(f.state() == State::error);
  CHECK_FALSE(f.can_resume());
  CHECK(has(refusal([&] { f.resume(1); }), "finished: fiber"));
}

TEST_CASE("emit: an emitted error under a SignalSet mask is answered and the body goes on [HA8.1]") {
  Fiber f([] { return emit(sig::error, "no such file").as<int>() + 1; }, SignalSet{sig::error});
  const Event& asked = f.resume();
  CHECK(asked.bits == sig::error);
  CHECK(asked.value.as<std::string>() == "no such file");
  CHECK(f.can_resume());
  CHECK(f.resume(41).value.as<int>() == 42);
}

TEST_CASE("emit: a letter fiber above ends a SignalSet fiber's error [HA8.2]") {
  std::vector<std::string> log;
  Fiber inner;
  Fiber outer(
      [&] {
        const Note note{log, "outer"};
        inner = Fiber(
            [&] {
              const Note inner_note{log, "inner"};
              emit(sig::error, 7);
              log.emplace_back("resumed");
            },
            SignalSet{sig::yield});
        inner.resume();
        log.emplace_back("caught nothing");
      },
      "e");
  const Event& event = outer.resume();
  CHECK(event.bits == sig::error);
  CHECK(event.value.as<int>() == 7);
  CHECK(log == std::vector<std::string>{"inner", "outer"});
  CHECK(outer.state() == State::error);
  CHECK(inner.state() == State::error);
  CHECK_FALSE(outer.can_resume());
  CHECK_FALSE(inner.can_resume());
  CHECK(outer.child() == inner);
}

TEST_CASE("emit: with SignalSet masks all the way the same error freezes the chain [HA8.2]") {
  std::vector<std::string> log;
  Fiber outer(
      [&] {
        const Note note{log, "outer"};
        Fiber inner([] { return emit(sig::error, 7).as<int>() * 2; }, SignalSet{sig::yield});
        return inner.resume().value.as<int>() + 1;
      },
      SignalSet{sig::error});
  CHECK(outer.resume().value.as<int>() == 7);
  CHECK(log.empty());
  CHECK(outer.resume(10).value.as<int>() == 21);
}

TEST_CASE("emit: a signal that nobody catches is an error at the emitter, which keeps running [HA8.3]") {
  int caught = 0;
  Fiber f(
      [&] {
        for (const SignalSet bits : {sig::yield, sig::user(5), sig::debug, sig::ffi}) {
          try {
            emit(bits, 3);
          } catch (UncaughtSignal& uncaught) {
            if (uncaught.event.bits == bits && uncaught.event.value.as<int>() == 3) ++caught;
          }
        }
        return caught;
      },
      "e");
  CHECK(f.resume().value.as<int>() == 4);
  CHECK(f.state() == State::dead);
}

TEST_CASE("emit: on a plain thread yield is uncaught, error and user0 to user4 finish [HA8.3]") {
  CHECK_THROWS_AS(yield(1), UncaughtSignal);
  CHECK_THROWS_AS(emit(sig::user(5)), UncaughtSignal);
  CHECK_THROWS_AS(emit(sig::error, 1), SignalError);
  for (unsigned n = 0; n <= 4; ++n) CHECK_THROWS_AS(emit(sig::user(n)), SignalError);
  CHECK(has(refusal([] { yield(1); }), "|yield| carrying 1"));
}

TEST_CASE("emit: an error that no mask names ends the fiber and leaves resume as SignalError [HA8.3]") {
  Fiber f([] { emit(sig::error, 12); }, SignalSet{sig::yield});
  try {
    f.resume();
    FAIL("the error got lost");
  } catch (SignalError& error) {
    CHECK(error.event.bits == sig::error);
    CHECK(error.event.value.as<int>() == 12);
  }
  CHECK(f.state() == State::error);
}

TEST_CASE("emit: catch (...) in a fiber between takes a finishing signal that its mask did not name [HA8.4]") {
  bool middle_saw = false;
  Fiber outer(
      [&] {
        Fiber middle(
            [&] {
              Fiber inner([] { emit(sig::user(0), 5); }, "y");
              try {
                inner.resume();
              } catch (...) {
                middle_saw = true;
              }
              return 1;
            },
            "y");
        return middle.resume().value.as<int>();
      },
      "0");
  CHECK(outer.resume().ok());
  CHECK(middle_saw);
  CHECK(outer.last().value.as<int>() == 1);
}

TEST_CASE("event: resume returns the fiber's own event, readable until take moves it out [HB6]") {
  Fiber f([] {
    std::string text = "only on this stack";
    yield(std::string_view(text));
    return std::string(100, 'z');
  });
  const Event& event = f.resume();
  CHECK(&event == &f.last());
  CHECK(f.last().value.as<std::string>() == "only on this stack");
  CHECK(f.last().value.as<std::string>() == "only on this stack");
  Event taken = f.take();
  CHECK(taken.value.as<std::string>() == "only on this stack");
  CHECK(f.last().bits == sig::yield);
  CHECK(f.last().value.empty());
  f.resume();
  CHECK(f.take().value.as<std::string>() == std::string(100, 'z'));
}

TEST_CASE("event: text of a finishing signal outlives the frame that was unwound [HB6]") {
  Fiber f(
      [] {
        char local[40] = "made in a frame that is gone by now";
        emit(sig::user(3), local);
      },
      "3");
  const Event& event = f.resume();
  CHECK(event.bits == sig::user(3));
  CHECK(event.value.as<std::string>() == "made in a frame that is gone by now");
  CHECK(f.state() == State::dead);
  CHECK(f.status() == Status::user3);
}

TEST_CASE("event: asking a payload for the wrong type names both [HB6]") {
  Fiber f([] { yield(5); });
  f.resume();
  const std::string text = refusal([&] { f.last().value.as<std::string>(); });
  CHECK(has(text, "int"));
  CHECK(has(text, "string"));
  CHECK(f.last().value.as<int>() == 5);
}

TEST_CASE("cancel: it injects at once, and a running fiber refuses it [HB28]") {
  std::string seen;
  Fiber f([&] {
    try {
      yield();
    } catch (const SignalError& error) {
      seen = error.event.value.as<std::string>();
    }
    Fiber self = current_fiber();
    const std::string text = refusal([&] { self.cancel("me"); });
    return has(text, "alive: ") && has(text, weft_test::called(self).c_str());
  });
  f.resume();
  const Event& end = f.cancel("stop");
  CHECK(seen == "stop");
  CHECK(end.ok());
  CHECK(end.value.as<bool>());
}

TEST_CASE("yield: it always emits, whoever is above [HB28]") {
  Fiber caught([] { yield(1); }, "y");
  CHECK(caught.resume().bits == sig::yield);
  Fiber not_caught([] { yield(1); }, "d");
  CHECK_THROWS_AS(not_caught.resume(), UncaughtSignal);
}

TEST_CASE("emit: internal, runtime-only and reserved bits are refused by name, masks may name exec, fuel, wait [HC1]") {
  Fiber f(
      [] {
        int refused = 0;
        for (const unsigned bit : {3u, 5u, 7u, 10u, 13u, 11u, 12u, 14u, 15u, 26u, 31u}) {
          try {
            emit(SignalSet::bit(bit) | sig::yield);
          } catch (const EmitError& error) {
            if (std::string(error.what()).find("raised by the runtime only") != std::string::npos) ++refused;
          }
        }
        return refused;
      },
      "a");
  CHECK(f.resume().value.as<int>() == 11);
  Fiber named([] { yield(1); }, SignalSet{sig::exec, sig::fuel, sig::wait, sig::yield});
  CHECK(named.resume().bits == sig::yield);
}

TEST_CASE("mask: the letter a catches everything but terminal and internal bits [HC2]") {
  constexpr Mask all("a");
  for (unsigned bit = 0; bit < 64; ++bit) {
    const SignalSet set = SignalSet::bit(bit);
    const bool internal = set.overlaps(
        SignalSet{SignalSet::bit(3), SignalSet::bit(5), SignalSet::bit(7), SignalSet::bit(10), SignalSet::bit(13)});
    CHECK(all.mask.contains(set) == !internal);
  }
  Fiber f([] { emit(SignalSet::bit(40), 1); }, "a");
  CHECK(f.resume().bits == SignalSet::bit(40));
  Fiber io([] { emit(sig::io, 1); }, "a");
  CHECK(io.resume().bits == sig::io);
}

TEST_CASE("halt: it ends everything up to enclose, destructors run, handlers for errors do not [HC3]") {
  std::vector<std::string> log;
  Event event = enclose([&] {
    const Note note{log, "body"};
    Fiber f(
        [&] {
          const Note inner{log, "fiber"};
          protect([&] { emit(sig::halt, 9); });
          log.emplace_back("protect took it");
        },
        "yetd");
    try {
      f.resume();
    } catch (const std::exception&) {
      log.emplace_back("an exception handler took it");
    }
  });
  CHECK(event.bits == sig::halt);
  CHECK(event.value.as<int>() == 9);
  CHECK(log == std::vector<std::string>{"fiber", "body"});
}

TEST_CASE("halt: a mask that names it catches it like any signal [HC3]") {
  Fiber f([] { return emit(sig::halt, 1).as<int>(); }, SignalSet{sig::halt});
  CHECK(f.resume().bits == sig::halt);
  CHECK(f.resume(2).value.as<int>() == 2);
}

TEST_CASE("interrupt: it does not wake a suspended fiber, is seen when it next runs, once for each call [HC4]") {
  int resumed = 0;
  Fiber f(
      [&] {
        yield(1);
        for (int i = 0; i < 10; ++i) {
          checkpoint();
          ++resumed;
        }
      },
      "yr");
  f.resume();
  const Interrupter bell = interrupter();
  for (int i = 0; i < 3; ++i) bell.interrupt();
  CHECK(f.status() == Status::pending);
  CHECK(resumed == 0);
  int signals = 0;
  while (!f.resume().ok())
    if (f.last().bits == sig::interrupt) ++signals;
  CHECK(signals == 3);
  CHECK(resumed == 10);
}
