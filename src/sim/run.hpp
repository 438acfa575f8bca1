// SPDX-License-Identifier: MIT
// What: one run by a plan, once or compared with itself.
#pragma once

#include <functional>
#include <optional>

#include "sim/choices.hpp"
#include "weft/sim.hpp"

namespace weft::inline v0::detail {

sim::Report run_once(const ChoicePlan& plan, const sim::Options& options, const std::function<void()>& f);
// With a second run if the options want one.
sim::Report run_compared(const ChoicePlan& plan, const sim::Options& options, const std::function<void()>& f);
// WEFT_SIM_REPLAY or WEFT_SIM_SEED; nothing: neither is set. Throws std::invalid_argument.
std::optional<ChoicePlan> plan_from_environment();

}  // namespace weft::inline v0::detail
