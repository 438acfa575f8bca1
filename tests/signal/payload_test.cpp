// SPDX-License-Identifier: MIT
#include "weft/payload.hpp"

#include <any>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "signal/counted.hpp"
#include "weft/event.hpp"
#include "weft/result.hpp"

using namespace weft;

namespace {

using Inline = Counted<32>;
using Small = Counted<16>;
using Big = Counted<40>;
using Wary = Counted<16, true>;
using Aligned = Counted<32, false, 16>;

static_assert(sizeof(Payload) == 40 && alignof(Payload) == 8);
static_assert(std::is_nothrow_move_constructible_v<Payload> && std::is_nothrow_move_assignable_v<Payload>);
static_assert(!std::is_copy_constructible_v<Payload> && !std::is_copy_assignable_v<Payload>);
static_assert(std::is_nothrow_default_constructible_v<Payload>);
static_assert(std::is_convertible_v<int, Payload> && std::is_convertible_v<const char*, Payload>);
static_assert(!std::is_convertible_v<Payload, bool>);

static_assert(detail::payload_inline<int> && detail::payload_inline<void*> && detail::payload_inline<double>);
static_assert(detail::payload_inline<std::string> && detail::payload_inline<std::exception_ptr>);
static_assert(detail::payload_inline<std::shared_ptr<int>> && detail::payload_inline<std::array<char, 32>>);
static_assert(!detail::payload_inline<std::array<char, 33>> && !detail::payload_inline<Wary>);
static_assert(!detail::payload_inline<long double>);  // aligned to 16
static_assert(detail::payload_flags_of<int> == 0);
static_assert(detail::payload_flags_of<int*> == 0);
static_assert(detail::payload_flags_of<std::array<long, 4>> == detail::payload_wide);
static_assert(detail::payload_flags_of<std::exception_ptr> == detail::payload_owns);
static_assert(detail::payload_flags_of<Big> == detail::payload_owns);

// What may be handed over as a payload; tests/signal/refused/ shows the messages.
static_assert(detail::PayloadSource<int> && detail::PayloadSource<const char*> && detail::PayloadSource<int (*)(int)>);
static_assert(!detail::PayloadSource<int*> && !detail::PayloadSource<void*> && !detail::PayloadSource<const wchar_t*>);
static_assert(!detail::PayloadSource<std::nullptr_t> && !detail::PayloadSource<void>);

struct Point {
  int x, y;
};

enum class Colour : std::uint8_t { red, green };
std::string to_string(Colour colour) {
  return colour == Colour::red ? "red" : "green";
}

struct Opaque {};

// Whether the thing lies within the payload's own 40 bytes.
bool inside(const Payload& p, const void* thing) {
  auto begin = reinterpret_cast<std::uintptr_t>(&p), at = reinterpret_cast<std::uintptr_t>(thing);
  return at >= begin && at < begin + sizeof p;
}

template <class T>
bool kept_inside(Payload p) {
  Payload moved = std::move(p);
  return inside(moved, &moved.as<T>());
}

int twice(int n) {
  return 2 * n;
}

}  // namespace

TEST_CASE("payload: any value can be one, without a base class: numbers, structs, closures, move-only types [E-025]") {
  CHECK(Payload(42).as<int>() == 42);
  CHECK(Payload(2.5).as<double>() == 2.5);
  CHECK(Payload(true).as<bool>());
  CHECK(Payload('x').as<char>() == 'x');
  CHECK(Payload(std::int64_t{-1}).as<std::int64_t>() == -1);
  CHECK(Payload(Point{3, 4}).as<Point>().y == 4);
  CHECK(Payload(Colour::green).as<Colour>() == Colour::green);
  CHECK(Payload(std::vector{1, 2, 3}).as<std::vector<int>>().size() == 3);
  CHECK(*Payload(std::make_unique<int>(7)).as<std::unique_ptr<int>>() == 7);
  CHECK(Payload(twice).as<int (*)(int)>()(21) == 42);
  auto closure = [n = 40](int more) { return n + more; };
  CHECK(Payload(closure).as<decltype(closure)>()(2) == 42);
  CHECK(Payload(std::function<int()>([] { return 5; })).as<std::function<int()>>()() == 5);
  std::optional<int> nothing;
  CHECK(!Payload(nothing).as<std::optional<int>>().has_value());
  CHECK(Payload(std::any(1)).is<std::any>());
}

TEST_CASE("payload: small values of each size arrive whole") {
  std::array<unsigned char, 32> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i + 1);
  auto through_moves = []<std::size_t N>(const std::array<unsigned char, N>& value) {
    Payload a(value);
    Payload b(std::move(a));
    Payload c;
    c = std::move(b);
    return c.as<std::array<unsigned char, N>>() == value && a.empty() && b.empty();
  };
  auto prefix = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    std::array<unsigned char, N> part{};
    std::copy_n(bytes.begin(), N, part.begin());
    return through_moves(part);
  };
  bool whole = [&]<std::size_t... N>(std::index_sequence<N...>) {
    return (prefix(std::integral_constant<std::size_t, N + 1>()) && ...);
  }(std::make_index_sequence<32>());
  CHECK(whole);
}

TEST_CASE("payload: text is copied, so it outlives the frame it came from [HB6]") {
  Payload view, array, pointer, constant;
  {
    std::string local = "a text that is too long to sit inside of a string object";
    view = std::string_view(local).substr(2, 4);
    char buffer[16] = "buffer";
    array = buffer;
    buffer[0] = 'B';
    pointer = local.c_str();
    local.assign(local.size(), '#');
  }
  constant = "literal";
  CHECK(view.as<std::string>() == "text");
  CHECK(array.as<std::string>() == "buffer");
  CHECK(pointer.as<std::string>() == "a text that is too long to sit inside of a string object");
  CHECK(constant.as<std::string>() == "literal");
  const char full[3] = {'a', 'b', 'c'};  // no terminator: all of it
  CHECK(Payload(full).as<std::string>() == "abc");
  CHECK(Payload("a\0b").as<std::string>() == "a");
  CHECK(Payload(std::string_view("a\0b", 3)).as<std::string>().size() == 3);
  CHECK(Payload(std::u16string_view(u"wide")).as<std::u16string>() == u"wide");
  std::string mine = "still mine";
  CHECK(Payload(mine).as<std::string>() == "still mine");
  CHECK(mine == "still mine");
}

TEST_CASE("payload: a null text is refused with a hint [HB6]") {
  const char* null = nullptr;
  CHECK_THROWS_WITH_AS(Payload{null},
                       "a null const char* is no payload: say \"\" for an empty text or Payload{} for none",
                       std::invalid_argument);
}

TEST_CASE("payload: a borrowed pointer must be asked for [HB6]") {
  int number = 1;
  const Point point{1, 2};
  Payload p = Payload::ref(number);
  *p.as<int*>() = 5;
  CHECK(number == 5);
  CHECK(!p.is<int>());
  CHECK(Payload::ref(point).as<const Point*>() == &point);
  CHECK(!Payload::ref(point).is<Point*>());
  std::unique_ptr<Opaque> owner;
  CHECK(Payload::ref(owner).as<std::unique_ptr<Opaque>*>() == &owner);
}

TEST_CASE("payload: asking for the wrong type throws and names both [HB6]") {
  Payload number = 42;
  CHECK_THROWS_WITH_AS(number.as<std::string>(), "payload holds int, asked for std::string", PayloadTypeError);
  CHECK_THROWS_WITH_AS(std::as_const(number).as<long>(), "payload holds int, asked for long", PayloadTypeError);
  CHECK_THROWS_WITH_AS(std::move(number).as<unsigned>(), "payload holds int, asked for unsigned int", PayloadTypeError);
  CHECK(number.as<int>() == 42);
  CHECK_THROWS_WITH_AS(Payload("x").as<int>(), "payload holds std::string, asked for int", PayloadTypeError);
  CHECK_THROWS_WITH_AS(Payload(std::exception_ptr()).as<int>(), "payload holds std::exception_ptr, asked for int",
                       PayloadTypeError);
  CHECK_THROWS_WITH_AS(Payload(std::vector<std::string>()).as<Error>(),
                       "payload holds std::vector<std::string, std::allocator<std::string > >, asked for weft::Error",
                       PayloadTypeError);
  CHECK_THROWS_WITH_AS(Payload().as<int>(), "payload is empty, asked for int", PayloadTypeError);
}

TEST_CASE("payload: is, get_if and type answer without throwing") {
  Payload p = 42;
  CHECK(p.is<int>());
  CHECK(!p.is<long>());
  CHECK(*p.get_if<int>() == 42);
  CHECK(p.get_if<long>() == nullptr);
  CHECK(std::as_const(p).get_if<int>() == p.get_if<int>());
  CHECK(p.type() == typeid(int));
  CHECK(p.type_name() == "int");
  *p.get_if<int>() = 43;
  CHECK(p.as<int>() == 43);
  Payload none;
  CHECK(none.empty());
  CHECK(!none);
  CHECK(!none.is<int>());
  CHECK(none.get_if<int>() == nullptr);
  CHECK(none.type() == typeid(void));
  CHECK(none.type_name() == "void");
}

TEST_CASE("payload: const and reference arguments are stored as plain values") {
  const int number = 3;
  const int& reference = number;
  CHECK(Payload(reference).is<int>());
  const std::string text = "t";
  CHECK(Payload(text).is<std::string>());
  const Colour colour = Colour::red;
  CHECK(Payload(colour).is<Colour>());
}

TEST_CASE("payload: a payload of a payload is just a move") {
  Payload inner = "text";
  Payload outer(std::move(inner));
  CHECK(inner.empty());
  CHECK(outer.as<std::string>() == "text");
  Payload made = Payload::make<Payload>(std::move(outer));
  CHECK(made.as<std::string>() == "text");
  CHECK(outer.empty());
}

TEST_CASE("payload: make and emplace build in place, without a move") {
  Counts counts;
  {
    Payload p = Payload::make<Inline>(counts, 1);
    CHECK(p.as<Inline>().value() == 1);
    CHECK(counts.moves == 0);
    CHECK(p.emplace<Inline>(counts, 2).value() == 2);
    CHECK(counts.moves == 0);
    CHECK(counts.alive == 1);
    CHECK(p.emplace<Big>(counts, 3).value() == 3);
    CHECK(counts.alive == 1);
    Payload q(std::in_place_type<std::string>, 3u, 'x');
    CHECK(q.as<std::string>() == "xxx");
  }
  CHECK(counts.alive == 0);
}

TEST_CASE("payload: a constructor that throws leaves an emplaced payload empty, and nothing leaks") {
  struct Angry {
    explicit Angry(int) { throw std::runtime_error("no"); }
  };
  struct BigAngry {
    explicit BigAngry(int) { throw std::runtime_error("no"); }
    char ballast[100];
  };
  Payload p = std::string("a text that is too long to sit inside of a string object");
  CHECK_THROWS_AS(p.emplace<Angry>(1), std::runtime_error);
  CHECK(p.empty());
  CHECK_THROWS_AS(p.emplace<BigAngry>(1), std::runtime_error);
  CHECK(p.empty());
  CHECK_THROWS_AS(Payload::make<BigAngry>(1), std::runtime_error);
}

TEST_CASE("payload: moving out of an rvalue empties the payload") {
  Counts counts;
  Payload p = Payload::make<Inline>(counts, 9);
  {
    Inline out = std::move(p).as<Inline>();
    CHECK(out.value() == 9);
    CHECK(p.empty());
    CHECK(counts.alive == 1);
  }
  CHECK(counts.alive == 0);
  Payload big = Payload::make<Big>(counts, 8);
  CHECK(std::move(big).as<Big>().value() == 8);
  CHECK(big.empty());
  CHECK(counts.alive == 0);
}

TEST_CASE_TEMPLATE("payload: values of every kind move and die once", T, Small, Inline, Big, Wary, Aligned) {
  Counts counts;
  {
    Payload a = Payload::make<T>(counts, 5);
    CHECK(reinterpret_cast<std::uintptr_t>(&a.as<T>()) % alignof(T) == 0);
    Payload b = std::move(a);
    CHECK(a.empty());
    CHECK(b.as<T>().value() == 5);
    b = Payload::make<T>(counts, 6);
    CHECK(counts.alive == 1);
    a = std::move(b);
    CHECK(b.empty());
    CHECK(a.as<T>().value() == 6);
    std::swap(a, b);
    CHECK(b.as<T>().value() == 6);
    CHECK(counts.alive == 1);
    b.reset();
    CHECK(counts.alive == 0);
    b = Payload(T(counts, 7));
    CHECK(b.as<T>().value() == 7);
  }
  CHECK(counts.alive == 0);
}

TEST_CASE("payload: assigning it to itself keeps the value") {
  Counts counts;
  Payload number = 1, text = "text", wide = std::array<long, 4>{1, 2, 3, 4}, none;
  Payload counted = Payload::make<Inline>(counts, 4), big = Payload::make<Big>(counts, 5);
  for (Payload* p : {&number, &text, &wide, &none, &counted, &big}) {
    Payload& same = *p;
    *p = std::move(same);
  }
  CHECK(number.as<int>() == 1);
  CHECK(text.as<std::string>() == "text");
  CHECK(wide.as<std::array<long, 4>>()[3] == 4);
  CHECK(none.empty());
  CHECK(counted.as<Inline>().value() == 4);
  CHECK(big.as<Big>().value() == 5);
  CHECK(counts.alive == 2);
}

TEST_CASE("payload: a part of its own value may be assigned to it") {
  struct Link {
    Payload next;
    std::string name;
  };
  Payload chain = Link{Payload(Link{Payload("end"), "second"}), "first"};
  chain = std::move(chain.as<Link>().next);
  CHECK(chain.as<Link>().name == "second");
  chain = std::move(chain.as<Link>().next);
  CHECK(chain.as<std::string>() == "end");
}

TEST_CASE("payload: set replaces the value, also by a part of the value that goes") {
  struct Named {
    std::string name;
    int number;
    Payload inner;
  };
  struct Label {
    char text[32];
  };
  std::string text = "a text that is too long to sit inside of a string object";
  Payload p;
  p.set(text);
  p.set(p.as<std::string>());
  CHECK(p.as<std::string>() == text);
  p.set(std::string_view(p.as<std::string>()).substr(2, 30));
  CHECK(p.as<std::string>() == text.substr(2, 30));
  p.set(p.as<std::string>().c_str());
  CHECK(p.as<std::string>() == text.substr(2, 30));
  p.set(std::move(p.as<std::string>()));
  CHECK(p.as<std::string>() == text.substr(2, 30));

  p.set(Named{text, 7, Payload("inner")});
  p.set(p.as<Named>().number);
  CHECK(p.as<int>() == 7);
  p.set(p.as<int>());
  CHECK(p.as<int>() == 7);
  p.set(Named{text, 8, Payload("inner")});
  p.set(p.as<Named>().name);
  CHECK(p.as<std::string>() == text);
  p.set(Named{text, 9, Payload("inner")});
  p.set(std::move(p.as<Named>().inner));
  CHECK(p.as<std::string>() == "inner");

  p.set(Label{"twenty and some letters"});
  p.set(p.as<Label>().text);
  CHECK(p.as<std::string>() == "twenty and some letters");
  p.set(std::array<long, 4>{1, 2, 3, 4});
  p.set(p.as<std::array<long, 4>>());
  CHECK(p.as<std::array<long, 4>>()[3] == 4);
}

TEST_CASE("payload: set keeps the old value if the new one cannot be made") {
  Payload p = "old";
  const char* null = nullptr;
  CHECK_THROWS_AS(p.set(null), std::invalid_argument);
  CHECK(p.as<std::string>() == "old");
}

TEST_CASE("payload: surely says yes only for the type it holds") {
  Payload p = 5;
  CHECK(p.surely<int>());
  CHECK(!p.surely<unsigned>());
  CHECK(!Payload().surely<int>());
  CHECK(p.unchecked<int>() == 5);
}

TEST_CASE("payload: an int, a pointer, a short string, an exception_ptr live inside of it, big values outside") {
  int number = 0;
  CHECK(kept_inside<int>(42));
  CHECK(kept_inside<int*>(Payload::ref(number)));
  CHECK(kept_inside<double>(1.5));
  CHECK(kept_inside<std::exception_ptr>(std::make_exception_ptr(1)));
  CHECK(kept_inside<std::shared_ptr<int>>(std::make_shared<int>(1)));
  CHECK(kept_inside<std::array<char, 32>>(std::array<char, 32>{}));
  CHECK(!kept_inside<std::array<char, 33>>(std::array<char, 33>{}));
  CHECK(!kept_inside<long double>(1.0L));
  for (const char* text : {"", "short", "fifteen letters"}) {
    Payload p = text;
    Payload moved = std::move(p);
    CHECK(inside(moved, moved.as<std::string>().data()));
  }
}

TEST_CASE("payload: exception pointers and shared pointers keep their counts through moves") {
  auto shared = std::make_shared<int>(1);
  {
    Payload a = shared;
    CHECK(shared.use_count() == 2);
    Payload b = std::move(a);
    Payload c;
    c = std::move(b);
    CHECK(shared.use_count() == 2);
    CHECK(c.as<std::shared_ptr<int>>() == shared);
  }
  CHECK(shared.use_count() == 1);
  Payload error = std::make_exception_ptr(std::runtime_error("boom"));
  Payload later = std::move(error);
  CHECK_THROWS_WITH_AS(std::rethrow_exception(later.as<std::exception_ptr>()), "boom", std::runtime_error);
}

TEST_CASE("payload: shown for people") {
  auto show = [](Payload p) { return p.to_string(); };
  CHECK(show({}) == "nothing");
  CHECK(show(42) == "42");
  CHECK(show(-1L) == "-1");
  CHECK(show(18446744073709551615ull) == "18446744073709551615");
  CHECK(show(true) == "true");
  CHECK(show('x') == "x");
  CHECK(show(2.5) == "2.5");
  CHECK(show(0.1) == "0.1");
  CHECK(show(1.0 / 3.0) == "0.3333333333333333");
  CHECK(show(0.1f) == "0.1");
  CHECK(show(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(show("text") == "text");
  CHECK(show(std::make_exception_ptr(std::runtime_error("boom"))) == "boom");
  CHECK(show(std::make_exception_ptr(5)) == "<int>");
  CHECK(show(std::exception_ptr()) == "no exception");
  CHECK(show(std::out_of_range("far")) == "far");
  CHECK(show(Colour::green) == "green");
  CHECK(show(sig::yield | sig::io) == "|yield io|");
  CHECK(show(Error{Errc::full, "no room"}) == "full: no room");
  CHECK(show(Point{1, 2}) == "<(anonymous namespace)::Point>");
}
