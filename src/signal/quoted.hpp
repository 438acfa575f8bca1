// SPDX-License-Identifier: MIT
// What: text from outside, made fit for a message: quoted, control characters and other bytes as \xNN, cut if long.
#pragma once

#include <string>
#include <string_view>

namespace weft::inline v0::detail {

std::string quoted(std::string_view text);
std::string quoted(char letter);

}  // namespace weft::inline v0::detail
