// SPDX-License-Identifier: MIT
#include "sim/shrink.hpp"

#include <algorithm>
#include <cstddef>

namespace weft::inline v0::detail {
namespace {

std::vector<Choice> without(const std::vector<Choice>& all, std::size_t first, std::size_t count) {
  std::vector<Choice> rest;
  rest.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i < first || i >= first + count) rest.push_back(all[i]);
  return rest;
}

}  // namespace

std::vector<Choice> shrink_choices(std::vector<Choice> choices, std::uint64_t most_runs, std::uint64_t& runs,
                                   const TryChoices& fails) {
  // What was really made is kept only if it is no longer than what was asked for: it never is longer, but who knows.
  const auto attempt = [&](const std::vector<Choice>& wanted) {
    ++runs;
    const std::optional<std::vector<Choice>> made = fails(wanted);
    if (!made) return false;
    choices = made->size() < wanted.size() ? *made : wanted;
    return true;
  };
  for (std::size_t part = choices.size(); part > 0;) {
    bool helped = false;
    // From the end: what comes late shifts least.
    for (std::size_t end = choices.size(); end > 0 && runs < most_runs;) {
      const std::size_t count = std::min(part, end);
      if (attempt(without(choices, end - count, count))) {
        helped = true;
        end = std::min(end - count, choices.size());
      } else {
        end -= count;
      }
    }
    if (runs >= most_runs) break;
    if (part > 1) {
      part = (part + 1) / 2;
      part = std::min(part, std::max<std::size_t>(choices.size(), 1));
    } else if (!helped) {
      break;
    }
  }
  // Smaller numbers are nearer to the usual choice.
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::uint64_t value = choices[i].value;
    for (const std::uint64_t smaller : {std::uint64_t{1}, value / 2, value - 1}) {
      if (smaller == 0 || smaller >= value || runs >= most_runs) continue;
      std::vector<Choice> wanted = choices;
      wanted[i].value = smaller;
      if (attempt(wanted)) break;
    }
  }
  return choices;
}

}  // namespace weft::inline v0::detail
