// SPDX-License-Identifier: MIT
// refused: (conversion from .* to non-scalar type|no viable conversion)
#include "weft/signal.hpp"

weft::SignalSet set = 3;
