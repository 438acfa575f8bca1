// SPDX-License-Identifier: MIT
// Dynamic bindings: what a fiber sees, shares, and layers.
#include "weft/dyn.hpp"

#include <string>
#include <thread>

#include "doctest/doctest.h"
#include "fiber/watch.hpp"
#include "weft/sugar.hpp"

using namespace weft;
using namespace weft_test;

namespace {

const Dyn<int> depth("depth");
const Dyn<std::string> user("user");

}  // namespace

TEST_CASE("dyn: sibling fibers see their own value of one key [J-007]") {
  const auto body = [](Payload first) {
    depth.set(first.as<int>());
    yield();
    return depth.get();
  };
  Fiber a(body), b(body);
  a.resume(1);
  b.resume(2);
  CHECK(a.resume().value.as<int>() == 1);
  CHECK(b.resume().value.as<int>() == 2);
}

TEST_CASE("dyn: set, then get; nothing for an unknown key [J-089]") {
  Fiber f([] {
    CHECK(depth.find() == nullptr);
    CHECK(!depth.bound());
    CHECK(depth.get_or(9) == 9);
    CHECK_THROWS_WITH_AS(depth.get(), doctest::Contains("depth"), UnboundDyn);
    depth.set(1);
    CHECK(depth.get() == 1);
    depth.set(2);
    user.set("ann");
    depth.set(3);
    CHECK(depth.get() == 3);
    CHECK(user.get() == "ann");
    depth.unset();
    CHECK(!depth.bound());
    CHECK(user.bound());
  });
  CHECK(f.resume().ok());
  CHECK(!depth.bound());
}

TEST_CASE(
    "dyn: with i a child shares its parent's bindings both ways, with p it layers, without it sees none "
    "[J-054] [J-055] [J-090]") {
  const auto child = [] {
    const int before = depth.get_or(-1);
    depth.set(20);
    user.set("child");
    return before;
  };
  const auto run = [&](const Mask& mask, int child_sees, int parent_sees, bool user_seen) {
    Fiber parent([&] {
      depth.set(10);
      Fiber f(child, mask);
      CHECK(f.resume().value.as<int>() == child_sees);
      CHECK(depth.get() == parent_sees);
      CHECK(user.bound() == user_seen);
    });
    CHECK(parent.resume().ok());
  };
  run("yi", 10, 20, true);
  run("yp", 10, 10, false);
  run("y", -1, 10, false);
  run("ypi", 10, 20, true);
  run("yip", 10, 10, false);
}

TEST_CASE("dyn: a layer is a snapshot of the parent at creation; sharing is live [J-054] [J-055]") {
  Fiber parent([] {
    depth.set(1);
    Fiber layered([] { return depth.get(); }, "yp");
    Fiber sharing([] { return depth.get(); }, "yi");
    depth.set(2);
    CHECK(layered.resume().value.as<int>() == 1);
    CHECK(sharing.resume().value.as<int>() == 2);
  });
  CHECK(parent.resume().ok());
}

TEST_CASE("dyn: with_dyns binds for its body only, and a yield inside goes through [J-091]") {
  Fiber f([] {
    depth.set(1);
    const int inside = with_dyns(
        [] {
          CHECK(user.get() == "bob");
          CHECK(current_fiber().mask().empty());
          yield(depth.get());
          depth.set(3);
          return depth.get();
        },
        depth.bind(2), user.bind("bob"));
    CHECK(inside == 3);
    CHECK(depth.get() == 1);
    CHECK(!user.bound());
  });
  CHECK(f.resume().value.as<int>() == 2);
  CHECK(f.resume().ok());
  SUBCASE("gone after an error too") {
    Fiber g([] {
      CHECK_THROWS_AS(with_dyns([] { throw 1; }, depth.bind(5)), int);
      CHECK(!depth.bound());
    });
    CHECK(g.resume().ok());
  }
}

TEST_CASE("dyn: protect, defer, try_ and generators run in the bindings of their caller") {
  Fiber f([] {
    protect([] { depth.set(1); });
    CHECK(depth.get() == 1);
    defer([] { depth.set(depth.get() + 1); }, [] { depth.set(5); });
    CHECK(depth.get() == 6);
    Generator<int> numbers([] {
      yield(depth.get());
      yield(depth.get());
    });
    CHECK(numbers.next() == 6);
    depth.set(7);
    CHECK(numbers.next() == 7);
  });
  CHECK(f.resume().ok());
}

TEST_CASE("dyn: bindings of a fiber outlive it as long as a fiber shares them") {
  Fiber sharing;
  {
    Fiber owner([&] {
      user.set(std::string(100, 'x'));
      sharing = Fiber([] { return user.get(); }, "yi");
    });
    owner.resume();
  }
  CHECK(sharing.resume().value.as<std::string>() == std::string(100, 'x'));
}

TEST_CASE("dyn: a fiber that failed while it shared bindings, and its parent, do not keep each other") {
  const long before = Counted::alive;
  {
    Fiber parent(
        [held = Counted(1)] {
          depth.set(held.number);
          Fiber child([] { emit(sig::error, Counted(2)); }, "yi");
          child.resume();
        },
        "e");
    CHECK(parent.resume().bits == sig::error);
    CHECK(parent.child().status() == Status::error);
  }
  CHECK_THROWS_AS(Fiber([] { throw 1; }).resume(), int);  // takes the place of the error that trace() knows
  CHECK(Counted::alive == before);
}

TEST_CASE("dyn: a thread has bindings of its own, and a layer over them may run on another thread") {
  depth.set(4);
  Fiber layered([] { return depth.get(); }, "yp");
  int seen = 0;
  bool bound_there = true;
  std::thread([&] {
    bound_there = depth.bound();
    seen = layered.resume().value.as<int>();
  }).join();
  CHECK(seen == 4);
  CHECK(!bound_there);
  depth.unset();
}
