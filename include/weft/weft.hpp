// SPDX-License-Identifier: MIT
// Everything that is there so far.
#pragma once

#include "weft/dyn.hpp"
#include "weft/event.hpp"
#include "weft/fiber.hpp"
#include "weft/fiber_error.hpp"
#include "weft/generator.hpp"
#include "weft/mask.hpp"
#include "weft/payload.hpp"
#include "weft/registry.hpp"
#include "weft/result.hpp"
#include "weft/signal.hpp"
#include "weft/signature.hpp"
#include "weft/sugar.hpp"
#include "weft/trace.hpp"
