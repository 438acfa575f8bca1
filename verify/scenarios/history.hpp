// SPDX-License-Identifier: MIT
#pragma once
// What: whether some order of the calls of a short history, which keeps what was over before another began, is
// explained by a specification that does one thing at a time: spec.explains(call) does it and says whether the answer
// fits.
#include <cstddef>
#include <vector>

namespace weft::inline v0::verify {

template <class Call, class Spec>
bool linearizable(const std::vector<Call>& calls, const Spec& now, std::vector<bool>& used, std::size_t left) {
  if (left == 0) return true;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (used[i]) continue;
    bool may_be_next = true;
    for (std::size_t k = 0; k < calls.size(); ++k)
      if (!used[k] && k != i && calls[k].over < calls[i].begin) may_be_next = false;
    Spec next = now;
    if (!may_be_next || !next.explains(calls[i])) continue;
    used[i] = true;
    if (linearizable(calls, next, used, left - 1)) return true;
    used[i] = false;
  }
  return false;
}

template <class Call, class Spec>
bool linearizable(const std::vector<Call>& calls, const Spec& start) {
  std::vector<bool> used(calls.size());
  return linearizable(calls, start, used, calls.size());
}

}  // namespace weft::inline v0::verify
