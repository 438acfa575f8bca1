// SPDX-License-Identifier: MIT
// Errors across fibers: identity, traces, propagate, cancel, and what happens when nobody catches.
#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/watch.hpp"
#include "weft/fiber.hpp"
#include "weft/sugar.hpp"
#include "weft/trace.hpp"

using namespace weft;
using namespace weft_test;

// With external linkage, so that a trace has names for them.
namespace traced {
void innermost_of_three();
void middle_of_three();
void outermost_of_three();
void three_in_a_fiber();

[[gnu::noinline]] void innermost_of_three() {
  throw std::runtime_error("deep down");
}
[[gnu::noinline]] void middle_of_three() {
  Fiber f([] { innermost_of_three(); }, "y", {.name = "inner"});
  f.resume();
}
[[gnu::noinline]] void outermost_of_three() {
  Fiber f([] { middle_of_three(); }, "y", {.name = "middle"});
  f.resume();
}
[[gnu::noinline]] void three_in_a_fiber() {
  Fiber f([] { outermost_of_three(); }, "y", {.name = "outer"});
  f.resume();
}
}  // namespace traced

namespace {

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The trace of whatever leaves f.
std::string trace_of(auto&& f) {
  try {
    f();
  } catch (...) {
    return to_string(trace());
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("errors: a trace shows the frames of every fiber in the chain, innermost first [J-066]") {
  std::size_t parts = 0;
  std::string text;
  try {
    traced::three_in_a_fiber();
  } catch (const std::runtime_error&) {
    const Trace t = trace();
    parts = t.parts.size();
    text = to_string(t);
  }
  CAPTURE(text);
  CHECK(parts == 4);  // three fibers and the thread
  const std::size_t inner = text.find("innermost_of_three");
  const std::size_t middle = text.find("middle_of_three");
  const std::size_t outer = text.find("outermost_of_three");
  CHECK(inner != std::string::npos);
  CHECK(middle != std::string::npos);
  CHECK(outer != std::string::npos);
  CHECK(inner < middle);
  CHECK(middle < outer);
  for (const char* name : {"\"inner\"", "\"middle\"", "\"outer\""}) CHECK(mentions(text, name));
}

TEST_CASE("errors: one that nobody catches reaches the root: the process fails and shows the trace [J-072]") {
  const Outcome outcome = in_child_process([] {
    std::signal(SIGABRT, SIG_DFL);
    // Nothing to destroy in the noexcept frame: there g++ before 14 would call terminate without the exception.
    []() noexcept { traced::three_in_a_fiber(); }();
  });
  CAPTURE(outcome.text);
  CHECK(WIFSIGNALED(outcome.status));
  CHECK(WTERMSIG(outcome.status) == SIGABRT);
  for (const char* name : {"innermost_of_three", "middle_of_three", "outermost_of_three"})
    CHECK(mentions(outcome.text, name));
}

TEST_CASE("errors: a caught one clears the chain, and the catcher goes on [J-072]") {
  Fiber catcher([] {
    Fiber f([] { traced::outermost_of_three(); }, "e");
    CHECK(f.resume().bits == sig::error);
    CHECK(!current_fiber().child());
    return yield("still here").as<int>();
  });
  CHECK(catcher.resume().value.as<std::string>() == "still here");
  CHECK(catcher.resume(3).value.as<int>() == 3);
  CHECK(!catcher.child());
}

TEST_CASE("errors: propagate keeps the child and its frames, a new error does not [J-073]") {
  Fiber child;
  const auto run = [&](auto&& then) {
    return trace_of([&] {
      Fiber f([&] {
        child = Fiber([] { traced::innermost_of_three(); }, "e");
        CHECK(child.resume().bits == sig::error);
        then();
      });
      try {
        f.resume();
      } catch (...) {
        CHECK((f.child() == child) == f.last().value.is<std::exception_ptr>());
        throw;
      }
    });
  };
  CHECK(mentions(run([&] { propagate(child); }), "innermost_of_three"));
  CHECK(!mentions(run([] { emit(sig::error, "another"); }), "innermost_of_three"));
}

TEST_CASE("errors: propagate raises the child's own signal [J-074]") {
  const auto seen_by_root = [](SignalSet bits, const Mask& mask) {
    Fiber middle(
        [&] {
          Fiber child([&] { emit(bits, 5); }, mask);
          CHECK(child.resume().bits == bits);
          propagate(child);
        },
        sig::all);
    Event event;
    event.bits = middle.resume().bits;
    event.value = middle.take().value;
    return event;
  };
  for (const SignalSet bits : {sig::user2, sig::error, sig::user6, sig::yield, sig::debug, sig::user1 | sig::io}) {
    CAPTURE(to_string(bits));
    for (const Mask& mask : {Mask("a"), Mask(sig::all)}) {
      const Event event = seen_by_root(bits, mask);
      CHECK(event.bits == bits);
      CHECK(event.value.as<int>() == 5);
    }
  }
  SUBCASE("a propagated suspension goes on in the child and comes back as its next event") {
    Fiber middle(
        [] {
          Fiber child(
              [] {
                const int got = emit(sig::user6, 1).as<int>();
                return emit(sig::user7, got + 1).as<int>();
              },
              "67");
          child.resume();
          const Event& next = propagate(child);
          CHECK(next.bits == sig::user7);
          CHECK(next.value.as<int>() == 11);
          return child.resume(20).value.as<int>();
        },
        "6");
    CHECK(middle.resume().bits == sig::user6);
    CHECK(middle.resume(10).value.as<int>() == 20);
  }
  SUBCASE("there must be something to propagate") {
    Fiber fresh([] {}), done([] {});
    done.resume();
    CHECK_THROWS_AS(propagate(fresh), FiberError);
    CHECK_THROWS_AS(propagate(done), FiberError);
  }
}

TEST_CASE("errors: cancel delivers at the deepest child, where handlers and defers run [J-075]") {
  std::vector<std::string> log;
  Fiber top([&] {
    Fiber middle(
        [&] {
          Fiber inner(
              [&] {
                return defer([&] { log.push_back("inner defer"); },
                             [&] {
                               return try_(
                                   [&] {
                                     yield("waiting");
                                     log.push_back("NOT REACHED");
                                     return 0;
                                   },
                                   [&](Payload error) {
                                     log.push_back("handled " + error.as<std::string>());
                                     return 5;
                                   });
                             });
              },
              SignalSet{});
          return inner.resume().value.as<int>();
        },
        SignalSet{});
    return middle.resume().value.as<int>();
  });
  CHECK(top.resume().value.as<std::string>() == "waiting");
  CHECK(top.cancel("stop").value.as<int>() == 5);
  CHECK(log == std::vector<std::string>{"handled stop", "inner defer"});

  SUBCASE("unhandled, it leaves cancel like an error leaves resume, and every defer ran") {
    log.clear();
    Fiber f([&] {
      defer([&] { log.push_back("outer"); }, [&] { defer([&] { log.push_back("inner"); }, [] { yield(); }); });
    });
    f.resume();
    CHECK_THROWS_AS(f.cancel(std::make_exception_ptr(std::string("gone"))), std::string);
    CHECK(log == std::vector<std::string>{"inner", "outer"});
    CHECK(f.status() == Status::error);
  }
  SUBCASE("a handler may go on and stop again") {
    Fiber f([] {
      try {
        yield(1);
      } catch (const SignalError&) {
        return yield(2).as<int>();
      }
      return 0;
    });
    f.resume();
    CHECK(f.cancel("x").value.as<int>() == 2);
    CHECK(f.resume(3).value.as<int>() == 3);
  }
}

namespace {

struct Timeout : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

TEST_CASE("errors: cancel serves as timeout, as the cancelling of a task, and as shutdown [J-076]") {
  int closed = 0;
  const auto worker = [&closed] {
    defer([&] { ++closed; },
          [] {
            for (;;) yield();
          });
  };
  SUBCASE("timeout: a deadline in steps of a clock") {
    Fiber f(worker);
    int now = 0;
    const auto run_until = [&](int deadline) {
      for (;; ++now) {
        if (now < deadline) {
          f.resume();
        } else {
          f.cancel(std::make_exception_ptr(Timeout("too late")));
        }
      }
    };
    CHECK_THROWS_AS(run_until(10), Timeout);
    CHECK(now == 10);
    CHECK(closed == 1);
  }
  SUBCASE("cancelling a task: one fiber stops another") {
    Fiber task(worker, "ye");
    Fiber boss([&] { return task.cancel("enough").value.as<std::string>(); });
    task.resume();
    CHECK(boss.resume().value.as<std::string>() == "enough");
    CHECK(task.status() == Status::error);
    CHECK(closed == 1);
  }
  SUBCASE("shutdown: all of them, each closes what it has, one needs another step") {
    std::vector<Fiber> tasks;
    for (int i = 0; i < 5; ++i) tasks.emplace_back(worker, "ye");
    tasks.emplace_back(
        [&] {
          try {
            yield();
          } catch (const SignalError&) {
            yield("flushing");
            ++closed;
          }
        },
        "ye");
    for (Fiber& task : tasks) task.resume();
    for (Fiber& task : tasks) task.cancel("shutdown");
    for (Fiber& task : tasks)
      while (task.can_resume()) task.resume();
    CHECK(closed == 6);
    for (Fiber& task : tasks) CHECK(task.finished());
  }
}

namespace {

struct Base {
  int tag = 1;
  virtual ~Base() = default;
};
struct Left : virtual Base {};
struct Right : virtual Base {};
struct Diamond : Left, Right {};

struct CountsCopies {
  static inline int copies = 0;
  std::string text;
  explicit CountsCopies(std::string t) : text(std::move(t)) {}
  CountsCopies(const CountsCopies& other) : text(other.text) { ++copies; }
};

struct MoveOnlyInside {
  std::unique_ptr<int> held = std::make_unique<int>(8);
  MoveOnlyInside() = default;
  MoveOnlyInside(MoveOnlyInside&&) = default;
};

// Throws through three fibers; true if what arrives is the object that was thrown.
template <class E>
bool arrives_as_itself(void (*thrower)()) {
  std::exception_ptr left;
  const void* address = nullptr;
  Fiber f([&] {
    Fiber g([&] {
      Fiber h([&] {
        try {
          thrower();
        } catch (E& error) {
          left = std::current_exception();
          address = &error;
          throw;
        }
      });
      h.resume();
    });
    g.resume();
  });
  try {
    f.resume();
  } catch (E& error) {
    return std::current_exception() == left && &error == address && address != nullptr;
  }
  return false;
}

}  // namespace

TEST_CASE("errors: an exception of any kind crosses three fibers as the same object") {
  CHECK(arrives_as_itself<std::runtime_error>([] { throw std::runtime_error("x"); }));
  CHECK(arrives_as_itself<std::exception>([] { throw std::out_of_range("x"); }));
  CHECK(arrives_as_itself<int>([] { throw 7; }));
  CHECK(arrives_as_itself<Base>([] { throw Diamond(); }));
  CHECK(arrives_as_itself<Left>([] { throw Diamond(); }));
  CHECK(arrives_as_itself<CountsCopies>([] { throw CountsCopies("big"); }));
  CHECK(CountsCopies::copies == 0);
  CHECK(arrives_as_itself<MoveOnlyInside>([] { throw MoveOnlyInside(); }));
  CHECK(arrives_as_itself<SignalError>([] { emit(sig::error, 3); }));
  CHECK(arrives_as_itself<SignalError>([] { emit(sig::user3, 3); }));
  CHECK(arrives_as_itself<UncaughtSignal>([] { emit(sig::user7, 3); }));
}

TEST_CASE("errors: a resumable error is a condition: the handler far above supplies the value") {
  Fiber f(
      [] {
        Fiber g([] { return emit(sig::error, "which file?").as<std::string>() + "!"; }, SignalSet{});
        g.resume();
        return g.take().value.as<std::string>();
      },
      sig::error);
  CHECK(f.resume().value.as<std::string>() == "which file?");
  CHECK(f.resume("a.txt").value.as<std::string>() == "a.txt!");
}
