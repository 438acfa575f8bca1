// SPDX-License-Identifier: MIT
// What: the same program in a chosen universe: one thread plays N workers, a virtual clock, a network and files in
// memory, and every choice comes from a seed.
//
//   weft::sim::ExploreOptions options;
//   options.seeds = 1000;
//   const auto found = weft::sim::explore(options, [] {
//     Bank bank;
//     weft::with_nursery([&](weft::Nursery& n) { n.spawn([&] { bank.pay(); });  n.spawn([&] { bank.pay(); }); });
//     weft::sim::check(bank.total() == 2, "nothing is lost");
//   });
//   // stderr: the failing seed, the line that replays it, the shortest schedule that still fails
//
// f is run again and again, so it makes all it needs itself. A run fails if an exception leaves f, a check fails,
// nothing can run any more, something is left over (tasks, open descriptors, values that were sent and never received,
// what hold() took and nobody let go), it goes on for ever, or does something else the second time.
//
// Same seed, same trace, byte for byte, with every compiler and on every machine. So a program must not let an address,
// a real clock, the order of an unordered container of pointers or another thread decide anything: a run is done twice,
// and the first difference is named. blocking(f) runs f as one step. Child processes and OS signals do not exist here.
//
// Another task may go on wherever the running one waits, yields, spawns, locks, acquires, sends, receives, selects,
// reaches for the outside, or calls point(). A loop that does none of this never ends.
// Threads: one at a time per run; runs may be on several threads at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "weft/address.hpp"
#include "weft/dyn.hpp"
#include "weft/sugar.hpp"

namespace weft::inline v0::sim {

DynBinding host_binding(std::string_view name);

enum class Strategy : std::uint8_t {
  mixed,   // pct for each third seed, random for the others
  random,  // at each point maybe another one, who is drawn; how often depends on the seed
  pct,     // each task has a priority, the highest runs; a few times it drops to the lowest
};

// What goes from host to host. Probabilities are of each segment, datagram or connection.
struct NetworkOptions {
  std::chrono::nanoseconds latency_min = std::chrono::microseconds(100);
  std::chrono::nanoseconds latency_max = std::chrono::milliseconds(5);
  double loss = 0;                                               // a datagram is lost; a segment comes 200 ms later
  double duplicate = 0;                                          // a datagram comes twice
  double reset = 0;                                              // a connection breaks when something is sent
  double cut = 0.05;                                             // reads and writes move less than they could
  std::chrono::nanoseconds gives_up = std::chrono::seconds(30);  // of a sender whose segments do not arrive
};

// Of each operation on a file.
struct FileOptions {
  std::chrono::nanoseconds latency_min = std::chrono::microseconds(10);
  std::chrono::nanoseconds latency_max = std::chrono::microseconds(500);
  double cut = 0.05;  // reads and writes move less than they could
  double error = 0;   // EIO
  double full = 0;    // a write finds no room: ENOSPC
};

struct Options {
  unsigned workers = 2;  // tasks that have begun and do not wait, at most; with 1 nobody is interrupted at a point
  Strategy strategy = Strategy::mixed;
  unsigned pct_depth = 3;               // priorities drop one time less
  std::uint64_t max_steps = 1'000'000;  // points, and choices of who goes on; more is a livelock
  bool twice = true;                    // run it a second time and compare
  bool tasks_may_stay = false;          // tasks that are left when f returns are no failure; they are cancelled
  bool values_may_stay = false;         // nor are values that nobody has received
  bool keep_trace = false;              // Report::trace
  NetworkOptions network = {};
  FileOptions files = {};
};

enum class Failure : std::uint8_t {
  none,
  exception,  // left f, or ended a detached task
  check,
  deadlock,  // nothing can run, no deadline is to come, nothing is under way
  hang,      // and it would not stop when it was asked to
  livelock,  // max_steps
  leak,
  different,  // the second run did something else
  thread,     // woken by a thread that the simulation does not know
};
const char* to_string(Failure failure);

// What became of a run.
struct [[nodiscard]] Report {
  Failure failure = Failure::none;
  std::string text;  // of the failure
  std::uint64_t seed = 0;
  std::uint64_t hash = 0;             // of the trace
  std::uint64_t steps = 0;            // points, and choices of who goes on
  std::chrono::nanoseconds time{0};   // that has passed in it
  std::string replay;                 // for WEFT_SIM_REPLAY: the seed, and every choice that was not the usual one
  std::vector<std::string> schedule;  // those choices, to be read
  std::string trace;                  // what has happened, line by line, if it was asked for
  std::uint64_t suspensions = 0;      // suspension points that tasks came to
  bool abandoned = false;             // it would not stop when asked to: its stacks, and what they hold, stay for ever
  bool ok() const { return failure == Failure::none; }
  explicit operator bool() const { return ok(); }
};

// Runs f in the universe of this seed. WEFT_SIM_SEED and WEFT_SIM_REPLAY, if set, take its place.
Report run(std::uint64_t seed, const Options& options, const std::function<void()>& f);
// The choices of an earlier run again: Report::replay.
Report replay(std::string_view choices, const Options& options, const std::function<void()>& f);

struct ExploreOptions : Options {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1000;
  bool keep_going = false;          // count failures instead of stopping at the first
  bool shrink = true;               // look for a shorter schedule that fails in the same way
  std::uint64_t shrink_runs = 500;  // at most
  enum class Progress : std::uint8_t { terminal, always, never };
  Progress progress = Progress::terminal;  // a line on stderr while it runs
  bool quiet = false;                      // tell nothing of a failure on stderr
};

struct [[nodiscard]] Exploration {
  std::uint64_t tried = 0;
  std::uint64_t failures = 0;
  Report first;   // the first that failed
  Report shrunk;  // the shortest found that fails in the same way
  std::uint64_t shrink_runs = 0;
  std::string text;  // what stderr was told of the failure
  bool ok() const { return failures == 0; }
  explicit operator bool() const { return ok(); }
};

// Tries seeds until one fails. WEFT_SIM_SEED tries that seed alone, WEFT_SIM_REPLAY those choices.
Exploration explore(const ExploreOptions& options, const std::function<void()>& f);

struct CancelOptions : Options {
  std::uint64_t seed = 1;
  std::uint64_t most = 10'000;  // suspension points that are tried
  bool quiet = false;           // tell nothing of a failure on stderr
};

struct [[nodiscard]] CancelReport {
  std::uint64_t points = 0;  // suspension points that were tried
  std::uint64_t failures = 0;
  std::uint64_t at = 0;  // the first that failed, from 1; 0: it fails without a cancel
  std::string where;     // who came to it, and what for
  Report first;          // how it failed
  std::string text;      // what stderr was told
  bool ok() const { return failures == 0; }
  explicit operator bool() const { return ok(); }
};

// Runs f again and again, and asks it to stop at each suspension point in turn, of whatever task: it must end, and
// leave nothing behind. With victim() in f it is what that runs that is asked, and f looks afterwards whether all is
// well. Ends at the first run that is abandoned: what hangs cannot be cleaned up.
CancelReport cancel_everywhere(const CancelOptions& options, const std::function<void()>& f);
// Runs f; true: it was not asked to stop. Outside of cancel_everywhere just runs it.
bool victim(const std::function<void()>& f);

// --- For the program. Outside of a simulation: fault() is false, point() and note() do nothing, check() throws.

bool active() noexcept;
std::uint64_t seed() noexcept;  // 0 outside
// True with this probability, drawn from the seed: a place where something may go wrong.
bool fault(std::string_view name, double probability);
// A number below `count` by the seed; outside always 0.
std::uint64_t choose(std::uint64_t count);
// Another task may go on here.
void point() noexcept;
// A line of the trace, part of what is compared.
void note(std::string_view text);

class CheckFailed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};
// A false condition fails the run, even if what this throws is caught.
void check(bool condition, std::string_view text, const std::source_location& site = std::source_location::current());
// Something that must be let go of before the run ends, by that name.
void hold(std::string_view name);
void let_go(std::string_view name);

// --- Hosts. Everything runs on host "main" unless it says otherwise. Each has its own addresses, files and loopback.

// Runs f, and what it spawns, on that host. Outside of a simulation just runs it.
template <class F>
decltype(auto) on_host(std::string_view name, F&& f) {
  return with_dyns(std::forward<F>(f), host_binding(name));
}
// Where that host is to be reached: 10.0.x.y, a number by the order in which hosts were first named. Outside of a
// simulation 127.0.0.1. resolve() finds hosts by their names, too.
Address address(std::string_view host, std::uint16_t port);
// Nothing goes between these two groups of hosts any more, until heal().
void partition(const std::vector<std::string>& one, const std::vector<std::string>& other);
void heal();
// All connections between these two break (ECONNRESET).
void reset_connections(std::string_view one, std::string_view other);
// A power failure: what that host's files held and nobody has synced is gone. Its tasks run on.
void lose_unsynced(std::string_view host);

}  // namespace weft::inline v0::sim
