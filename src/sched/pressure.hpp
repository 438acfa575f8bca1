// SPDX-License-Identifier: MIT
// What: decides whether a temporary worker is added. sysmon shows it one sample per round; it keeps the counters that
// WEFT_STATS=1 prints. No clock, no thread: the same samples give the same verdicts.
// Invariants
//   [PRESS-1] Pressure (entries pushed minus entries taken, summed over sharded counters) is signed. A reader can catch
//             a take before its push, so a negative sample is normal; many in a row are a counting bug (asserted in
//             debug builds).
//   [PRESS-2] A worker is added only for one that is stuck in the kernel: as long as base_workers workers are not
//             stuck, a further one would share a processor with them.
//   [PRESS-3] At most one pass per scale interval, and never beyond max_workers (0: twice base_workers).
// Threads: one at a time (sysmon's; whoever prints the text takes the same lock or comes after sysmon).
#pragma once

#include <cstdint>
#include <string>

#include "weft/detail/assert.hpp"

namespace weft::inline v0::detail {

struct PressureSample {
  std::int64_t queued = 0;    // the pressure
  unsigned workers = 0;       // alive, temporary ones included
  unsigned base_workers = 0;  // M
  unsigned active = 0;        // inside a task, stuck ones included
  unsigned sleepers = 0;
  unsigned stuck = 0;  // no progress, and in the kernel
  std::int64_t now_ns = 0;
};

struct PressureStats {
  std::uint64_t samples = 0;
  std::uint64_t positive_samples = 0;
  std::uint64_t negative_samples = 0;
  std::int64_t current_pressure = 0;
  std::uint64_t gate_passes = 0;
  std::uint64_t promoted_workers = 0;
  std::uint64_t neg_streak_max = 0;
  std::uint64_t block_no_work = 0;
  std::uint64_t block_nonpositive = 0;
  std::uint64_t block_idle_capacity = 0;
  std::uint64_t block_not_stuck = 0;
  std::uint64_t block_capped = 0;
  std::uint64_t block_rate_limited = 0;

  // Per mille, so that the text can show one decimal.
  std::uint64_t positive_per_mille() const { return samples == 0 ? 0 : positive_samples * 1000 / samples; }
};

class PressureGate {
 public:
  // In the order in which they are looked at.
  enum class Verdict : std::uint8_t {
    pass,
    no_work,        // pressure is 0
    nonpositive,    // pressure is below 0: a sample caught between two counters
    idle_capacity,  // somebody sleeps, or searches while the queue is short
    not_stuck,      // enough workers move: none is stuck, those that are have been replaced, or the queue shrinks
    capped,
    rate_limited,
  };

  struct Limits {
    std::int64_t scale_interval_ns = 10'000'000;
    unsigned max_workers = 0;            // 0: twice the base
    std::int64_t high_pressure = 64;     // above it, searching workers and a shrinking queue are no excuse
    std::uint64_t negative_limit = 256;  // samples in a row; at sysmon's 250 us, 64 ms
  };

  PressureGate() = default;
  explicit PressureGate(const Limits& limits) : limits_(limits) {}

  [[nodiscard]] Verdict decide(const PressureSample& sample) {
    count(sample);
    const Verdict verdict = judge(sample);
    previous_queued_ = sample.queued;
    switch (verdict) {
      case Verdict::pass:
        ++stats_.gate_passes;
        last_pass_ns_ = sample.now_ns;
        has_passed_ = true;
        break;
      case Verdict::no_work:
        ++stats_.block_no_work;
        break;
      case Verdict::nonpositive:
        ++stats_.block_nonpositive;
        break;
      case Verdict::idle_capacity:
        ++stats_.block_idle_capacity;
        break;
      case Verdict::not_stuck:
        ++stats_.block_not_stuck;
        break;
      case Verdict::capped:
        ++stats_.block_capped;
        break;
      case Verdict::rate_limited:
        ++stats_.block_rate_limited;
        break;
    }
    return verdict;
  }

  // A worker was really added after a pass; thread creation may fail.
  void note_promoted() { ++stats_.promoted_workers; }

  const PressureStats& stats() const { return stats_; }
  // One "name value" per line.
  std::string to_text() const;

 private:
  void count(const PressureSample& sample) {
    ++stats_.samples;
    stats_.current_pressure = sample.queued;
    if (sample.queued > 0) ++stats_.positive_samples;
    if (sample.queued >= 0) {
      negative_streak_ = 0;
      return;
    }
    ++stats_.negative_samples;
    ++negative_streak_;
    if (negative_streak_ > stats_.neg_streak_max) stats_.neg_streak_max = negative_streak_;
    WEFT_DEBUG(negative_streak_ < limits_.negative_limit, "pressure stays negative: an entry was taken but not pushed");
  }

  Verdict judge(const PressureSample& sample) const {
    if (sample.queued == 0) return Verdict::no_work;
    if (sample.queued < 0) return Verdict::nonpositive;
    const bool high = sample.queued > limits_.high_pressure;
    if (sample.sleepers > 0 || (sample.active < sample.workers && !high)) return Verdict::idle_capacity;
    const unsigned moving = sample.workers > sample.stuck ? sample.workers - sample.stuck : 0;
    if (sample.stuck == 0 || moving >= sample.base_workers) return Verdict::not_stuck;  // [PRESS-2]
    if (sample.queued < previous_queued_ && !high) return Verdict::not_stuck;
    const unsigned cap = limits_.max_workers != 0 ? limits_.max_workers : 2 * sample.base_workers;
    if (sample.workers >= cap) return Verdict::capped;
    if (has_passed_ && sample.now_ns - last_pass_ns_ < limits_.scale_interval_ns) return Verdict::rate_limited;
    return Verdict::pass;
  }

  Limits limits_;
  PressureStats stats_;
  std::uint64_t negative_streak_ = 0;
  std::int64_t previous_queued_ = 0;
  std::int64_t last_pass_ns_ = 0;
  bool has_passed_ = false;
};
const char* to_string(PressureGate::Verdict verdict);

}  // namespace weft::inline v0::detail
