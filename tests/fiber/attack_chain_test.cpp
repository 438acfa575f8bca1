// SPDX-License-Identifier: MIT
// Values, errors and looks that meet a chain at an odd moment.
#include <atomic>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/refusal.hpp"
#include "weft/fiber.hpp"
#include "weft/generator.hpp"
#include "weft/sugar.hpp"
#include "weft/trace.hpp"

using namespace weft;
using weft_test::has;
using weft_test::refusal;

TEST_CASE("resume: the value may be the fiber's own last event, or a part of it") {
  const std::string text(50, 'x');
  Fiber f([](Payload p) {
    for (;;) p = yield(p.as<std::string>() + "!");
  });
  const Event* event = &f.resume(text);
  for (int i = 0; i < 3; ++i) event = &f.resume(event->value.as<std::string>());
  CHECK(event->value.as<std::string>() == text + "!!!!");

  struct Wide {
    char room[100];
    int number;
  };
  Fiber g([] { return yield(Wide{{}, 7}).as<int>(); });
  CHECK(g.resume(g.resume().value.as<Wide>().number).value.as<int>() == 7);
}

TEST_CASE("resume: a value that cannot be made leaves the fiber as it was") {
  struct Throws {
    Throws() = default;
    Throws(const Throws&) { throw std::runtime_error("no copy"); }
  };
  int destroyed = 0;
  struct Count {
    int& n;
    ~Count() { ++n; }
  };
  {
    Fiber f([&] {
      const Count count{destroyed};
      yield(1);
      yield(2);
    });
    f.resume();
    const Throws value;
    CHECK_THROWS_AS(f.resume(value), std::runtime_error);
    const char* none = nullptr;
    CHECK_THROWS_AS(f.resume(none), std::invalid_argument);
    CHECK(f.resume().value.as<int>() == 2);
    CHECK_THROWS_AS(f.resume(value), std::runtime_error);
  }
  CHECK(destroyed == 1);
}

TEST_CASE("body: an argument taken by reference stays what it was over suspensions") {
  Fiber f([](const Payload& first) {
    yield(1);
    return first.as<int>();
  });
  f.resume(5);
  CHECK(f.resume(6).value.as<int>() == 5);
}

TEST_CASE("body: its result survives signals that its closure's destructor emits") {
  struct Emits {
    bool on = true;
    Emits() = default;
    Emits(Emits&& other) noexcept : on(std::exchange(other.on, false)) {}
    ~Emits() {
      if (on) emit(sig::user(5), 99);
    }
  };
  Fiber f([emits = Emits()] { return 42; }, "5");
  CHECK(f.resume().bits == sig::user(5));
  CHECK(f.resume().value.as<int>() == 42);
}

TEST_CASE("cancel: an empty exception_ptr is an error like any other value") {
  Fiber f([] { yield(1); }, "ye");
  f.resume();
  CHECK(f.cancel(std::exception_ptr()).bits == sig::error);
  Fiber fresh([] {}, "e");
  CHECK(fresh.cancel(std::exception_ptr()).bits == sig::error);
  auto result = protect([] { emit(sig::error, std::exception_ptr()); });
  CHECK_FALSE(result.ok);
  CHECK_THROWS_AS(result.rethrow(), SignalError);
}

TEST_CASE("cancel: reaches a fiber whose child, run on its own, has ended meanwhile") {
  std::string seen;
  Fiber inner([] {
    emit(sig::user(5));
    emit(sig::user(6));
    return 1;
  });
  Fiber outer([&] { inner.resume(); }, "5");
  outer.resume();
  Fiber handler(
      [&] {
        try {
          inner.resume();
          seen = "went on";
        } catch (const SignalError&) {
          seen = "cancelled";
        }
        return yield(3).as<int>();
      },
      "6y");
  CHECK(handler.resume().bits == sig::user(6));
  inner.resume();
  CHECK(inner.state() == State::dead);
  CHECK(handler.cancel("stop").value.as<int>() == 3);
  CHECK(seen == "cancelled");
  CHECK(handler.resume(8).value.as<int>() == 8);  // and the cancel was used up
  outer.resume();
  CHECK(outer.state() == State::dead);
}

TEST_CASE("cancel: reaches a fiber whose child ended on its own and was then destroyed") {
  std::string seen;
  Fiber inner([] { emit(sig::user(5)); });
  Fiber outer(
      [&] {
        try {
          inner.resume();
        } catch (const SignalError&) {
          seen = "cancelled";
        } catch (const FiberError& error) {
          seen = error.what();
        }
        return yield(3).as<int>();
      },
      "5y");
  outer.resume();
  inner.resume();
  inner = Fiber();
  outer.cancel("stop");
  CHECK(seen == "cancelled");
  CHECK(outer.resume(8).value.as<int>() == 8);
}

TEST_CASE("generator: a cancel replaces an element that came through an inner fiber") {
  Generator<int> numbers([] {
    Fiber inner(
        [] {
          try {
            yield(1);
          } catch (const SignalError&) {
            yield(2);
          }
          yield(3);
        },
        "e");
    inner.resume();
  });
  auto it = numbers.begin();
  CHECK(*it == 1);
  CHECK(numbers.cancel("stop"));
  CHECK(*it == 2);
  ++it;
  CHECK(*it == 3);
}

TEST_CASE("trace: the stack of a chain while its inner fiber runs on its own") {
  Fiber outer;
  std::size_t parts = 0;
  Fiber inner([&] {
    emit(sig::user(5));
    parts = stack_of(outer).parts.size();
  });
  outer = Fiber([&] { inner.resume(); }, "5");
  outer.resume();
  inner.resume();
  CHECK(parts == 2);
  CHECK(stack_of(outer).parts.size() == 1);  // inner has no stack any more
}

TEST_CASE("trace: the stack of a caller begins with the one who asks") {
  Trace seen;
  Fiber outer;
  Fiber inner([&] {
    yield();  // leaves a context behind that is stale when it asks
    seen = stack_of(outer);
  });
  outer = Fiber([&] {
    inner.resume();
    inner.resume();
  });
  outer.resume();
  REQUIRE(seen.parts.size() == 2);
  CHECK(seen.parts[0].fiber == inner.id());
  CHECK(seen.parts[1].fiber == outer.id());
  CHECK(has(to_string(seen), "stack_of"));
}

TEST_CASE("for_each_fiber: gives the stacks of fibers that wait in resume, and of those that never ran") {
  struct Seen {
    std::uint64_t id;
    const void* inside;
    bool covered;
  };
  struct Look {
    std::vector<Seen> wanted;
  } look;
  int marker = 0;
  const void* local = nullptr;
  Fiber fresh([marker] { return marker; });
  look.wanted.push_back({fresh.id(), fresh.core()->closure, false});
  Fiber outer([&] {
    local = __builtin_frame_address(0);  // ASan may put a variable elsewhere
    look.wanted.push_back({current_fiber().id(), local, false});
    Fiber inner([&] {
      for_each_fiber(
          [](const LiveFiber& live, void* context) {
            for (Seen& seen : static_cast<Look*>(context)->wanted)
              if (seen.id == live.id)
                seen.covered =
                    std::less_equal<>()(live.stack_low, seen.inside) && std::less<>()(seen.inside, live.stack_high);
          },
          &look);
    });
    inner.resume();
  });
  outer.resume();
  CHECK(look.wanted[0].covered);
  CHECK(look.wanted[1].covered);
}

TEST_CASE("interrupt: an alert that is left without an interrupt goes away at the next slow step") {
  Fiber f([] {
    detail::FiberCore* root = detail::current_core()->root;
    root->alert.fetch_or(detail::alert_interrupt);  // as an Interrupter does that was overtaken
    yield(1);
    return root->alert.load() & detail::alert_interrupt;
  });
  f.resume();
  CHECK(f.resume().value.as<std::uint32_t>() == 0);
}

TEST_CASE("interrupt: none is lost and none is taken twice while another thread sends them") {
  const Interrupter target = interrupter();
  constexpr int sent = 2000;
  std::thread sender([&] {
    for (int i = 0; i < sent; ++i) {
      target.interrupt();
      std::this_thread::yield();
    }
  });
  Fiber f(
      [] {
        for (;;) {
          Fiber inner([] {
            yield(1);
            emit(sig::user(5));
            checkpoint();
          });
          inner.resume();
          yield(2);
          inner.resume();
        }
      },
      "yr5");
  int taken = 0;
  const auto step = [&] { taken += f.resume().bits == sig::interrupt ? 1 : 0; };
  while (taken < sent / 2) step();
  sender.join();
  for (int i = 0; i < 4 * sent && taken < sent; ++i) step();
  CHECK(taken == sent);
  for (int i = 0; i < 8; ++i) step();
  CHECK(taken == sent);
}

TEST_CASE("claim: threads that fight for the parts of a frozen chain are never in it together") {
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> inside{0};
    bool together = false;
    const auto visit = [&] {
      if (inside.fetch_add(1) != 0) together = true;
      inside.fetch_sub(1);
    };
    Fiber inner(
        [&] {
          for (;;) {
            visit();
            emit(sig::user(5));
          }
        },
        "5");
    Fiber middle([&] {
      for (;;) {
        inner.resume();
        visit();
        emit(sig::user(6));
      }
    });
    Fiber outer([&] { middle.resume(); }, "6");
    outer.resume();
    const auto fight = [&](int first) {
      for (int i = first; i < first + 500; ++i) {
        Fiber mine = i % 3 == 0 ? outer : i % 3 == 1 ? inner : middle;
        try {
          mine.resume();
        } catch (const FiberError&) {
        } catch (const UncaughtSignal&) {
        }
      }
    };
    std::thread a(fight, 0);
    std::thread b(fight, 1);
    fight(2);
    a.join();
    b.join();
    CHECK_FALSE(together);
  }
}
