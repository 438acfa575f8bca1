// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <type_traits>

#include "sched/cpu_count.hpp"
#include "weft/detail/seam.hpp"
#include "weft/runtime_error.hpp"
#include "weft/runtime_options.hpp"

namespace weft::inline v0 {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

constexpr std::uint64_t most_workers = 1024;
constexpr std::uint64_t most_queue = std::uint64_t{1} << 24;

// One row per variable: parsing, the help text and docs/knobs.md come from here.
struct Knob {
  const char* name;
  const char* standard;  // what holds without it
  const char* expected;
  const char* meaning;
  // Reads the text into the field, if that still has its default. False: not understood. Null: another floor reads it.
  bool (*read)(std::string_view text, RuntimeOptions& options);
};

std::optional<std::uint64_t> whole_number(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, value, base);
  if (text.empty() || error != std::errc{} || rest != end) return {};
  return value;
}

template <auto Field>
void fill(RuntimeOptions& options, const auto& value) {
  if (options.*Field == RuntimeOptions().*Field) options.*Field = value;
}

template <auto Field, std::uint64_t Least, std::uint64_t Most>
bool read_count(std::string_view text, RuntimeOptions& options) {
  const auto value = whole_number(text);
  if (!value || *value < Least || *value > Most) return false;
  using T = std::remove_cvref_t<decltype(options.*Field)>;
  fill<Field>(options, static_cast<T>(*value));
  return true;
}

template <auto Field, std::int64_t Unit_ns, std::uint64_t Most>
bool read_span(std::string_view text, RuntimeOptions& options) {
  const auto value = whole_number(text);
  if (!value || *value < 1 || *value > Most) return false;
  fill<Field>(options, Nanoseconds(static_cast<std::int64_t>(*value) * Unit_ns));
  return true;
}

template <auto Field>
bool read_flag(std::string_view text, RuntimeOptions& options) {
  if (text != "0" && text != "1") return false;
  fill<Field>(options, text == "1");
  return true;
}

bool read_policy(std::string_view text, RuntimeOptions& options) {
  for (const auto policy : {RuntimeOptions::Policy::steal, RuntimeOptions::Policy::global}) {
    if (text != to_string(policy)) continue;
    fill<&RuntimeOptions::policy>(options, policy);
    return true;
  }
  return false;
}

bool read_deadlock(std::string_view text, RuntimeOptions& options) {
  using What = RuntimeOptions::OnDeadlock;
  for (const auto what : {What::raise, What::report, What::ignore}) {
    if (text != to_string(what)) continue;
    fill<&RuntimeOptions::deadlock>(options, what);
    return true;
  }
  return false;
}

bool read_io(std::string_view text, RuntimeOptions& options) {
  using Engine = RuntimeOptions::IoEngine;
  for (const auto engine : {Engine::any, Engine::uring, Engine::epoll}) {
    if (text != to_string(engine)) continue;
    fill<&RuntimeOptions::io>(options, engine);
    return true;
  }
  return false;
}

bool read_clock(std::string_view text, RuntimeOptions& options) {
  if (text != "real" && text != "virtual") return false;
  fill<&RuntimeOptions::clock>(options, text == "real" ? RuntimeOptions::Clock::real : RuntimeOptions::Clock::virtual_);
  return true;
}

bool read_seed(std::string_view text, RuntimeOptions& options) {
  const bool hex = text.starts_with("0x");
  const auto value = whole_number(hex ? text.substr(2) : text, hex ? 16 : 10);
  if (!value || *value == 0) return false;
  fill<&RuntimeOptions::seed>(options, *value);
  return true;
}

using O = RuntimeOptions;

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;

constexpr Knob knobs[] = {
    {"WEFT_WORKERS", "processors usable", "a number from 1 to 1024", "worker threads, the caller of run included",
     read_count<&O::workers, 1, most_workers>},
    {"WEFT_MAX_WORKERS", "twice the workers", "a number from 1 to 2048, not below the number of workers",
     "worker threads, temporary ones included", read_count<&O::max_workers, 1, 2 * most_workers>},
    {"WEFT_POLICY", "steal", "steal or global", "run queues: one per worker with stealing, or one FIFO for all",
     read_policy},
    {"WEFT_QUEUE", "4096", "a number from 2 to 16777216",
     "entries of the shared ring, rounded up to a power of two; more goes to a list behind it",
     read_count<&O::queue_capacity, 2, most_queue>},
    {"WEFT_BLOCKING_THREADS", "64", "a number from 1 to 4096", "threads for blocking calls, at most",
     read_count<&O::blocking_threads, 1, 4096>},
    {"WEFT_IO", "any", "any, uring or epoll",
     "what performs input and output: io_uring where the kernel allows it and else epoll, or always the one named",
     read_io},
    {"WEFT_CLOCK", "real", "real or virtual",
     "what time it is: monotonic, or from 0 on and moved to the next deadline when nothing else can happen",
     read_clock},
    {"WEFT_SYSMON", "1", "0 or 1", "the watching thread: 0 costs latency when workers block, nothing else",
     read_flag<&O::sysmon>},
    {"WEFT_SYSMON_US", "250", "microseconds from 1 to 1000000", "how often the watching thread looks",
     read_span<&O::sysmon_period, us, 1'000'000>},
    {"WEFT_SCALE_MS", "10", "milliseconds from 1 to 60000", "least time between two temporary workers",
     read_span<&O::scale_interval, ms, 60'000>},
    {"WEFT_TEMP_IDLE_MS", "1000", "milliseconds from 1 to 3600000", "a temporary worker idle for so long retires",
     read_span<&O::temp_idle_timeout, ms, 3'600'000>},
    {"WEFT_STALL_MS", "10", "milliseconds from 1 to 3600000",
     "a worker without progress for so long is looked at: stuck in the kernel, or a stall to report",
     read_span<&O::stall_after, ms, 3'600'000>},
    {"WEFT_DEADLOCK", "raise", "raise, report or ignore",
     "nothing can run any more: run() throws, or it is said on stderr", read_deadlock},
    {"WEFT_STALL_REPORT", "1", "0 or 1", "say on stderr which task blocked a worker, once per spawn site",
     read_flag<&O::stall_report>},
    {"WEFT_CHECK_LOCKS", "0", "0 or 1",
     "report mutexes that are locked in both orders (in code compiled without NDEBUG), and waits while a StdMutex is "
     "held",
     read_flag<&O::check_locks>},
    {"WEFT_DUMP_SIGNAL", "0", "0 or 1", "SIGQUIT writes all tasks with their stacks to stderr",
     read_flag<&O::dump_signal>},
    {"WEFT_LEAK_REPORT", "0", "0 or 1",
     "name the tasks that are still there when a runtime is shut down, and count values that nobody received",
     read_flag<&O::leak_report>},
    {"WEFT_STATS", "0", "0 or 1", "print the counters when the runtime ends", read_flag<&O::stats>},
    {"WEFT_SPEC_ASSERT", "1 in debug builds, else 0", "0 or 1", "check the rules of the task lifecycle as it runs",
     read_flag<&O::spec_assert>},
    {"WEFT_IN_PLACE", "1", "0 or 1", "run a child on its joiner's stack where that is allowed",
     read_flag<&O::in_place>},
    {"WEFT_MIGRATION_CHECK", "0", "0 or 1", "move a task to another worker at every wait",
     read_flag<&O::migration_check>},
    {"WEFT_SEED", "random", "a number from 1 to 18446744073709551615, decimal or 0x and hexadecimal",
     "seed of every choice the scheduler makes", read_seed},
    {"WEFT_TRACE", "none", "the name of a file",
     "write what the tasks did there, for Perfetto or chrome://tracing; a second runtime appends .2 to the name",
     nullptr},
    {"WEFT_TRACE_EVENTS", "131072", "a number from 16 to 67108864", "events that each worker keeps, the last ones",
     nullptr},
    {"WEFT_STACK_SIZE", "128K", "bytes such as 131072, 128K or 1M", "stack of a fiber that does not ask for a size",
     nullptr},
    {"WEFT_GUARD", "auto", "auto, madvise or mprotect", "how the guard below each stack is made", nullptr},
    {"WEFT_MAX_DEPTH", "16384", "a number from 1 to 16777215", "nested resumes, at most", nullptr},
    {"WEFT_STACK_WATERMARK", "0", "0 or 1", "measure how much of its stack each fiber used", nullptr},
    {"WEFT_OVERFLOW_REPORT", "1", "0 or 1", "report a stack overflow with the fiber's name before the process dies",
     nullptr},
    {"WEFT_SIM_SEED", "none", "a number", "sim::run and sim::explore try this seed and no other", nullptr},
    {"WEFT_SIM_REPLAY", "none", "what sim::explore printed, such as 9:s8=1",
     "sim::run and sim::explore make these choices and no others", nullptr},
};

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): as safe as the program's own setenv
  return text != nullptr ? text : "";
}

void resolve(RuntimeOptions& options) {
  if (options.workers == 0) options.workers = std::min<unsigned>(detail::usable_cpus(), most_workers);
  if (options.max_workers == 0) options.max_workers = 2 * options.workers;
  if (options.seed == 0) options.seed = std::max<std::uint64_t>(seam::random_seed(), 1);
}

void demand(bool holds, const std::string& complaint) {
  if (!holds) throw RuntimeError(RuntimeErrc::bad_options, complaint);
}

// What came from the program; the variables were checked one by one.
void check(const RuntimeOptions& options) {
  const auto is_count = [](const char* field, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    demand(value >= least && value <= most, std::string("RuntimeOptions::") + field + " is " + std::to_string(value) +
                                                ": expected " + std::to_string(least) + " to " + std::to_string(most));
  };
  const auto is_span = [](const char* field, Nanoseconds value) {
    demand(value > Nanoseconds::zero(), std::string("RuntimeOptions::") + field + " is " +
                                            std::to_string(value.count()) + " ns: expected a time above 0");
  };
  is_count("workers", options.workers, 1, most_workers);
  is_count("queue_capacity", options.queue_capacity, 2, most_queue);
  is_count("blocking_threads", options.blocking_threads, 1, 4096);
  is_span("sysmon_period", options.sysmon_period);
  is_span("scale_interval", options.scale_interval);
  is_span("temp_idle_timeout", options.temp_idle_timeout);
  is_span("stall_after", options.stall_after);
  demand(options.max_workers >= options.workers && options.max_workers <= 2 * most_workers,
         "max_workers (WEFT_MAX_WORKERS) is " + std::to_string(options.max_workers) + " with " +
             std::to_string(options.workers) + " workers (WEFT_WORKERS): expected " + std::to_string(options.workers) +
             " to " + std::to_string(2 * most_workers));
}

}  // namespace

bool spec_assert_default() {
#ifdef NDEBUG
  return false;
#else
  return true;
#endif
}

const char* to_string(RuntimeOptions::Policy policy) {
  return policy == RuntimeOptions::Policy::steal ? "steal" : "global";
}

const char* to_string(RuntimeOptions::IoEngine engine) {
  switch (engine) {
    case RuntimeOptions::IoEngine::any:
      return "any";
    case RuntimeOptions::IoEngine::uring:
      return "uring";
    case RuntimeOptions::IoEngine::epoll:
      return "epoll";
  }
  return "?";
}

const char* to_string(RuntimeOptions::OnDeadlock what) {
  switch (what) {
    case RuntimeOptions::OnDeadlock::raise:
      return "raise";
    case RuntimeOptions::OnDeadlock::report:
      return "report";
    case RuntimeOptions::OnDeadlock::ignore:
      return "ignore";
  }
  return "?";
}

const char* to_string(RuntimeErrc code) {
  switch (code) {
    case RuntimeErrc::bad_environment:
      return "bad_environment";
    case RuntimeErrc::bad_options:
      return "bad_options";
    case RuntimeErrc::no_threads:
      return "no_threads";
    case RuntimeErrc::no_memory:
      return "no_memory";
    case RuntimeErrc::not_in_task:
      return "not_in_task";
    case RuntimeErrc::nested_run:
      return "nested_run";
    case RuntimeErrc::busy:
      return "busy";
    case RuntimeErrc::shut_down:
      return "shut_down";
    case RuntimeErrc::deadlock:
      return "deadlock";
  }
  return "?";
}

RuntimeOptions options_from_environment(RuntimeOptions options) {
  for (const Knob& knob : knobs) {
    if (knob.read == nullptr) continue;
    const std::string_view text = variable(knob.name);
    if (!text.empty() && !knob.read(text, options))
      throw RuntimeError(RuntimeErrc::bad_environment,
                         std::string(knob.name) + "=" + std::string(text) + ": expected " + knob.expected);
  }
  resolve(options);
  check(options);
  return options;
}

std::string options_help() {
  std::string text =
      "# Knobs\n\n"
      "Environment variables, each read where it first matters: those of the runtime when one is made, for whatever\n"
      "its `RuntimeOptions` leave at the default; those of fibers when the first fiber of the process is made. An\n"
      "empty variable counts as absent. Anything that cannot be understood is an error that names the variable.\n\n"
      "| variable | default | expected | meaning |\n"
      "|---|---|---|---|\n";
  for (const Knob& knob : knobs) {
    text.append("| `").append(knob.name).append("` | ").append(knob.standard).append(" | ");
    text.append(knob.expected).append(" | ").append(knob.meaning).append(" |\n");
  }
  return text;
}

}  // namespace weft::inline v0
