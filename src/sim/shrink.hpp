// SPDX-License-Identifier: MIT
// What: a shorter list of choices that fails in the same way: parts of it are left out, smaller and smaller ones, for
// as long as that helps (delta debugging, Zeller and Hildebrandt).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/choices.hpp"

namespace weft::inline v0::detail {

// `fails`: tries a list, and gives the choices that were really made if it fails still.
using TryChoices = std::function<std::optional<std::vector<Choice>>(const std::vector<Choice>&)>;
std::vector<Choice> shrink_choices(std::vector<Choice> choices, std::uint64_t most_runs, std::uint64_t& runs,
                                   const TryChoices& fails);

}  // namespace weft::inline v0::detail
