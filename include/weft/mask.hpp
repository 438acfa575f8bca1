// SPDX-License-Identifier: MIT
// What: Mask, what a fiber's resumer catches from it, what goes through whatever the mask says, which emitted signals
// finish the fiber, and how it gets its dynamic bindings. Written as a SignalSet or in letters:
//
//   a  all signals but the internal ones        r    interrupt        i  share the parent's bindings
//   e  error                                    w    await and wait   p  a new layer over the parent's bindings
//   d  debug                                    0-9  userN
//   y  yield                                    t    error and user0-4
//                                               u    user0-9
//
// Letters combine in any order; of i and p the last one wins. A mask of letters lets io, wait and await pass unless it
// names them (w or a; for await also u or 9), and error and user0-4 end its fiber. A SignalSet mask passes only
// terminal, and nothing emitted ends its fiber.
//
// Invariants
// [MASK-1] terminal is in every pass set that this header makes, so no mask catches it.
// [MASK-2] A bad letter in a constant expression does not compile; at run time it throws MaskError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "weft/signal.hpp"

namespace weft::inline v0 {

enum class Env : std::uint8_t { none, share, layer };

struct MaskError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

namespace detail {
[[noreturn]] void throw_bad_mask_letter(std::string_view letters, std::size_t position);
[[noreturn]] void throw_null_mask();
}  // namespace detail

struct Mask {
  SignalSet mask = sig::yield;
  SignalSet pass = sig::terminal | sig::io | sig::wait | sig::await;
  SignalSet ends = sig::error | sig::user0_4;
  Env env = Env::none;

  constexpr Mask() = default;  // the same as "y"
  constexpr Mask(SignalSet set) : mask(set), pass(sig::terminal), ends() {}
  constexpr Mask(std::initializer_list<SignalSet> parts) : Mask(SignalSet(parts)) {}
  constexpr Mask(const char* letters) : Mask(text_of(letters)) {}
  constexpr Mask(const std::string& letters) : Mask(std::string_view(letters)) {}

  constexpr Mask(std::string_view letters) : mask() {
    bool names_waits = false;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      switch (letters[i]) {
        case 'a':
          mask |= sig::all.without(sig::internal);
          names_waits = true;
          break;
        case 'e':
          mask |= sig::error;
          break;
        case 'd':
          mask |= sig::debug;
          break;
        case 'y':
          mask |= sig::yield;
          break;
        case 't':
          mask |= sig::error | sig::user0_4;
          break;
        case 'u':
          mask |= sig::user0_9;
          break;
        case 'r':
          mask |= sig::interrupt;
          break;
        case 'w':
          mask |= sig::await | sig::wait;
          names_waits = true;
          break;
        case 'i':
          env = Env::share;
          break;
        case 'p':
          env = Env::layer;
          break;
        case '0':
        case '1':
        case '2':
        case '3':
        case '4':
        case '5':
        case '6':
        case '7':
        case '8':
        case '9':
          mask |= sig::user(static_cast<unsigned>(letters[i] - '0'));
          break;
        default:
          detail::throw_bad_mask_letter(letters, i);
      }
    }
    if (names_waits) {
      pass = sig::terminal;
    } else if (mask.contains(sig::await)) {
      pass = sig::terminal | sig::io | sig::wait;
    }
  }

  // More signals that go through, or that end the fiber.
  constexpr Mask passing(SignalSet more) const {
    Mask m = *this;
    m.pass |= more;
    return m;
  }
  constexpr Mask ending(SignalSet more) const {
    Mask m = *this;
    m.ends |= more;
    return m;
  }
  constexpr Mask with_env(Env e) const {
    Mask m = *this;
    m.env = e;
    return m;
  }

  constexpr bool catches(SignalSet bits) const { return mask.overlaps(bits) && !pass.overlaps(bits); }

  friend constexpr bool operator==(const Mask&, const Mask&) = default;

 private:
  static constexpr std::string_view text_of(const char* letters) {
    if (!letters) detail::throw_null_mask();
    return letters;
  }
};

std::string to_string(const Mask& mask);

}  // namespace weft::inline v0
