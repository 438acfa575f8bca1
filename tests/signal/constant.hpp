// SPDX-License-Identifier: MIT
// What: constant<F> is true if a call of the captureless lambda F is a constant expression.
#pragma once

namespace constant_detail {
template <int>
struct Need;
}

template <auto F>
concept constant = requires { typename constant_detail::Need<(static_cast<void>(F()), 0)>; };
