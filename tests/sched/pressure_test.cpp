// SPDX-License-Identifier: MIT
#include "sched/pressure.hpp"

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "doctest/doctest.h"

using namespace weft;
using namespace weft::detail;
using Verdict = PressureGate::Verdict;

namespace doctest {
template <>
struct StringMaker<Verdict> {
  static String convert(Verdict verdict) { return to_string(verdict); }
};
}  // namespace doctest

namespace {

constexpr std::int64_t ms = 1'000'000;

// Four workers, all of them stuck in the kernel, three entries waiting: the case that a temporary worker is for.
PressureSample all_stuck(std::int64_t now_ns = 0) {
  return {.queued = 3, .workers = 4, .base_workers = 4, .active = 4, .sleepers = 0, .stuck = 4, .now_ns = now_ns};
}

PressureSample with(PressureSample sample, auto change) {
  change(sample);
  return sample;
}

std::map<std::string, std::string> parse(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string name, value; lines >> name >> value;) values[name] = value;
  return values;
}

struct AssertionFailed {};

// Assertions of this thread become exceptions for as long as it lives.
class CatchAssertions {
 public:
  CatchAssertions()
      : before_(set_assert_hook([](const char*, const char*, const char*, int) { throw AssertionFailed(); })) {}
  ~CatchAssertions() { set_assert_hook(before_); }
  CatchAssertions(const CatchAssertions&) = delete;
  CatchAssertions& operator=(const CatchAssertions&) = delete;

 private:
  AssertHook before_;
};

#ifdef NDEBUG
constexpr bool checked = false;
#else
constexpr bool checked = true;
#endif

}  // namespace

TEST_CASE("pressure: a worker is added when work waits, nobody sleeps and the workers are stuck [W-084]") {
  PressureGate gate;
  CHECK(gate.decide(all_stuck()) == Verdict::pass);
}

TEST_CASE("pressure: no work, a sleeper, a searcher or moving workers are each a reason not to add one [W-084]") {
  PressureGate gate;
  CHECK(gate.decide(with(all_stuck(), [](auto& s) { s.queued = 0; })) == Verdict::no_work);
  CHECK(gate.decide(with(all_stuck(), [](auto& s) { s.queued = -1; })) == Verdict::nonpositive);
  CHECK(gate.decide(with(all_stuck(), [](auto& s) { s.sleepers = 1; })) == Verdict::idle_capacity);
  CHECK(gate.decide(with(all_stuck(), [](auto& s) { s.active = 3; })) == Verdict::idle_capacity);
  CHECK(gate.decide(with(all_stuck(), [](auto& s) { s.stuck = 0; })) == Verdict::not_stuck);
  CHECK(gate.stats().gate_passes == 0);
  CHECK(gate.decide(all_stuck()) == Verdict::pass);
}

TEST_CASE("pressure: workers that only compute get no help, whatever waits: the machine is full [W-084]") {
  PressureGate gate;
  const auto computing = with(all_stuck(), [](auto& s) {
    s.stuck = 0;
    s.queued = 100'000;
  });
  for (int i = 0; i < 100; ++i) CHECK(gate.decide(computing) == Verdict::not_stuck);
}

TEST_CASE("pressure: a stuck worker is replaced by one, not by as many as the cap allows [W-084]") {
  PressureGate gate;
  const auto one_stuck = with(all_stuck(), [](auto& s) { s.stuck = 1; });
  CHECK(gate.decide(one_stuck) == Verdict::pass);
  const auto replaced = with(all_stuck(20 * ms), [](auto& s) {
    s.stuck = 1;
    s.workers = s.active = 5;
  });
  CHECK(gate.decide(replaced) == Verdict::not_stuck);
  CHECK(gate.decide(with(replaced, [](auto& s) { s.stuck = 2; })) == Verdict::pass);
}

TEST_CASE("pressure: a queue that shrinks shows that somebody moves; a high one does not wait for that [W-084]") {
  PressureGate gate;
  CHECK(gate.decide(with(all_stuck(), [](auto& s) { s.sleepers = 1, s.queued = 50; })) == Verdict::idle_capacity);
  CHECK(gate.decide(with(all_stuck(), [](auto& s) { s.queued = 40; })) == Verdict::not_stuck);
  CHECK(gate.decide(with(all_stuck(), [](auto& s) { s.queued = 40; })) == Verdict::pass);  // it stands still

  PressureGate high;
  CHECK(high.decide(with(all_stuck(), [](auto& s) { s.sleepers = 1, s.queued = 1000; })) == Verdict::idle_capacity);
  CHECK(high.decide(with(all_stuck(), [](auto& s) { s.queued = 900, s.active = 3; })) == Verdict::pass);
}

TEST_CASE("pressure: one pass per scale interval [W-084]") {
  PressureGate gate({.scale_interval_ns = 10 * ms});
  CHECK(gate.decide(all_stuck(1'000 * ms)) == Verdict::pass);
  CHECK(gate.decide(all_stuck(1'000 * ms)) == Verdict::rate_limited);
  CHECK(gate.decide(all_stuck(1'010 * ms - 1)) == Verdict::rate_limited);
  CHECK(gate.decide(all_stuck(1'010 * ms)) == Verdict::pass);
  int passes = 0;
  for (std::int64_t now = 2'000 * ms; now < 3'000 * ms; now += ms / 4)
    passes += gate.decide(all_stuck(now)) == Verdict::pass ? 1 : 0;
  CHECK(passes == 100);
}

TEST_CASE("pressure: never more than twice the base, or than max_workers [W-084]") {
  const auto grow = [](PressureGate& gate) {
    unsigned workers = 4;
    std::int64_t now = 0;
    for (int i = 0; i < 100; ++i, now += 20 * ms) {
      const auto sample = with(all_stuck(now), [&](auto& s) { s.workers = s.active = s.stuck = workers; });
      const Verdict verdict = gate.decide(sample);
      if (verdict != Verdict::pass) {
        CHECK(verdict == Verdict::capped);
        continue;
      }
      ++workers;
      gate.note_promoted();
    }
    return workers;
  };
  PressureGate twice;
  CHECK(grow(twice) == 8);
  CHECK(twice.stats().promoted_workers == 4);
  CHECK(twice.stats().block_capped == 96);
  PressureGate bounded({.max_workers = 5});
  CHECK(grow(bounded) == 5);
  PressureGate never({.max_workers = 4});
  CHECK(grow(never) == 4);
}

TEST_CASE("pressure: below zero it is a small negative number, never a huge positive one [W-081]") {
  PressureGate gate;
  CHECK(gate.decide(with(all_stuck(), [](auto& s) { s.queued = -1; })) == Verdict::nonpositive);
  CHECK(gate.stats().current_pressure == -1);
  CHECK(gate.stats().positive_samples == 0);
  CHECK(gate.stats().negative_samples == 1);
  CHECK(parse(gate.to_text())["current_pressure"] == "-1");
}

TEST_CASE("pressure: negative samples that pass are counted and assert nothing [W-082]") {
  PressureGate gate({.negative_limit = 8});
  const CatchAssertions catching;
  const auto negative = with(all_stuck(), [](auto& s) { s.queued = -2; });
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 7; ++i) CHECK(gate.decide(negative) == Verdict::nonpositive);
    CHECK(gate.decide(with(all_stuck(), [](auto& s) { s.queued = 0; })) == Verdict::no_work);
  }
  CHECK(gate.stats().neg_streak_max == 7);
  CHECK(gate.stats().negative_samples == 700);
}

TEST_CASE("pressure: one that stays negative trips the debug assertion [W-083]") {
  PressureGate gate({.negative_limit = 8});
  const CatchAssertions catching;
  const auto negative = with(all_stuck(), [](auto& s) { s.queued = -1; });
  int decided = 0;
  bool failed = false;
  try {
    for (; decided < 100; ++decided) (void)gate.decide(negative);
  } catch (const AssertionFailed&) {
    failed = true;
  }
  CHECK(failed == checked);
  CHECK(decided == (checked ? 7 : 100));
  CHECK(gate.stats().neg_streak_max == (checked ? 8 : 100));
}

TEST_CASE("pressure: the text has every field, with the right number in it [W-085]") {
  PressureGate gate;
  const auto times = [&](int count, const PressureSample& sample) {
    for (int i = 0; i < count; ++i) (void)gate.decide(sample);
  };
  times(1, with(all_stuck(), [](auto& s) { s.queued = 0; }));
  times(2, with(all_stuck(), [](auto& s) { s.queued = -1; }));
  times(3, with(all_stuck(), [](auto& s) { s.sleepers = 1; }));
  times(4, with(all_stuck(), [](auto& s) { s.stuck = 0; }));
  times(1, all_stuck());
  times(5, all_stuck());
  times(6, with(all_stuck(), [](auto& s) { s.workers = s.active = s.stuck = 8, s.queued = 77; }));
  gate.note_promoted();
  const std::map<std::string, std::string> expected = {
      {"samples", "22"},          {"positive_samples", "19"},  {"negative_samples", "2"},    {"positive_pct", "86.3"},
      {"current_pressure", "77"}, {"gate_passes", "1"},        {"promoted_workers", "1"},    {"neg_streak_max", "2"},
      {"block_no_work", "1"},     {"block_nonpositive", "2"},  {"block_idle_capacity", "3"}, {"block_not_stuck", "4"},
      {"block_capped", "6"},      {"block_rate_limited", "5"},
  };
  CHECK(parse(gate.to_text()) == expected);
}
