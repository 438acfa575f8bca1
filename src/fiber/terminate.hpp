// SPDX-License-Identifier: MIT
// What: says why, when a fiber is killed that cannot be unwound because it stands inside a noexcept function. The
// language then calls std::terminate; our handler prints the fiber and hands on to the handler that was there before.
#pragma once

namespace weft::inline v0::detail {

void install_terminate_report() noexcept;  // once per process

}  // namespace weft::inline v0::detail
