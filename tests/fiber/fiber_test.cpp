// SPDX-License-Identifier: MIT
// The fiber as one primitive: what it is, what it holds, how handles live.
#include "weft/fiber.hpp"

#include <cstddef>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/watch.hpp"
#include "weft/dyn.hpp"
#include "weft/generator.hpp"
#include "weft/signature.hpp"
#include "weft/sugar.hpp"
#include "weft/trace.hpp"

using namespace weft;
using namespace weft_test;

TEST_CASE("fiber: a yield hands a value out and returns what resume hands in [J-015] [J-064]") {
  Fiber f([] { return 1 + yield(0).as<int>(); });
  CHECK(f.resume().value.as<int>() == 0);
  CHECK(f.resume(5).value.as<int>() == 6);
  CHECK(f.state() == State::dead);
}

TEST_CASE("fiber: coroutine, error boundary, generator, dynamic scope and task are one type [J-001]") {
  SUBCASE("coroutine") {
    Fiber f([](Payload first) {
      const int second = yield(first.as<int>() + 1).as<int>();
      return second + 1;
    });
    CHECK(f.resume(1).value.as<int>() == 2);
    CHECK(f.resume(10).value.as<int>() == 11);
  }
  SUBCASE("errors") {
    Fiber f([] { throw std::runtime_error("caught by mask"); }, "e");
    CHECK(f.resume().bits == sig::error);
  }
  SUBCASE("generator") {
    Fiber f(
        [] {
          for (int i = 0; i < 3; ++i) yield(i);
        },
        "yi");
    int sum = 0;
    while (!f.resume().ok()) sum += f.last().value.as<int>();
    CHECK(sum == 3);
  }
  SUBCASE("dynamic scope") {
    const Dyn<int> level("level");
    Fiber f([&] {
      level.set(1);
      Fiber scope([&] { level.set(2); }, "p");
      scope.resume();
      return level.get();
    });
    CHECK(f.resume().value.as<int>() == 1);
  }
  SUBCASE("tasks: a round-robin scheduler of fibers that wait for each other") {
    std::string log;
    std::deque<Fiber> ready;
    std::map<std::string, Fiber> waiting;
    ready.emplace_back(
        [&] {
          log += "a1 ";
          log += emit(sig::await, "b done").as<std::string>();
        },
        "wy");
    ready.emplace_back(
        [&] {
          log += "b1 ";
          yield();
          log += "b2 ";
          emit(sig::user5, "b done");
        },
        "wy5");
    while (!ready.empty()) {
      Fiber task = std::move(ready.front());
      ready.pop_front();
      const Event& event = task.resume(task.status() == Status::suspended ? Payload("woken") : Payload());
      if (event.bits.contains(sig::await)) {
        waiting[event.value.as<std::string>()] = task;
      } else if (event.bits.contains(sig::user5)) {
        ready.push_back(waiting.extract(event.value.as<std::string>()).mapped());
        ready.push_back(task);
      } else if (!event.ok()) {
        ready.push_back(task);
      }
    }
    CHECK(log == "a1 b1 b2 woken");
  }
  SUBCASE("and everything named otherwise runs in a Fiber too") {
    std::vector<SignalSet> masks;
    const auto look = [&] {
      REQUIRE(in_fiber());
      masks.push_back(current_fiber().mask());
    };
    CHECK(!in_fiber());
    protect(look);
    try_(look, [](Payload) {});
    defer([] {}, look);
    label([&](Label&) { look(); });
    with_dyns(look);
    squelch(look, sig::io)();
    Generator<int>(look).next();
    CHECK(masks == std::vector<SignalSet>{sig::error, sig::error, sig::error | sig::user0_4, sig::user0, sig::ok,
                                          sig::io, sig::yield});
  }
}

TEST_CASE("fiber: two fibers of one function keep their own locals [J-002]") {
  const auto counter = [] {
    int mine = 0;
    int block[64] = {};
    for (;;) {
      const int step = yield(mine).as<int>();
      mine += step;
      for (int& word : block) {
        if (word != mine - step) return -1;
        word = mine;
      }
    }
  };
  Fiber a(counter), b(counter);
  a.resume();
  b.resume();
  for (int i = 1; i <= 100; ++i) {
    CHECK(a.resume(1).value.as<int>() == i);
    CHECK(b.resume(3).value.as<int>() == 3 * i);
  }
}

TEST_CASE(
    "fiber: its last event is readable after every stop, and resume gives that very one [J-009] [E-023] [E-024]") {
  static_assert(std::is_same_v<decltype(std::declval<Fiber&>().resume()), const Event&>);
  Fiber f(
      [](Payload how) -> int {
        yield("yielded");
        emit(sig::user6, 66);
        if (how.as<bool>()) throw std::string("thrown");
        return 7;
      },
      "ye6");
  const Event& yielded = f.resume(false);
  CHECK(&yielded == &f.last());
  CHECK(f.last().bits == sig::yield);
  CHECK(f.last().value.as<std::string>() == "yielded");
  const Event& emitted = f.resume();
  CHECK(&emitted == &f.last());
  CHECK(f.last().value.as<int>() == 66);
  const Event& returned = f.resume();
  CHECK(&returned == &f.last());
  CHECK(f.last().bits.empty());
  CHECK(f.last().value.as<int>() == 7);

  Fiber g([] { throw std::string("thrown"); }, "e");
  CHECK(&g.resume() == &g.last());
  CHECK(g.last().bits == sig::error);
  CHECK(g.last().value.is<std::exception_ptr>());

  Fiber uncaught([] { emit(sig::error, 5); });
  CHECK_THROWS_AS(uncaught.resume(), SignalError);
  CHECK(uncaught.last().bits == sig::error);
  CHECK(uncaught.last().value.as<int>() == 5);
  CHECK(uncaught.take().value.as<int>() == 5);
  CHECK(uncaught.last().value.empty());
}

// With external linkage, so that a disassembler finds it.
namespace fast_path {
void on_ok();
void on_signal();
void weft_test_look_at_event(const Event& event);
[[gnu::noinline]] void on_ok() {
  asm volatile("");
}
[[gnu::noinline]] void on_signal() {
  asm volatile("nop");
}
[[gnu::noinline]] void weft_test_look_at_event(const Event& event) {
  if (event.ok()) {
    on_ok();
  } else {
    on_signal();
  }
}
}  // namespace fast_path

TEST_CASE("fiber: whether it returned is one branch on zero [E-026]") {
  static_assert(offsetof(Event, bits) == 0 && sizeof(SignalSet) == 8);
  const Event returned{sig::ok, 1}, signalled{SignalSet::bit(63), 1};
  CHECK(returned.ok());
  CHECK(!signalled.ok());
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !WEFT_ASAN && !WEFT_TSAN
  fast_path::weft_test_look_at_event(returned);
  std::string code;
  char self[4096];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  REQUIRE(length > 0);
  self[length] = '\0';
  const std::string command = std::string(
                                  "objdump -d --no-show-raw-insn "
                                  "--disassemble=_ZN9fast_path23weft_test_look_at_eventERKN4weft2v05EventE '") +
                              self + "' | grep -P '^ +[0-9a-f]+:'";
  FILE* lines = ::popen(command.c_str(), "r");
  REQUIRE(lines != nullptr);
  char line[512];
  int branches = 0, instructions = 0;
  while (std::fgets(line, sizeof line, lines) != nullptr) {
    code += line;
    const std::string text = line;
    const std::size_t tab = text.find('\t');
    if (tab == std::string::npos || text.compare(tab + 1, 3, "nop") == 0) continue;
    ++instructions;
    if (text[tab + 1] == 'j' && text.compare(tab + 1, 3, "jmp") != 0) ++branches;
  }
  ::pclose(lines);
  CAPTURE(code);
  CHECK(instructions > 2);
  CHECK(branches == 1);
  CHECK(code.find("cmpq   $0x0,(%rdi)") != std::string::npos);
#endif
}

namespace {

const Dyn<int> hook("hook");

[[gnu::noinline]] int recurse(int depth) {
  volatile char block[512] = {};
  block[0] = static_cast<char>(depth);
  if (depth == 0) {
    yield();
    return block[0];
  }
  return recurse(depth - 1) + block[0];
}

template <class F>
concept HasSignature = requires(F f) { f.signature(); };
template <class F>
concept HasSignals = requires(F f) { f.signals(); };

}  // namespace

TEST_CASE("fiber: everything it consists of can be looked at [E-044]") {
  Fiber f(
      [] {
        hook.set(5);
        recurse(20);
        return hook.get();
      },
      "yep", {.name = "looked at", .stack_size = 100'000});
  CHECK(f.state() == State::new_);
  f.resume();
  // Stack: how large, how much of it is used, and the frames on it.
  CHECK(f.stack_size() >= 100'000);
  CHECK(f.stack_high_water() >= 20 * 512);
  CHECK(f.stack_high_water() <= f.stack_size());
  const Trace frames = stack_of(f);
  REQUIRE(frames.parts.size() == 1);
  CHECK(frames.parts.front().frames.size() >= 20);
  CHECK(frames.parts.front().fiber == f.id());
  // Status, mask, signal, links.
  CHECK(f.state() == State::suspended);
  CHECK(f.mask() == (sig::yield | sig::error));
  CHECK(f.last().bits == sig::yield);
  CHECK(!f.parent());
  CHECK(!f.child());
  CHECK(f.name() == "looked at");
  CHECK(f.site().line() > 0);
  // Closure and call depth: hooks, not public accessors.
  CHECK(f.core()->closure != nullptr);
  CHECK(f.core()->depth() == 1);
  // Bindings: its own.
  CHECK(!hook.bound());
  CHECK(f.resume().value.as<int>() == 5);

  Fiber outer([] {
    Fiber inner([] { return static_cast<int>(current_fiber().core()->depth()); });
    return inner.resume().value.as<int>();
  });
  CHECK(outer.resume().value.as<int>() == 2);
}

TEST_CASE("fiber: which signals may come is said of functions; a fiber has only its mask [E-045]") {
  static_assert(!HasSignature<Fiber> && !HasSignals<Fiber>);
  // One function, two fibers: the signature is the function's, and holds whatever the mask is.
  const Signature signature = Signature::yields();
  const auto body = [] { yield(1); };
  for (const Mask& mask : {Mask("y"), Mask(sig::all)}) {
    Fiber f(body, mask);
    CHECK(f.resume().bits.subset_of(signature.bits));
    CHECK(f.mask() == mask.mask);
  }
}

TEST_CASE("fiber: the ten principles hold together in one program [J-105]") {
  std::string log;
  const Dyn<int> level("level");
  Fiber stale;
  Fiber top(
      [&] {
        level.set(1);
        // Masks over handlers, fibers over try, composition: a worker whose errors are a matter of its mask.
        Fiber worker(
            [&] {
              // Signals over exceptions: an emitted error can be answered.
              const int answer = emit(sig::error, "ask").as<int>();
              log += std::to_string(answer + level.get()) + " ";
              // Cancellation as error: a handler sees it.
              try {
                yield("waiting");
              } catch (const SignalError& error) {
                log += error.event.value.as<std::string>() + " ";
              }
              // Child chain: what nobody here catches freezes this fiber and the next one up.
              emit(sig::user7, "up");
              // Terminal: user1 ends a fiber of letters.
              Fiber last([] { emit(sig::user1, "over"); }, "1");
              last.resume();
              log += std::string(to_string(last.status())) + (last.can_resume() ? " again " : " for good ");
              return 0;
            },
            Mask(sig::error | sig::yield).with_env(Env::layer));
        CHECK(worker.resume().bits == sig::error);
        CHECK(worker.resume(41).bits == sig::yield);
        worker.cancel("cancelled");
        CHECK(worker.finished());
        stale = current_fiber().last_child();
      },
      "7");
  CHECK(top.resume().bits == sig::user7);
  CHECK(top.child().last().value.as<std::string>() == "up");
  CHECK(top.resume().ok());
  CHECK(log == "42 cancelled user1 for good ");
  // Stale ids: a link to a fiber that is gone leads nowhere, not to another.
  stale = Fiber();
  Fiber next([] {});
  CHECK(!top.last_child());
  // Boundary honesty: where nobody listens, a signal is an error that says so.
  CHECK_THROWS_AS(yield(1), UncaughtSignal);
}

TEST_CASE("fiber: handles are values: in maps, moved, compared, kept after the end") {
  std::map<std::string, Fiber> by_name;
  std::unordered_map<int, Fiber> by_number;
  for (int i = 0; i < 200; ++i) {
    Fiber f([i] { return i + yield(i).as<int>(); });
    by_name.emplace(std::to_string(i), f);
    by_number.emplace(i, std::move(f));
    CHECK(!f);
  }
  for (auto& [name, f] : by_name) CHECK(std::to_string(f.resume().value.as<int>()) == name);
  for (auto& [number, f] : by_number) CHECK(f.resume(1).value.as<int>() == number + 1);
  CHECK(by_name["7"] == by_number[7]);
  CHECK(by_name["7"] != by_number[8]);
  CHECK(by_name["none"] == Fiber());
}

TEST_CASE("fiber: a handle may be made on one thread, resumed on others, and dropped on yet another") {
  const long before = Counted::alive;
  Fiber f([held = Counted(1)] {
    int sum = held.number;
    for (int i = 0; i < 8; ++i) sum += yield(sum).as<int>();
    return sum;
  });
  f.resume();
  for (int i = 0; i < 7; ++i) std::thread([&] { f.resume(i); }).join();
  CHECK(f.last().value.as<int>() == 1 + 21);
  std::thread([moved = std::move(f)]() mutable { moved = Fiber(); }).join();
  CHECK(!f);
  CHECK(Counted::alive == before);
}

TEST_CASE("fiber: an exception caught on one thread is rethrown by the fiber on the next") {
  Fiber f([] {
    try {
      throw std::runtime_error("kept");
    } catch (...) {
      yield();
      throw;
    }
  });
  f.resume();
  std::string seen;
  std::thread([&] {
    try {
      f.resume();
    } catch (const std::runtime_error& error) {
      seen = error.what();
    }
  }).join();
  CHECK(seen == "kept");
  CHECK(std::uncaught_exceptions() == 0);
}

TEST_CASE("fiber: a destructor may resume fibers, while its own fiber returns, fails or is killed") {
  int values = 0;
  const auto body = [&](int how) {
    return [&values, how] {
      AtExit resumes([&] {
        Fiber helper([] { return yield(1).as<int>(); });
        values += helper.resume().value.as<int>();
        values += helper.resume(10).value.as<int>();
      });
      if (how == 1) throw 1;
      if (how == 2) yield();
    };
  };
  Fiber returns(body(0)), fails(body(1), "e"), killed(body(2));
  returns.resume();
  CHECK(values == 11);
  fails.resume();
  CHECK(values == 22);
  killed.resume();
  killed.kill();
  CHECK(values == 33);
}

TEST_CASE("fiber: a closure whose copy throws leaves nothing behind") {
  struct Throwing {
    Counted held;
    Throwing() = default;
    Throwing(const Throwing&) : held() { throw std::runtime_error("copy"); }
    void operator()() const {}
  };
  const long before = Counted::alive;
  {
    const Throwing body;
    for (int i = 0; i < 1000; ++i) CHECK_THROWS_AS(Fiber{body}, std::runtime_error);
    CHECK(Counted::alive == before + 1);
  }
  CHECK(Counted::alive == before);
  Fiber after([] { return 1; });
  CHECK(after.resume().value.as<int>() == 1);
  CHECK(detail::stack_stats().slots < 100'000);
}

TEST_CASE("fiber: a hundred thousand come and go in random order, and nothing is left") {
  const long before = Counted::alive;
  const std::size_t slots_before = detail::stack_stats().slots;
  {
    constexpr std::size_t room = 500;
    std::vector<Fiber> live(room);
    std::mt19937 random(20240607);
    for (int i = 0; i < 100'000; ++i) {
      Fiber& place = live[random() % room];
      place = Fiber([held = Counted(i)] {
        const Counted local(held.number);
        for (;;) yield(Counted(local.number));
      });
      if (random() % 4 != 0) CHECK_FALSE(place.resume(Counted(1)).value.as<Counted>().number != i);
      Fiber& other = live[random() % room];
      if (!other) continue;
      switch (random() % 8) {
        case 0:
          other.kill();
          break;
        case 1:
          if (other.can_resume()) other.resume();
          break;
        case 2:
          other = Fiber();
          break;
        case 3:
          if (other.can_resume()) CHECK_THROWS_AS(other.cancel(Counted(2)), SignalError);
          break;
        default:
          break;
      }
    }
    CHECK(Counted::alive > before);
  }
  // The thread keeps the last error that left a fiber, for trace(): one without a Counted takes its place.
  CHECK_THROWS_AS(Fiber([] { throw 1; }).resume(), int);
  CHECK(Counted::alive == before);
  // Stacks are reused: no more were carved than could live at once, and what the caches hold.
  CHECK(detail::stack_stats().slots <= slots_before + 1000);
}
