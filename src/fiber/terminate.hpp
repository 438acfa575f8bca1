// SPDX-License-Identifier: MIT
// What: says why, when the language calls std::terminate: because a fiber was killed that cannot be unwound (it stands
// inside a noexcept function), or because an error that came out of fibers was not caught; then it shows their frames.
// An error of the floors above is told by their teller. Hands on to the handler that was there before.
#pragma once

#include <typeinfo>

namespace weft::inline v0::detail {

void install_terminate_report() noexcept;  // once per process

// Of the floors above: says something of an error that is theirs. True: it did. `type` is null where the compiler calls
// terminate without saying for what (g++ before 14, from a noexcept function with something to destroy).
using ErrorTeller = bool (*)(const std::type_info* type);
void set_error_teller(ErrorTeller teller) noexcept;

}  // namespace weft::inline v0::detail
