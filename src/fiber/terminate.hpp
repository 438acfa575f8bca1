// SPDX-License-Identifier: MIT
// What: says why, when the language calls std::terminate: because a fiber was killed that cannot be unwound (it stands
// inside a noexcept function), or because an error that came out of fibers was not caught; then it shows their frames.
// Hands on to the handler that was there before.
#pragma once

namespace weft::inline v0::detail {

void install_terminate_report() noexcept;  // once per process

}  // namespace weft::inline v0::detail
