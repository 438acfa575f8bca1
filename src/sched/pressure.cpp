// SPDX-License-Identifier: MIT
#include "sched/pressure.hpp"

namespace weft::inline v0::detail {

const char* to_string(PressureGate::Verdict verdict) {
  switch (verdict) {
    case PressureGate::Verdict::pass:
      return "pass";
    case PressureGate::Verdict::no_work:
      return "no_work";
    case PressureGate::Verdict::nonpositive:
      return "nonpositive";
    case PressureGate::Verdict::idle_capacity:
      return "idle_capacity";
    case PressureGate::Verdict::not_stuck:
      return "not_stuck";
    case PressureGate::Verdict::capped:
      return "capped";
    case PressureGate::Verdict::rate_limited:
      return "rate_limited";
  }
  return "?";
}

std::string PressureGate::to_text() const {
  std::string text;
  const auto line = [&text](const char* name, const std::string& value) {
    text.append(name).append(" ").append(value).append("\n");
  };
  const std::uint64_t share = stats_.positive_per_mille();
  line("samples", std::to_string(stats_.samples));
  line("positive_samples", std::to_string(stats_.positive_samples));
  line("negative_samples", std::to_string(stats_.negative_samples));
  line("positive_pct", std::to_string(share / 10) + "." + std::to_string(share % 10));
  line("current_pressure", std::to_string(stats_.current_pressure));
  line("gate_passes", std::to_string(stats_.gate_passes));
  line("promoted_workers", std::to_string(stats_.promoted_workers));
  line("neg_streak_max", std::to_string(stats_.neg_streak_max));
  line("block_no_work", std::to_string(stats_.block_no_work));
  line("block_nonpositive", std::to_string(stats_.block_nonpositive));
  line("block_idle_capacity", std::to_string(stats_.block_idle_capacity));
  line("block_not_stuck", std::to_string(stats_.block_not_stuck));
  line("block_capped", std::to_string(stats_.block_capped));
  line("block_rate_limited", std::to_string(stats_.block_rate_limited));
  return text;
}

}  // namespace weft::inline v0::detail
