// SPDX-License-Identifier: MIT
#include "base/random.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "doctest/doctest.h"

using namespace weft::detail;

namespace {

template <std::size_t N>
constexpr std::array<std::uint64_t, N> draw(Random random) {
  std::array<std::uint64_t, N> values{};
  for (std::uint64_t& value : values) value = random.next();
  return values;
}

}  // namespace

TEST_CASE("random: splitmix64 and xoshiro256** give the published numbers") {
  Splitmix64 mix(1234567);
  for (const std::uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                       4593380528125082431u, 16408922859458223821u}) {
    CHECK(mix.next() == expected);
  }
  constexpr std::array<std::uint64_t, 10> published = {11520u,
                                                       0u,
                                                       1509978240u,
                                                       1215971899390074240u,
                                                       1216172134540287360u,
                                                       607988272756665600u,
                                                       16172922978634559625u,
                                                       8476171486693032832u,
                                                       10595114339597558777u,
                                                       2904607092377533576u};
  CHECK(draw<10>(Random::from_state({1, 2, 3, 4})) == published);
  static_assert(draw<10>(Random::from_state({1, 2, 3, 4})) == published);
}

TEST_CASE("random: a seed gives the same numbers, choices and shuffles everywhere") {
  Random random(42);
  CHECK(draw<3>(random) ==
        std::array<std::uint64_t, 3>{1546998764402558742u, 6990951692964543102u, 12544586762248559009u});
  std::array<std::uint64_t, 8> belows{};
  for (std::uint64_t& value : belows) value = random.below(1000);
  CHECK(belows == std::array<std::uint64_t, 8>{83, 378, 680, 924, 991, 769, 719, 850});
  std::array<std::int64_t, 6> betweens{};
  for (std::int64_t& value : betweens) value = random.between(-5, 5);
  CHECK(betweens == std::array<std::int64_t, 6>{3, 1, 2, -2, 3, -2});
  std::string coins;
  for (int i = 0; i < 16; ++i) coins += random.coin() ? '1' : '0';
  CHECK(coins == "1111110001000110");
  std::array<int, 10> order{};
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(order);
  CHECK(order == std::array<int, 10>{1, 2, 0, 8, 3, 9, 7, 6, 5, 4});
  std::string picks;
  const std::string letters = "abcdef";
  for (int i = 0; i < 12; ++i) picks += random.pick(letters);
  CHECK(picks == "fdeeefaddfed");
  CHECK(random.split().next() == 3844851795512570878u);
  CHECK(random.next() == 3544591960005157208u);
}

TEST_CASE("random: below has no favourites where a remainder would") {
  // Three quarters of the range: next() % n would hit the first third twice as often as the others.
  constexpr std::uint64_t third = std::uint64_t{1} << 62;
  Random random(7);
  std::array<int, 3> hits{};
  for (int i = 0; i < 30'000; ++i) ++hits[random.below(3 * third) / third];
  for (const int count : hits) {
    CHECK(count > 9'700);
    CHECK(count < 10'300);
  }
  std::array<int, 6> faces{};
  for (int i = 0; i < 60'000; ++i) ++faces[random.below(6)];
  for (const int count : faces) {
    CHECK(count > 9'700);
    CHECK(count < 10'300);
  }
}

TEST_CASE("random: the edges of the ranges") {
  Random random(1);
  for (int i = 0; i < 100; ++i) CHECK(random.below(1) == 0);
  CHECK(random.between(9, 9) == 9);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.between(-1, 1));
  CHECK(seen == std::set<std::int64_t>{-1, 0, 1});
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 64; ++i) {
    const std::int64_t any =
        random.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    negative = negative || any < 0;
    positive = positive || any > 0;
  }
  CHECK(negative);
  CHECK(positive);
  CHECK_FALSE(random.chance(0, 10));
  CHECK(random.chance(10, 10));
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) hits += random.chance(1, 4) ? 1 : 0;
  CHECK(hits > 2'350);
  CHECK(hits < 2'650);
}

TEST_CASE("random: shuffles reach every order about equally often") {
  Random random(3);
  std::array<int, 24> seen{};
  for (int i = 0; i < 24'000; ++i) {
    std::array<int, 4> order = {0, 1, 2, 3};
    random.shuffle(order);
    std::array<int, 4> probe = {0, 1, 2, 3};
    std::size_t rank = 0;
    while (probe != order) {
      std::ranges::next_permutation(probe);
      ++rank;
    }
    ++seen[rank];
  }
  for (const int count : seen) {
    CHECK(count > 850);
    CHECK(count < 1'150);
  }
}
