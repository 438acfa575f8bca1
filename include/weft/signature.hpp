// SPDX-License-Identifier: MIT
// What: Signature, the signals a function may emit, known before it runs: its own bits, and the parameters whose
// signals become its own (a map function emits what its argument emits). All constexpr; an analyser computes with it.
//
// Invariants
// [SGN-1] Every operation is an upper bound: a signal that can leave the described code is in the result.
// [SGN-2] squelch_bits() is the one place that says what squelch does to an event; Signature::squelched() is its bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weft/mask.hpp"
#include "weft/result.hpp"
#include "weft/signal.hpp"

namespace weft::inline v0 {

namespace detail {
[[noreturn]] void throw_bad_parameter(unsigned index);

// What squelching these signals can take away: never an error, and nothing that passes every mask.
constexpr SignalSet squelchable(SignalSet squelched) {
  return squelched.without(sig::error | sig::internal);
}
}  // namespace detail

// The bits that leave a squelching boundary when bits arrive at it. A squelched signal becomes a plain error (the
// violation); what is an error already stays one, with its payload, and loses only its squelched bits.
constexpr SignalSet squelch_bits(SignalSet bits, SignalSet squelched) {
  SignalSet taken = detail::squelchable(squelched);
  if (!bits.overlaps(taken)) return bits;
  return bits.contains(sig::error) ? bits.without(taken) : sig::error;
}

struct Signature {
  SignalSet bits;
  std::uint32_t propagates = 0;  // bit i: the signals of parameter i are also emitted

  static constexpr unsigned parameters = 32;

  static constexpr Signature silent() { return {}; }
  static constexpr Signature errors() { return {sig::error, 0}; }
  static constexpr Signature yields() { return {sig::yield, 0}; }
  static constexpr Signature yields_errors() { return {sig::yield | sig::error, 0}; }
  static constexpr Signature ffi() { return {sig::ffi, 0}; }
  static constexpr Signature io() { return {sig::yield | sig::io, 0}; }  // a request suspends: both bits
  static constexpr Signature io_errors() { return {sig::yield | sig::io | sig::error, 0}; }
  static constexpr Signature anything() { return {sig::all.without(sig::internal), 0}; }  // nothing is known

  // A call of parameter index. An analyser takes anything() for a parameter beyond the 32 that can be told apart.
  static constexpr Signature parameter(unsigned index) {
    if (index >= parameters) detail::throw_bad_parameter(index);
    return {sig::ok, std::uint32_t{1} << index};
  }

  constexpr bool is_silent() const { return bits.empty() && propagates == 0; }
  constexpr bool has(SignalSet s) const { return bits.overlaps(s); }
  constexpr bool may_error() const { return has(sig::error); }
  constexpr bool may_yield() const { return has(sig::yield); }
  constexpr bool may_io() const { return has(sig::io); }
  constexpr bool may_ffi() const { return has(sig::ffi); }
  constexpr bool is_polymorphic() const { return propagates != 0; }

  // Whether nothing but the permitted can come out. A polymorphic signature must be resolved first, or be permitted to
  // propagate the same parameters.
  constexpr bool within(Signature permitted) const {
    return bits.subset_of(permitted.bits) && (propagates & ~permitted.propagates) == 0;
  }
  constexpr bool within(SignalSet permitted) const { return within(Signature{permitted, 0}); }

  static constexpr Signature combine(Signature a, Signature b) {
    return {a.bits | b.bits, a.propagates | b.propagates};
  }
  friend constexpr Signature operator|(Signature a, Signature b) { return combine(a, b); }
  constexpr Signature& operator|=(Signature other) { return *this = combine(*this, other); }

  // The signature of a call with these arguments, each described in the caller's own terms: an argument that is the
  // caller's parameter i is parameter(i), and the caller then propagates it. A propagated parameter for which no
  // argument is given adds nothing (there is nothing to call); wrong arity is not the algebra's business.
  constexpr Signature resolve(std::span<const Signature> arguments) const {
    Signature call{bits, 0};
    for (std::size_t i = 0; i < arguments.size() && i < parameters; ++i) {
      if (propagates >> i & 1) call |= arguments[i];
    }
    return call;
  }

  // Behind squelch(f, signals): they are gone, and if one of them could arrive there is an error instead. Signals of
  // propagated parameters are not known yet: the error is added, and resolving adds their bits in full.
  constexpr Signature squelched(SignalSet signals) const {
    SignalSet taken = detail::squelchable(signals);
    bool violates = bits.overlaps(taken) || (propagates != 0 && !taken.empty());
    return {violates ? bits.without(taken) | sig::error : bits, propagates};
  }
  Result<Signature> squelched(std::string_view names) const;  // an unknown name is an error that names it

  // Behind muffle: the caller need not expect them (one that fires all the same kills the fiber).
  constexpr Signature muffled(SignalSet signals) const { return {bits.without(signals), propagates}; }

  // Around a handler. What the mask lets pass may come along with any other bit, so it takes all of them out with it.
  constexpr Signature catching(const Mask& mask) const {
    return {bits.overlaps(mask.pass) ? bits : bits.without(mask.mask), propagates};
  }
  constexpr Signature catching(SignalSet signals) const { return catching(Mask(signals)); }

  friend constexpr bool operator==(Signature, Signature) = default;
};

// "|yield io|", "silent", "|error| + parameters 0 2"
std::string to_string(Signature signature);

}  // namespace weft::inline v0
