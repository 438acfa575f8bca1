// SPDX-License-Identifier: MIT
#include "signal/quoted.hpp"

namespace weft::inline v0::detail {

namespace {

constexpr std::size_t longest = 60;

void append(std::string& out, char letter, char quote) {
  constexpr char digits[] = "0123456789abcdef";
  auto byte = static_cast<unsigned char>(letter);
  if (letter == quote || letter == '\\') {
    out += '\\';
    out += letter;
  } else if (byte < 0x20 || byte >= 0x7f) {
    out += "\\x";
    out += digits[byte >> 4];
    out += digits[byte & 15];
  } else {
    out += letter;
  }
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char letter : text.substr(0, longest)) append(out, letter, '"');
  out += text.size() > longest ? "...\"" : "\"";
  return out;
}

std::string quoted(char letter) {
  std::string out = "'";
  append(out, letter, '\'');
  out += '\'';
  return out;
}

}  // namespace weft::inline v0::detail
