// SPDX-License-Identifier: MIT
#include "weft/detail/closure.hpp"

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "doctest/doctest.h"

using namespace weft::detail;

namespace {

struct Counts {
  int alive = 0;
  int moves = 0;
};

template <std::size_t Size, bool Nothrow = true>
struct Counting {
  explicit Counting(Counts& c) : counts(&c) { ++counts->alive; }
  Counting(Counting&& from) noexcept(Nothrow) : counts(from.counts) {
    ++counts->alive;
    ++counts->moves;
  }
  ~Counting() { --counts->alive; }
  int operator()(int x) const { return x + counts->alive; }

  Counts* counts;
  std::array<std::byte, Size - sizeof(Counts*)> rest{};
};

struct alignas(64) Wide {
  int operator()() const { return static_cast<int>(reinterpret_cast<std::uintptr_t>(this) % 64); }
};

int twice(int x) {
  return 2 * x;
}

void throw_text(const char* text, const char*, const char*, int) {
  throw std::string(text);
}

}  // namespace

TEST_CASE("closure: calls what it was made of and passes move-only values through") {
  Closure<std::unique_ptr<int>(std::unique_ptr<int>, int)> add = [](std::unique_ptr<int> p, int n) {
    *p += n;
    return p;
  };
  CHECK(*add(std::make_unique<int>(40), 2) == 42);

  int seen = 0;
  Closure<void(int&)> by_reference = [](int& x) { return ++x; };  // the result is dropped
  by_reference(seen);
  by_reference(seen);
  CHECK(seen == 2);

  Closure<int(int)> function = twice;
  CHECK(function(4) == 8);
  Closure<int()> counting = [n = 0]() mutable { return ++n; };
  CHECK(counting() == 1);
  CHECK(counting() == 2);
  Closure<std::size_t(const std::string&)> member = &std::string::size;
  CHECK(member("four") == 4);
}

TEST_CASE("closure: 48 bytes stay inside, 49 go to the heap, a throwing or overaligned move too") {
  Counts counts;
  {
    Closure<int(int)> small = Counting<48>(counts);
    Closure<int(int)> large = Counting<56>(counts);
    Closure<int(int)> throwing = Counting<16, false>(counts);
    Closure<int()> wide = Wide{};
    CHECK_FALSE(small.on_heap());
    CHECK(large.on_heap());
    CHECK(throwing.on_heap());
    CHECK(wide.on_heap());
    CHECK(wide() == 0);
    CHECK(counts.alive == 3);
    CHECK(large(1) == 4);
  }
  CHECK(counts.alive == 0);
  static_assert(sizeof(Closure<void()>) == 64);
  static_assert(Closure<void()>::fits<std::array<char, 48>> && !Closure<void()>::fits<std::array<char, 49>>);
  static_assert(InlineClosure<void(), 8>::fits<void*> && !InlineClosure<void(), 8>::fits<std::array<char, 9>>);
}

TEST_CASE("closure: moving empties the source and never copies the callable") {
  static_assert(std::is_nothrow_move_constructible_v<Closure<int(int)>>);
  static_assert(std::is_nothrow_move_assignable_v<Closure<int(int)>>);
  static_assert(!std::is_copy_constructible_v<Closure<int(int)>>);
  Counts counts;
  {
    Closure<int(int)> a = Counting<24>(counts);
    Closure<int(int)> heap = Counting<100>(counts);
    counts.moves = 0;
    Closure<int(int)> b = std::move(a);
    CHECK_FALSE(a);  // NOLINT(bugprone-use-after-move)
    CHECK(b);
    CHECK(counts.moves == 1);
    a = std::move(heap);
    CHECK(counts.moves == 1);  // only the pointer moved
    CHECK(counts.alive == 2);
    b = std::move(a);  // destroys what b held
    CHECK(counts.alive == 1);
    Closure<int(int)>& self = b;
    b = std::move(self);
    CHECK(b(1) == 2);
    b = nullptr;
    CHECK_FALSE(b);
    CHECK(counts.alive == 0);
  }
  CHECK(counts.alive == 0);
}

TEST_CASE("closure: calling an empty one is an assertion that says so") {
  const AssertHook before = set_assert_hook(throw_text);
  Closure<int(int)> empty;
  CHECK_THROWS_WITH_AS(empty(1), "call of an empty closure", std::string);
  int (*null)(int) = nullptr;
  Closure<int(int)> from_null = null;
  CHECK_FALSE(from_null);
  Closure<int(int)> moved = twice;
  Closure<int(int)> other = std::move(moved);
  CHECK_THROWS_WITH_AS(moved(1), "call of an empty closure", std::string);  // NOLINT(bugprone-use-after-move)
  CHECK(other(1) == 2);
  set_assert_hook(before);
}

TEST_CASE("closure: an exception of the callable passes and leaves the closure usable") {
  Closure<int(bool)> sometimes = [n = 0](bool fail) mutable {
    ++n;
    if (fail) throw std::runtime_error("asked to");
    return n;
  };
  CHECK_THROWS_WITH_AS(sometimes(true), "asked to", std::runtime_error);
  CHECK(sometimes(false) == 2);
}
