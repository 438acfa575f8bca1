// SPDX-License-Identifier: MIT
// Chains: links between fibers, frozen chains, who is resumed, how deep it goes.
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/watch.hpp"
#include "weft/fiber.hpp"

using namespace weft;
using namespace weft_test;

TEST_CASE("chain: while a child runs it is its parent's child, and the parent is its parent [J-008] [J-060]") {
  Fiber parent, child;
  parent = Fiber([&] {
    CHECK(!parent.child());
    child = Fiber([&] {
      CHECK(parent.child() == child);
      CHECK(child.parent() == parent);
      CHECK(current_fiber() == child);
      CHECK(!parent.parent());
    });
    CHECK(child.resume().ok());
    CHECK(!parent.child());
    CHECK(!child.parent());
  });
  CHECK(parent.resume().ok());
}

TEST_CASE("chain: a caught signal clears the parent's child and its value is the resume's [J-061] [E-039]") {
  Fiber child([] { yield("caught"); });
  Fiber parent([&] {
    const Event& event = child.resume();
    CHECK(event.value.as<std::string>() == "caught");
    CHECK(!current_fiber().child());
    CHECK(current_fiber().last_child() == child);
    CHECK(!child.parent());
    CHECK(child.state() == State::suspended);
  });
  CHECK(parent.resume().ok());
  CHECK(parent.last_child() == child);
  child.kill();
  CHECK(parent.last_child() == child);
  child = Fiber();
  CHECK(!parent.last_child());
}

TEST_CASE("chain: an uncaught signal leaves the parent with its child, and the grandparent sees it unchanged [J-062]") {
  SUBCASE("suspending") {
    Fiber child([] { emit(sig::user6, 66); });
    Fiber parent([&] { child.resume(); }, "y");
    Fiber grandparent([&] {
      const Event& event = parent.resume();
      CHECK(event.bits == sig::yield);
    });
    Fiber top([&] { grandparent.resume(); }, "6");
    const Event& event = top.resume();
    CHECK(event.bits == sig::user6);
    CHECK(event.value.as<int>() == 66);
    CHECK(parent.child() == child);
    CHECK(grandparent.child() == parent);
    CHECK(child.parent() == parent);
    CHECK(parent.status() == Status::user6);
    CHECK(parent.last().value.as<int>() == 66);
  }
  SUBCASE("ending") {
    Fiber child([] { emit(sig::user2, 22); });
    Fiber parent([&] { child.resume(); }, "y");
    Fiber grandparent([&] { parent.resume(); }, "2");
    const Event& event = grandparent.resume();
    CHECK(event.bits == sig::user2);
    CHECK(event.value.as<int>() == 22);
    CHECK(parent.child() == child);
    CHECK(grandparent.child() == parent);
    CHECK(parent.status() == Status::user2);
  }
}

TEST_CASE("chain: after an uncaught error the links lead from the catcher to the fiber that failed [J-065]") {
  const std::string path = [] {
    Fiber outer(
        [] {
          Fiber second(
              [] {
                Fiber third(
                    [] {
                      Fiber fourth([] { throw std::string("deep"); }, "y", {.name = "fourth"});
                      fourth.resume();
                    },
                    "y", {.name = "third"});
                third.resume();
              },
              "y", {.name = "second"});
          second.resume();
        },
        "e", {.name = "outer"});
    CHECK(outer.resume().bits == sig::error);
    std::string names;
    Fiber last = outer;
    for (Fiber f = outer; f; f = f.child()) {
      names += std::string(f.name()) + " ";
      last = f;
    }
    try {
      std::rethrow_exception(last.last().value.as<std::exception_ptr>());
    } catch (const std::string& text) {
      names += text;
    }
    return names;
  }();
  CHECK(path == "outer second third fourth deep");
}

TEST_CASE("chain: resuming a fiber with a pending child delivers the value to the deepest [J-067]") {
  int got = 0;
  Fiber grandparent([&] {
    Fiber parent(
        [&] {
          Fiber child([&] { got = yield(1).as<int>(); }, "e");
          CHECK(child.resume().ok());
          return yield(2).as<int>();
        },
        "e");
    return parent.resume().value.as<int>();
  });
  CHECK(grandparent.resume().value.as<int>() == 1);
  CHECK(got == 0);
  CHECK(grandparent.resume(5).value.as<int>() == 2);
  CHECK(got == 5);
  CHECK(grandparent.resume(6).value.as<int>() == 6);
}

namespace {

// A chain of four that froze because its innermost fiber asks for a number, and a handler who can see all of it.
struct Frozen {
  Fiber first, second, third, fourth;
  Fiber handler;

  Frozen() {
    fourth = Fiber([] { return emit(sig::user7, "number?").as<int>() * 2; }, SignalSet{}, {.name = "fourth"});
    third = Fiber([this] { return fourth.resume().value.as<int>() + 1; }, SignalSet{}, {.name = "third"});
    second = Fiber([this] { return third.resume().value.as<int>() + 1; }, SignalSet{}, {.name = "second"});
    first = Fiber([this] { return second.resume().value.as<int>() + 1; }, sig::user7, {.name = "first"});
    CHECK(first.resume().bits == sig::user7);
  }
  std::vector<Fiber*> all() { return {&first, &second, &third, &fourth}; }
};

}  // namespace

TEST_CASE("chain: an uncaught signal freezes the whole chain, every fiber of it suspended [E-040]") {
  Frozen chain;
  for (Fiber* f : chain.all()) {
    CAPTURE(f->name());
    CHECK(f->state() == State::suspended);
    CHECK(f->status() == Status::user7);
    CHECK(f->can_resume());
  }
}

TEST_CASE("chain: a handler can walk from the frozen fiber to the originator and read each [E-041]") {
  Frozen chain;
  std::string path;
  Fiber origin;
  for (Fiber f = chain.first; f; f = f.child()) {
    path += std::string(f.name()) + " ";
    CHECK(f.last().bits == sig::user7);
    CHECK(f.last().value.as<std::string>() == "number?");
    origin = f;
  }
  CHECK(path == "first second third fourth ");
  CHECK(origin == chain.fourth);
  CHECK(&origin.last() == &chain.first.last());
}

TEST_CASE("chain: each fiber of a frozen chain can be resumed on its own, nothing unwinds [E-042]") {
  SUBCASE("the innermost, then the rest") {
    Frozen chain;
    CHECK(chain.fourth.resume(10).value.as<int>() == 20);
    CHECK(chain.fourth.status() == Status::dead);
    CHECK(chain.third.state() == State::suspended);
    CHECK(chain.third.resume().value.as<int>() == 21);
    CHECK(chain.second.resume().value.as<int>() == 22);
    CHECK(chain.first.resume().value.as<int>() == 23);
  }
  SUBCASE("the innermost, then the outermost") {
    Frozen chain;
    CHECK(chain.fourth.resume(10).value.as<int>() == 20);
    CHECK(chain.first.resume().value.as<int>() == 23);
    for (Fiber* f : chain.all()) CHECK(f->status() == Status::dead);
  }
  SUBCASE("a middle one, then the outermost") {
    Frozen chain;
    CHECK(chain.third.resume(10).value.as<int>() == 21);
    CHECK(chain.first.resume().value.as<int>() == 23);
  }
  SUBCASE("the outermost") {
    Frozen chain;
    CHECK(chain.first.resume(10).value.as<int>() == 23);
  }
  SUBCASE("an error given to the innermost arrives outside when the rest goes on") {
    Frozen chain;
    CHECK_THROWS_AS(chain.fourth.cancel("no"), SignalError);
    CHECK(chain.fourth.status() == Status::error);
    CHECK(chain.first.state() == State::suspended);
    CHECK_THROWS_AS(chain.first.resume(), SignalError);
    CHECK(chain.first.status() == Status::error);
    CHECK(chain.first.last().value.as<std::string>() == "no");
  }
  SUBCASE("one of them while another runs on its own is refused") {
    FiberErrc code{};
    Fiber outer, inner;
    inner = Fiber(
        [&] {
          emit(sig::user7);
          try {
            outer.resume();
          } catch (const FiberError& error) {
            code = error.code();
          }
          return 1;
        },
        SignalSet{});
    outer = Fiber([&] { return inner.resume().value.as<int>() + 1; }, SignalSet{});
    Fiber handler([&] { return outer.resume().value.as<int>() + 1; }, sig::user7);
    handler.resume();
    CHECK(inner.resume().value.as<int>() == 1);
    CHECK(code == FiberErrc::child_alive);
    CHECK(handler.resume().value.as<int>() == 3);
  }
}

namespace {

struct Limit {
  std::uint32_t before = recursion_limit();
  explicit Limit(std::uint32_t limit) { set_recursion_limit(limit); }
  ~Limit() { set_recursion_limit(before); }
};

struct Nest {
  int deepest = 0;
  bool caught = false;
  bool catch_at_bottom = false;
  void go(int depth) {
    deepest = depth;
    Fiber f([this, depth] { go(depth + 1); }, SignalSet{});
    if (!catch_at_bottom) {
      f.resume();
      return;
    }
    try {
      f.resume();
    } catch (const FiberError& error) {
      if (error.code() == FiberErrc::too_deep && !caught) {
        caught = true;
        return;
      }
      throw;
    }
  }
};

}  // namespace

TEST_CASE("chain: resumes nested past the guard raise an error that can be caught, never a crash [J-059]") {
  const Limit limit(700);
  SUBCASE("caught where it happens: everything above just returns") {
    Nest nest{.catch_at_bottom = true};
    nest.go(0);
    CHECK(nest.caught);
    CHECK(nest.deepest == 700);
  }
  SUBCASE("caught at the top, through every fiber") {
    Nest nest;
    FiberErrc code{};
    try {
      nest.go(0);
    } catch (const FiberError& error) {
      code = error.code();
    }
    CHECK(code == FiberErrc::too_deep);
    CHECK(nest.deepest == 700);
  }
}

// [slow]: 4 GB of stacks, all of which valgrind searches for what has leaked.
TEST_CASE("chain: there is a limit when nobody sets one, and a raised one makes more possible [J-059] [slow]") {
  Nest nest{.catch_at_bottom = true};
  nest.go(0);
  CHECK(nest.caught);
  CHECK(nest.deepest == static_cast<int>(recursion_limit()));
  const Limit limit(recursion_limit() + 10);
  Nest more{.catch_at_bottom = true};
  more.go(0);
  CHECK(more.deepest == nest.deepest + 10);
}

TEST_CASE("chain: a parent is weak: its child does not keep it alive, and sees that it is gone [E-044]") {
  const long before = Counted::alive;
  Fiber child;
  {
    Fiber parent([&child, payload = Counted(1)] {
      child = Fiber([] { yield(1); }, SignalSet{});
      child.resume();
      (void)payload;
    });
    CHECK(parent.resume().bits == sig::yield);
    CHECK(child.parent() == parent);
    CHECK(Counted::alive == before + 1);
  }
  CHECK(Counted::alive == before);
  CHECK(child.finished());
  CHECK(!child.parent());

  SUBCASE("a parent that ended leaves a suspended child behind") {
    Fiber survivor([] { return yield(1).as<int>(); });
    {
      Fiber parent([&, payload = Counted(2)] {
        survivor.resume();
        (void)payload;
      });
      parent.resume();
    }
    CHECK(Counted::alive == before);
    CHECK(!survivor.parent());
    CHECK(survivor.resume(8).value.as<int>() == 8);
  }
}

TEST_CASE("chain: a second resumer on another thread gets a clear error") {
  Fiber f([] {
    FiberErrc code{};
    Fiber self = current_fiber();
    std::thread([&] {
      try {
        self.resume();
      } catch (const FiberError& error) {
        code = error.code();
      }
    }).join();
    CHECK(code == FiberErrc::foreign);
  });
  CHECK(f.resume().ok());
}
