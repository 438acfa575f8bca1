// SPDX-License-Identifier: MIT
//
// What: the random choices of the runtime and of simulations: xoshiro256** (Blackman and Vigna), seeded through
// splitmix64, and distributions of our own.
// Invariants:
//   [RANDOM-1] A seed gives the same numbers, choices and shuffles with every compiler and on every machine; replays
//              depend on it. So: integer arithmetic of fixed width only, and no std distribution (they differ).
//   [RANDOM-2] below() is exact: no value is likelier than another.
// Threads: one at a time per generator; give each thread its own by split().
// Not for secrets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>

#include "weft/detail/assert.hpp"

namespace weft::inline v0::detail {

class Splitmix64 {
 public:
  constexpr explicit Splitmix64(std::uint64_t seed) : state_(seed) {}
  constexpr std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

class Random {
 public:
  using State = std::array<std::uint64_t, 4>;

  constexpr explicit Random(std::uint64_t seed) : state_{} {
    Splitmix64 mix(seed);
    for (std::uint64_t& word : state_) word = mix.next();  // never all zero: splitmix64 gives each value once
  }
  static constexpr Random from_state(const State& state) {
    WEFT_ASSERT(state != State{}, "a generator whose state is zero would stay there");
    Random random(0);
    random.state_ = state;
    return random;
  }
  constexpr const State& state() const { return state_; }

  constexpr std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // 0 <= x < n. The high half of a 128-bit product, with the few products thrown away that would favour some values
  // (Lemire): mostly no division.
  constexpr std::uint64_t below(std::uint64_t n) {
    WEFT_ASSERT(n != 0, "no number is below zero");
    Wide product = Wide{next()} * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t unfair = (0 - n) % n;
      while (static_cast<std::uint64_t>(product) < unfair) product = Wide{next()} * n;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  // low <= x <= high.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    WEFT_ASSERT(low <= high, "an empty range has no number");
    const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    const std::uint64_t offset = width == 0 ? next() : below(width);  // 0: all 2^64 of them
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
  }

  constexpr bool coin() { return (next() >> 63) != 0; }

  // True numerator times out of denominator.
  constexpr bool chance(std::uint64_t numerator, std::uint64_t denominator) { return below(denominator) < numerator; }

  template <std::ranges::random_access_range Range>
  constexpr decltype(auto) pick(Range&& choices) {
    return std::ranges::begin(choices)[place(below(std::ranges::size(choices)))];
  }

  template <std::ranges::random_access_range Range>
  constexpr void shuffle(Range&& items) {
    const auto first = std::ranges::begin(items);
    for (std::uint64_t left = std::ranges::size(items); left > 1; --left) {
      std::ranges::iter_swap(first + place(below(left)), first + place(left - 1));
    }
  }

  // A generator of its own for a part of the program: what one part draws does not shift what another sees.
  constexpr Random split() { return Random(next()); }

 private:
  __extension__ using Wide = unsigned __int128;

  static constexpr std::ptrdiff_t place(std::uint64_t index) { return static_cast<std::ptrdiff_t>(index); }

  State state_;
};

}  // namespace weft::inline v0::detail
