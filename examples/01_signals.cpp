// SPDX-License-Identifier: MIT
// A signal is a set of bits and a value. Masks say which of them a resumer catches; a wrong letter or type is named.
#include <iostream>
#include <string>

#include "weft/event.hpp"
#include "weft/mask.hpp"
#include "weft/payload.hpp"
#include "weft/signal.hpp"

int main() {
  using weft::SignalSet;
  namespace sig = weft::sig;

  const weft::Event asked{SignalSet{sig::yield, sig::io}, "read 4096 bytes"};
  std::cout << "event: " << to_string(asked) << "\n";
  std::cout << "contains io: " << asked.bits.contains(sig::io)
            << ", contains error: " << asked.bits.contains(sig::error) << ", ok: " << asked.ok() << "\n";

  constexpr weft::Mask by_set(SignalSet{sig::error, sig::yield});
  constexpr weft::Mask by_letters("ye");
  static_assert(by_set.mask == by_letters.mask);
  std::cout << "mask: " << to_string(by_letters.mask) << "\n";
  std::cout << "a set catches what it names: passes " << to_string(by_set.pass) << "\n";
  std::cout << "letters let waits through: pass " << to_string(by_letters.pass) << "\n";

  try {
    const std::string letters = "yex";
    std::cout << to_string(weft::Mask(letters).mask) << "\n";
  } catch (const weft::MaskError& error) {
    std::cout << "mask error: " << error.what() << "\n";
  }

  weft::Payload value = 42;
  std::cout << "payload: " << value.as<int>() << ", a " << value.type_name() << "\n";
  try {
    std::cout << value.as<std::string>() << "\n";
  } catch (const std::exception& error) {
    std::cout << "payload error: " << error.what() << "\n";
  }
}
