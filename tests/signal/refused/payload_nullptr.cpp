// SPDX-License-Identifier: MIT
// refused: nullptr is no payload: say Payload.. for none
#include "weft/payload.hpp"

weft::Payload p = nullptr;
