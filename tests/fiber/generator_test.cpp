// SPDX-License-Identifier: MIT
// Generators: values of a loop, one at a time.
#include "weft/generator.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/watch.hpp"
#include "weft/sugar.hpp"

using namespace weft;
using namespace weft_test;

namespace {

std::vector<int> drain(Generator<int>& numbers) {
  std::vector<int> values;
  for (const int n : numbers) values.push_back(n);
  return values;
}
std::vector<int> drain(Generator<int>&& numbers) {
  return drain(numbers);
}

Generator<int> counting(int from, int to) {
  return Generator<int>([=] {
    for (int i = from; i < to; ++i) yield(i);
  });
}

}  // namespace

TEST_CASE("generator: generate gives the values of the comprehension, in order, from a fiber masked yi [J-085]") {
  SignalSet mask;
  auto squares = generate(std::views::iota(1, 6), [&](int n) {
    mask = current_fiber().mask();
    return n * n;
  });
  CHECK(drain(squares) == std::vector{1, 4, 9, 16, 25});
  CHECK(mask == sig::yield);
  CHECK(squares.status() == Status::dead);

  auto words = generate(std::vector<std::string>{"a", "b"}, [](const std::string& s) { return s + s; });
  CHECK(words.next() == "aa");
  CHECK(words.next() == "bb");
  CHECK(!words.next());
  CHECK(!words.next());
}

TEST_CASE("generator: any fiber that yields works with each, map and filter [J-087]") {
  static_assert(std::ranges::input_range<Generator<int>>);
  int sum = 0;
  for (const int n : counting(0, 5)) sum += n;
  CHECK(sum == 10);

  auto odd_squares = counting(0, 8) | std::views::filter([](int n) { return n % 2 == 1; }) |
                     std::views::transform([](int n) { return n * n; });
  std::vector<int> values;
  for (const int n : odd_squares) values.push_back(n);
  CHECK(values == std::vector{1, 9, 25, 49});

  SUBCASE("a raw fiber, resumed in the generator: what it does not catch, the generator yields") {
    Fiber raw(
        [] {
          yield(1);
          yield(2);
        },
        SignalSet{});
    CHECK(drain(Generator<int>([&] { raw.resume(); })) == std::vector{1, 2});
    CHECK(raw.status() == Status::dead);
  }
  SUBCASE("a raw fiber, stepped by hand") {
    Fiber raw([] {
      yield(1);
      yield(2);
    });
    std::vector<int> stepped;
    while (!raw.resume().ok()) stepped.push_back(raw.last().value.as<int>());
    CHECK(stepped == std::vector{1, 2});
  }
}

TEST_CASE("generator: an error leaves the iteration, cancel reaches the body, status can be read [J-088]") {
  SUBCASE("error") {
    Generator<int> numbers([] {
      yield(1);
      throw std::out_of_range("no more");
    });
    std::vector<int> values;
    const auto iterate = [&] {
      for (const int n : numbers) values.push_back(n);
    };
    CHECK_THROWS_WITH_AS(iterate(), "no more", std::out_of_range);
    CHECK(values == std::vector{1});
    CHECK(numbers.status() == Status::error);
    CHECK(!numbers.next());
  }
  SUBCASE("cancel") {
    std::string log;
    Generator<int> numbers([&] {
      try {
        yield(1);
        yield(2);
      } catch (const SignalError& error) {
        log = error.event.value.as<std::string>();
        yield(99);
      }
    });
    CHECK(numbers.next() == 1);
    CHECK(numbers.cancel("stop"));
    CHECK(log == "stop");
    CHECK(numbers.next() == 99);
    CHECK(!numbers.next());
    Generator<int> unguarded = counting(0, 3);
    unguarded.next();
    CHECK_THROWS_AS(unguarded.cancel(std::make_exception_ptr(7)), int);
    CHECK(unguarded.status() == Status::error);
  }
  SUBCASE("inspect") {
    Generator<int> numbers([] { yield(1); }, {.name = "one"});
    CHECK(numbers.name() == "one");
    CHECK(numbers.status() == Status::new_);
    numbers.next();
    CHECK(numbers.status() == Status::pending);
    CHECK(numbers.state() == State::suspended);
    numbers.next();
    CHECK(numbers.status() == Status::dead);
  }
}

TEST_CASE("generator: increment is lazy, so take(3) pulls three") {
  int pulled = 0;
  const auto endless = [&] {
    for (int i = 0;; ++i) {
      ++pulled;
      yield(i);
    }
  };
  std::vector<int> values;
  for (const int n : Generator<int>(endless) | std::views::take(3)) values.push_back(n);
  CHECK(values == std::vector{0, 1, 2});
  CHECK(pulled == 3);
}

TEST_CASE("generator: yields come through protect, try_, defer, with_dyns and plain fibers inside the body") {
  std::string log;
  Generator<int> numbers([&] {
    protect([] { yield(1); });
    try_([] { yield(2); }, [](Payload) {});
    defer([&] { log += "cleanup "; },
          [] {
            yield(3);
            with_dyns([] { yield(4); });
          });
    Fiber deep([] { protect([] { yield(5); }); }, "e");
    deep.resume();
    const auto failed = protect([] {
      yield(6);
      throw 1;
    });
    yield(failed.ok ? 0 : 7);
  });
  CHECK(drain(numbers) == std::vector{1, 2, 3, 4, 5, 6, 7});
  CHECK(log == "cleanup ");
}

TEST_CASE("generator: cancelled inside protect, what the handler yields is the next element") {
  Generator<int> numbers([] {
    protect([] {
      try {
        yield(1);
      } catch (const SignalError&) {
        yield(2);
      }
    });
    yield(3);
  });
  CHECK(numbers.next() == 1);
  CHECK(numbers.cancel("x"));
  CHECK(drain(numbers) == std::vector{2, 3});
}

TEST_CASE("generator: of generators") {
  const auto triangle = [](int rows) {
    return Generator<int>([rows] {
      for (int row = 1; row <= rows; ++row)
        for (const int n : counting(0, row)) yield(row * 10 + n);
    });
  };
  CHECK(drain(triangle(3)) == std::vector{10, 20, 21, 30, 31, 32});

  struct Tree {
    std::unique_ptr<Tree> left, right;
    int key = 0;
    static std::unique_ptr<Tree> build(int low, int high) {
      if (low >= high) return nullptr;
      const int middle = (low + high) / 2;
      auto tree = std::make_unique<Tree>();
      tree->left = build(low, middle);
      tree->key = middle;
      tree->right = build(middle + 1, high);
      return tree;
    }
    static Generator<int> walk(const Tree* tree) {
      return Generator<int>([tree] {
        if (tree == nullptr) return;
        for (const int n : walk(tree->left.get())) yield(n);
        yield(tree->key);
        for (const int n : walk(tree->right.get())) yield(n);
      });
    }
  };
  const auto tree = Tree::build(0, 100);
  std::vector<int> wanted(100);
  std::iota(wanted.begin(), wanted.end(), 0);
  CHECK(drain(Tree::walk(tree.get())) == wanted);
}

TEST_CASE("generator: an element of another type is an error that names both, and the iteration can go on") {
  Generator<int> numbers([] {
    yield("text");
    yield(2);
    protect([] { yield(2.5); });
    yield(4);
  });
  CHECK_THROWS_WITH_AS(numbers.next(), doctest::Contains("int"), PayloadTypeError);
  CHECK(numbers.next() == 2);
  CHECK_THROWS_WITH_AS(numbers.next(), doctest::Contains("double"), PayloadTypeError);
  CHECK(numbers.next() == 4);
}

TEST_CASE("generator: destroyed half way, in a plain body or under protect, it unwinds its body") {
  const long before = Counted::alive;
  for (const bool inside : {false, true}) {
    Generator<int> numbers([inside] {
      const Counted one(1);
      const auto body = [] {
        const Counted two(2);
        for (;;) yield(1);
      };
      if (inside) {
        protect(body);
      } else {
        body();
      }
    });
    numbers.next();
    CHECK(Counted::alive == before + 2);
  }
  CHECK(Counted::alive == before);
}

TEST_CASE("generator: elements are moved out once, whatever they are") {
  const long before = Counted::alive;
  {
    Generator<std::unique_ptr<Counted>> objects([] {
      for (int i = 0; i < 3; ++i) yield(std::make_unique<Counted>(i));
    });
    int expected = 0;
    for (std::unique_ptr<Counted>& object : objects) CHECK(object->number == expected++);
    CHECK(expected == 3);
  }
  CHECK(Counted::alive == before);
}

TEST_CASE("generator: one that asks itself for an element, or is empty, gets a clear error") {
  Generator<int> numbers;
  CHECK_THROWS_AS(numbers.next(), FiberError);
  numbers = Generator<int>([&] { yield(*numbers.next()); });
  CHECK_THROWS_AS(numbers.next(), FiberError);
}
