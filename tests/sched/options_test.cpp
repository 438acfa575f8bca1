// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "sched/cpu_count.hpp"
#include "test_places.hpp"
#include "weft/runtime_error.hpp"
#include "weft/runtime_options.hpp"

using namespace weft;
using namespace std::chrono_literals;

namespace {

// One row per variable: a good text and what it does, and texts that must be refused.
struct Row {
  const char* name;
  const char* good;
  std::function<bool(const RuntimeOptions&)> holds;
  std::vector<const char*> bad;
};

const std::vector<Row> rows = {
    {"WEFT_WORKERS",
     "3",
     [](const RuntimeOptions& o) { return o.workers == 3; },
     {"0", "-1", "1025", "two", "2 ", " 2", "2x", "0x2", "99999999999999999999999"}},
    {"WEFT_MAX_WORKERS", "777", [](const RuntimeOptions& o) { return o.max_workers == 777; }, {"0", "2049", "-2", "x"}},
    {"WEFT_POLICY",
     "global",
     [](const RuntimeOptions& o) { return o.policy == RuntimeOptions::Policy::global; },
     {"Global", "fifo", "steal,global", "1"}},
    {"WEFT_QUEUE",
     "16",
     [](const RuntimeOptions& o) { return o.queue_capacity == 16; },
     {"0", "1", "16777217", "-4096", "4K"}},
    {"WEFT_BLOCKING_THREADS", "5", [](const RuntimeOptions& o) { return o.blocking_threads == 5; }, {"0", "4097", "x"}},
    {"WEFT_CLOCK",
     "virtual",
     [](const RuntimeOptions& o) { return o.clock == RuntimeOptions::Clock::virtual_; },
     {"fast", "virtual_", "1"}},
    {"WEFT_SYSMON", "0", [](const RuntimeOptions& o) { return !o.sysmon; }, {"no", "2", "00", "true"}},
    {"WEFT_SYSMON_US",
     "500",
     [](const RuntimeOptions& o) { return o.sysmon_period == 500us; },
     {"0", "1000001", "1.5", "250us"}},
    {"WEFT_SCALE_MS",
     "25",
     [](const RuntimeOptions& o) { return o.scale_interval == 25ms; },
     {"0", "60001", "-1", "x"}},
    {"WEFT_TEMP_IDLE_MS",
     "40",
     [](const RuntimeOptions& o) { return o.temp_idle_timeout == 40ms; },
     {"0", "3600001", "x"}},
    {"WEFT_STALL_MS", "99", [](const RuntimeOptions& o) { return o.stall_after == 99ms; }, {"0", "3600001", "x"}},
    {"WEFT_STATS", "1", [](const RuntimeOptions& o) { return o.stats; }, {"yes", "2", "-1"}},
    {"WEFT_SPEC_ASSERT",
     RuntimeOptions().spec_assert ? "0" : "1",
     [](const RuntimeOptions& o) { return o.spec_assert != RuntimeOptions().spec_assert; },
     {"on", "2"}},
    {"WEFT_IN_PLACE", "0", [](const RuntimeOptions& o) { return !o.in_place; }, {"off", "10"}},
    {"WEFT_MIGRATION_CHECK", "1", [](const RuntimeOptions& o) { return o.migration_check; }, {"on", "-0"}},
    {"WEFT_SEED",
     "0xfeed",
     [](const RuntimeOptions& o) { return o.seed == 0xfeed; },
     {"0", "0x", "0x0", "-7", "feed", "18446744073709551616", "0x10000000000000000"}},
};

// A clean environment with some variables set, put back afterwards. No other thread runs meanwhile.
class Environment {
 public:
  Environment() {
    for (const Row& row : rows) {
      const char* text = std::getenv(row.name);
      saved_.emplace_back(text != nullptr, text != nullptr ? text : "");
      unsetenv(row.name);
    }
  }
  ~Environment() {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      unsetenv(rows[i].name);
      if (saved_[i].first) setenv(rows[i].name, saved_[i].second.c_str(), 1);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  void set(const char* name, const char* text) { setenv(name, text, 1); }

 private:
  std::vector<std::pair<bool, std::string>> saved_;
};

std::string complaint(const RuntimeOptions& options, RuntimeErrc code) {
  try {
    (void)options_from_environment(options);
  } catch (const RuntimeError& error) {
    CHECK(std::string(to_string(error.code())) == to_string(code));
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options: each variable sets its field") {
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Environment environment;
    CHECK_FALSE(row.holds(options_from_environment({})));
    environment.set(row.name, row.good);
    CHECK(row.holds(options_from_environment({})));
    environment.set(row.name, "");
    CHECK_FALSE(row.holds(options_from_environment({})));
  }
}

TEST_CASE("options: a text that cannot be understood is refused with variable, text and what was expected") {
  for (const Row& row : rows) {
    Environment environment;
    REQUIRE_FALSE(row.bad.empty());
    for (const char* text : row.bad) {
      environment.set(row.name, text);
      const std::string said = complaint({}, RuntimeErrc::bad_environment);
      CAPTURE(said);
      CHECK(said.starts_with(std::string(row.name) + "=" + text + ": expected "));
    }
  }
}

TEST_CASE("options: a bad text is refused even where the program has set the field itself") {
  Environment environment;
  environment.set("WEFT_WORKERS", "many");
  CHECK(complaint({.workers = 2}, RuntimeErrc::bad_environment) ==
        "WEFT_WORKERS=many: expected a number from 1 to 1024");
}

TEST_CASE("options: what the program has set stays, the environment fills the rest") {
  Environment environment;
  environment.set("WEFT_WORKERS", "7");
  environment.set("WEFT_QUEUE", "64");
  environment.set("WEFT_SEED", "12");
  const RuntimeOptions options = options_from_environment({.workers = 2, .seed = 5});
  CHECK(options.workers == 2);
  CHECK(options.max_workers == 4);
  CHECK(options.queue_capacity == 64);
  CHECK(options.seed == 5);
}

TEST_CASE("options: without variables the defaults hold and the zeros are resolved") {
  Environment environment;
  const RuntimeOptions options = options_from_environment({});
  CHECK(options.workers == detail::usable_cpus());
  CHECK(options.max_workers == 2 * options.workers);
  CHECK(options.seed != 0);
  CHECK(options.seed != options_from_environment({}).seed);
  CHECK(options.policy == RuntimeOptions::Policy::steal);
  CHECK(options.queue_capacity == 4096);
  CHECK(options.sysmon_period == 250us);
  CHECK(options.blocking_threads == 64);
}

TEST_CASE("options: the scale interval and the time after which a temporary worker retires are knobs [V-083]") {
  Environment environment;
  environment.set("WEFT_SCALE_MS", "3");
  environment.set("WEFT_TEMP_IDLE_MS", "20");
  const RuntimeOptions options = options_from_environment({});
  CHECK(options.scale_interval == 3ms);
  CHECK(options.temp_idle_timeout == 20ms);
}

TEST_CASE("options: numbers that contradict each other or make no sense are refused with their names") {
  Environment environment;
  CHECK(complaint({.workers = 8, .max_workers = 4}, RuntimeErrc::bad_options) ==
        "max_workers (WEFT_MAX_WORKERS) is 4 with 8 workers (WEFT_WORKERS): expected 8 to 2048");
  CHECK(complaint({.workers = 5000}, RuntimeErrc::bad_options) ==
        "RuntimeOptions::workers is 5000: expected 1 to 1024");
  CHECK(complaint({.queue_capacity = 0}, RuntimeErrc::bad_options).find("queue_capacity is 0") != std::string::npos);
  CHECK(complaint({.blocking_threads = 0}, RuntimeErrc::bad_options).find("blocking_threads") != std::string::npos);
  CHECK(complaint({.sysmon_period = 0ns}, RuntimeErrc::bad_options).find("sysmon_period is 0 ns") != std::string::npos);
  CHECK(complaint({.scale_interval = -1ns}, RuntimeErrc::bad_options).find("scale_interval") != std::string::npos);
  CHECK(complaint({.temp_idle_timeout = 0ns}, RuntimeErrc::bad_options).find("temp_idle") != std::string::npos);
  CHECK(complaint({.stall_after = 0ns}, RuntimeErrc::bad_options).find("stall_after") != std::string::npos);
  environment.set("WEFT_WORKERS", "4");
  environment.set("WEFT_MAX_WORKERS", "3");
  CHECK(complaint({}, RuntimeErrc::bad_options).find("WEFT_MAX_WORKERS") != std::string::npos);
}

TEST_CASE("options: docs/knobs.md is what options_help() says, and names every variable") {
  std::ifstream file(WEFT_TEST_SOURCE "/docs/knobs.md");
  REQUIRE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  CHECK(text.str() == options_help());
  for (const Row& row : rows) CHECK(options_help().find(std::string("| `") + row.name + "` |") != std::string::npos);
}
