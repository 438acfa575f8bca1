// SPDX-License-Identifier: MIT
// What: SignalSet, a set of up to 64 signals in one word, and the named bits. The empty set is "ok".
//
// Invariants
// [SIG-1] No bit implies another. A combination means what its emitter and its catcher agree on.
// [SIG-2] Code asks contains() or overlaps(); equality is for tests and tables.
// [SIG-3] Bits 0-31 belong to the library, bits 32-63 to programs (see registry.hpp).
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace weft::inline v0 {

namespace detail {
[[noreturn]] void throw_bad_bit(unsigned n);
[[noreturn]] void throw_bad_user_signal(unsigned n);
}  // namespace detail

class SignalSet {
 public:
  constexpr SignalSet() = default;
  constexpr SignalSet(std::initializer_list<SignalSet> parts) {
    for (SignalSet part : parts) word_ |= part.word_;
  }

  static constexpr SignalSet from_bits(std::uint64_t bits) {
    SignalSet set;
    set.word_ = bits;
    return set;
  }

  static constexpr SignalSet bit(unsigned n) {
    if (n >= 64) detail::throw_bad_bit(n);
    return from_bits(std::uint64_t{1} << n);
  }

  constexpr std::uint64_t bits() const { return word_; }
  constexpr bool empty() const { return word_ == 0; }
  constexpr explicit operator bool() const { return word_ != 0; }
  constexpr int count() const { return std::popcount(word_); }

  constexpr bool contains(SignalSet s) const { return (word_ & s.word_) == s.word_; }
  constexpr bool overlaps(SignalSet s) const { return (word_ & s.word_) != 0; }
  constexpr bool subset_of(SignalSet permitted) const { return (word_ & ~permitted.word_) == 0; }
  constexpr SignalSet without(SignalSet s) const { return from_bits(word_ & ~s.word_); }

  constexpr SignalSet& operator|=(SignalSet s) { return *this = *this | s; }
  constexpr SignalSet& operator&=(SignalSet s) { return *this = *this & s; }
  constexpr SignalSet& operator^=(SignalSet s) { return *this = *this ^ s; }

  friend constexpr SignalSet operator|(SignalSet a, SignalSet b) { return from_bits(a.word_ | b.word_); }
  friend constexpr SignalSet operator&(SignalSet a, SignalSet b) { return from_bits(a.word_ & b.word_); }
  friend constexpr SignalSet operator^(SignalSet a, SignalSet b) { return from_bits(a.word_ ^ b.word_); }
  friend constexpr SignalSet operator~(SignalSet a) { return from_bits(~a.word_); }
  friend constexpr bool operator==(SignalSet, SignalSet) = default;

  // Public only so that a SignalSet can be a template argument. Use bits().
  std::uint64_t word_ = 0;
};

namespace sig {

inline constexpr SignalSet ok{};
inline constexpr SignalSet error = SignalSet::bit(0);
inline constexpr SignalSet yield = SignalSet::bit(1);
inline constexpr SignalSet debug = SignalSet::bit(2);
inline constexpr SignalSet resume = SignalSet::bit(3);
inline constexpr SignalSet ffi = SignalSet::bit(4);
inline constexpr SignalSet propagate = SignalSet::bit(5);
inline constexpr SignalSet query = SignalSet::bit(7);
inline constexpr SignalSet halt = SignalSet::bit(8);
inline constexpr SignalSet io = SignalSet::bit(9);
inline constexpr SignalSet terminal = SignalSet::bit(10);
inline constexpr SignalSet exec = SignalSet::bit(11);
inline constexpr SignalSet fuel = SignalSet::bit(12);
inline constexpr SignalSet switch_ = SignalSet::bit(13);
inline constexpr SignalSet wait = SignalSet::bit(14);

inline constexpr SignalSet user0 = SignalSet::bit(16);
inline constexpr SignalSet user1 = SignalSet::bit(17);
inline constexpr SignalSet user2 = SignalSet::bit(18);
inline constexpr SignalSet user3 = SignalSet::bit(19);
inline constexpr SignalSet user4 = SignalSet::bit(20);
inline constexpr SignalSet user5 = SignalSet::bit(21);
inline constexpr SignalSet user6 = SignalSet::bit(22);
inline constexpr SignalSet user7 = SignalSet::bit(23);
inline constexpr SignalSet interrupt = SignalSet::bit(24);
inline constexpr SignalSet await = SignalSet::bit(25);
inline constexpr SignalSet user8 = interrupt;
inline constexpr SignalSet user9 = await;

constexpr SignalSet user(unsigned n) {
  if (n > 9) detail::throw_bad_user_signal(n);
  return SignalSet::bit(16 + n);
}

inline constexpr SignalSet abort = error | terminal;
inline constexpr SignalSet all = SignalSet::from_bits(~std::uint64_t{0});
inline constexpr SignalSet internal = resume | propagate | query | terminal | switch_;
inline constexpr SignalSet runtime_only = exec | fuel | wait;
inline constexpr SignalSet reserved = SignalSet::bit(6) | SignalSet::bit(15) | SignalSet::from_bits(0xfc00'0000);
inline constexpr SignalSet user_range = SignalSet::from_bits(0xffff'ffff'0000'0000);
inline constexpr SignalSet user0_4 = SignalSet::from_bits(0x001f'0000);
inline constexpr SignalSet user0_9 = SignalSet::from_bits(0x03ff'0000);

// What emit() refuses to raise for user code; check_emittable() in registry.hpp says why.
inline constexpr SignalSet not_emittable = internal | runtime_only | reserved;

}  // namespace sig

// "ok" when empty, else "|yield io|" in bit order: names of the library, registered names, "bit40" for the others.
std::string to_string(SignalSet set);

}  // namespace weft::inline v0
