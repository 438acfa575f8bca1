// SPDX-License-Identifier: MIT
// What: the knobs of a runtime. A field that still has its default is filled from the environment; docs/knobs.md names
// the variables.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::inline v0 {

// Whether the library, not the program, was built with assertions.
bool spec_assert_default();

struct RuntimeOptions {
  enum class Policy : std::uint8_t {
    steal,   // a deque per worker; idle workers steal
    global,  // one FIFO for all
  };

  // What to do when nothing can run any more and the task of run() has not ended. Needs sysmon, who sees it.
  enum class OnDeadlock : std::uint8_t {
    raise,   // that task is cancelled, and run() throws Deadlock
    report,  // say so on stderr, once
    ignore,
  };

  enum class IoEngine : std::uint8_t {
    any,    // io_uring where the kernel allows it, else epoll
    uring,  // or an error
    epoll,
  };

  enum class Clock : std::uint8_t {
    real,      // monotonic
    virtual_,  // starts at 0 and moves, to the next deadline, only when nothing else can happen
  };

  unsigned workers = 0;  // 0: as many as affinity mask and control groups allow
  Policy policy = Policy::steal;
  Clock clock = Clock::real;
  std::size_t queue_capacity = 4096;  // of the shared ring; more goes to a list, nothing is lost
  unsigned max_workers = 0;           // with temporary ones; 0: twice workers
  unsigned blocking_threads = 64;     // at most, for weft::blocking
  std::size_t stack_size = 0;         // of tasks that do not ask for one; 0: WEFT_STACK_SIZE

  IoEngine io = IoEngine::any;

  bool sysmon = true;
  std::chrono::nanoseconds sysmon_period = std::chrono::microseconds(250);
  std::chrono::nanoseconds scale_interval = std::chrono::milliseconds(10);       // least time between added workers
  std::chrono::nanoseconds temp_idle_timeout = std::chrono::milliseconds(1000);  // then a temporary worker retires
  std::chrono::nanoseconds stall_after = std::chrono::milliseconds(10);          // without progress: stuck or a stall

  OnDeadlock deadlock = OnDeadlock::raise;
  bool stall_report = true;                  // say on stderr which task blocked a worker, once per spawn site
  bool check_locks = false;                  // as weft::check_locks(true): for the whole process
  bool dump_signal = false;                  // SIGQUIT writes weft::dump() to stderr
  bool leak_report = false;                  // tell of tasks that are left at shutdown, and of lost values
  bool stats = false;                        // print the counters when the runtime ends
  bool spec_assert = spec_assert_default();  // check the rules of the task lifecycle; process-wide once on
  bool in_place = true;                      // run a child on its joiner's stack where that is allowed
  bool migration_check = false;              // move a task to another worker at every wait
  std::uint64_t seed = 0;                    // of every choice the scheduler makes; 0: a random one
};
const char* to_string(RuntimeOptions::Policy policy);
const char* to_string(RuntimeOptions::OnDeadlock what);
const char* to_string(RuntimeOptions::IoEngine engine);

// Fills what still has its default from the environment, then resolves the zeros of workers, max_workers and seed.
// Throws RuntimeError, which names the variable, its text, and what was expected.
RuntimeOptions options_from_environment(RuntimeOptions options);

// The variables, their defaults and meanings, as the Markdown text of docs/knobs.md.
std::string options_help();

}  // namespace weft::inline v0
