// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/runtime_help.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace weft;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

// The lines "name value"; others are left out.
std::map<std::string, double> parse(const std::string& text) {
  std::map<std::string, double> values;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    double value = 0;
    std::string rest;
    if (words >> name >> value && !(words >> rest)) values[name] = value;
  }
  return values;
}

const char* const pressure_fields[] = {
    "samples",          "positive_samples",  "negative_samples",    "positive_pct",
    "current_pressure", "gate_passes",       "promoted_workers",    "neg_streak_max",
    "block_no_work",    "block_nonpositive", "block_idle_capacity", "block_not_stuck",
};

}  // namespace

TEST_CASE("stats: WEFT_STATS=1 prints every field of the pressure and the counters when the runtime ends [W-085]") {
  const Outcome outcome = run_program("dumping", {"leak"}, {"WEFT_STATS=1"});
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  const auto values = parse(outcome.output);
  for (const char* field : pressure_fields) {
    CAPTURE(field);
    CHECK(values.count(field) == 1);
  }
  CHECK(values.at("samples") > 0);
  CHECK(values.at("tasks_started") == 2);
  CHECK(values.at("tasks_finished") == 2);
  CHECK(values.at("workers") == 0);
  CHECK_FALSE(run_program("dumping", {"leak"}).says("tasks_started"));
}

TEST_CASE("stats: the text says what stats() says, with and without sysmon [W-085]") {
  for (const bool sysmon : {true, false}) {
    CAPTURE(sysmon);
    RuntimeOptions options = with_workers(2);
    options.sysmon = sysmon;
    Runtime runtime(options);
    runtime.run([&] {
      with_nursery([](Nursery& nursery) {
        for (int i = 0; i < 10; ++i) nursery.start([] { sleep(1ms); });
      });
      // Its thread may not have come to its first sample yet.
      while (sysmon && parse(runtime.stats_text()).at("samples") == 0) yield_now();
    });
    CHECK(runtime.shutdown());
    const auto values = parse(runtime.stats_text());
    const RuntimeStats stats = runtime.stats();
    CHECK(values.at("tasks_started") == 11);
    CHECK(values.at("parks") == static_cast<double>(stats.parks));
    CHECK(values.at("timers_fired") == static_cast<double>(stats.timers_fired));
    CHECK(values.at("timers_fired") >= 10);
    CHECK((values.at("samples") > 0) == sysmon);
    for (const char* field : pressure_fields) CHECK(values.count(field) == 1);
  }
}

TEST_CASE("stats: a worker added for one that blocks shows in gate passes and promotions [W-085] [W-084]") {
  RuntimeOptions options = with_workers(1);
  options.stall_report = false;
  options.stall_after = 2ms;
  Runtime runtime(options);
  runtime.run([] {
    with_nursery([](Nursery& nursery) {
      Pipe pipe;
      std::atomic<bool> inside{false};
      nursery.start([&] {
        inside = true;
        pipe.wait();
      });
      nursery.start([&] {
        while (!inside.load()) yield_now();  // from then on it can only run on an added worker
        pipe.release(1);
      });
      detail::join_children(nursery.core());
    });
  });
  CHECK(runtime.shutdown());
  const auto values = parse(runtime.stats_text());
  CHECK(values.at("gate_passes") >= 1);
  CHECK(values.at("promoted_workers") == values.at("workers_promoted"));
  CHECK(values.at("promoted_workers") >= 1);
  CHECK(values.at("positive_samples") >= 1);
  CHECK(values.at("stalls") >= 1);
}

TEST_CASE("stats: with WEFT_STACK_WATERMARK=1 a deep and a shallow spawn site differ in the report [N-003]") {
  const weft_test::Outcome end = weft_test::run_program("watermark", {"sites"}, {"WEFT_STACK_WATERMARK=1"});
  CHECK(end.exit_code == 0);
  std::vector<std::size_t> marks;  // by line: the main task's, the deep ones', the shallow ones'
  std::istringstream lines(end.output);
  for (std::string line; std::getline(lines, line);)
    if (line.find("stack_high_water{site=") == 0 && line.find("programs/watermark.cpp:") != std::string::npos)
      marks.push_back(std::stoul(line.substr(line.find("} ") + 2)));
  REQUIRE(marks.size() == 3);
  CHECK(marks[1] >= 60'000);
  CHECK(marks[2] < 30'000);
  CHECK(marks[2] > 0);
  const weft_test::Outcome without = weft_test::run_program("watermark", {"sites"}, {"WEFT_STACK_WATERMARK=0"});
  CHECK_FALSE(without.says("stack_high_water"));
}
