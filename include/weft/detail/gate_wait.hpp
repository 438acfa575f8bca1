// SPDX-License-Identifier: MIT
// What: a task's wait at a gate.
#pragma once

#include "weft/detail/gate_core.hpp"
#include "weft/detail/wait_core.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0::detail {

using GateCore = GateCoreOf<TaskCore>;

// `kind`, `object`: what a dump says.
WaitResult wait_at_gate(GateCore& gate, const char* kind, const void* object, std::int64_t deadline, Raise raise);

}  // namespace weft::inline v0::detail
