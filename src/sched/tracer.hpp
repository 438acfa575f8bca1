// SPDX-License-Identifier: MIT
// What: what the tasks of a runtime did, told to a person: each worker notes births, slices, waits and wakes in its own
// ring, and at the end they are written as a file of Chrome's trace events, which Perfetto shows: a row of slices for
// each worker, a span for each task with its waits inside, arrows from who spawned and from who woke, and how many
// tasks could have run.
//
//   WEFT_TRACE=trace.json ./server
//
// Off, it is a null pointer in each worker, asked where the spec assertions are asked. On, children are not run in
// place (they would have no slice of their own), and each task gets its number by the slow way, which notes its birth.
//
// Threads: note_*: the worker; outside: any; write: who ends the runtime, when its workers have stopped.
// Rejected: an event for each piece of par (a job is no task, and costs less than the note); a thread that writes while
// the program runs (it would be in the picture).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/trace_ring.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {

enum class TraceNote : std::uint16_t {
  born = 1,  // a: the task
  named,     // a: the task, b: the file of its spawn site, as source_location keeps it
  begins,    // a: the task, b: 1 for the first time
  waits,     // a: the task, b: for what, eight letters
  yields,    // a: the task
  ends,      // a: the task
  woken,     // a: the task; by who runs here
  sleeps,    // the worker
  rises,     // the worker
};

class Tracer {
 public:
  static constexpr std::size_t usual_events = std::size_t{1} << 17;  // of each worker: 4 MiB

  Tracer(std::string path, std::size_t events, unsigned workers);

  // By worker `index`, on its thread.
  TraceRing* ring(unsigned index) { return rings_[index].get(); }
  // By a thread that is no worker of this runtime.
  void outside(TraceNote note, std::uint64_t task);

  // The file; false: it could not be written, which was said on stderr.
  bool write();

 private:
  std::string path_;
  std::vector<std::unique_ptr<TraceRing>> rings_;  // of each worker, then of everybody else
  seam::SpinLock outside_lock_;
};

// From WEFT_TRACE and WEFT_TRACE_EVENTS; null: not wanted. Throws RuntimeError for a number that is none.
std::unique_ptr<Tracer> tracer_from_environment(unsigned workers);

inline void note(TraceRing& ring, TraceNote what, std::uint64_t task, std::uint64_t more = 0) {
  ring.record(static_cast<std::uint16_t>(what), task, more);
}
// It is about to run, for the first time or again.
void note_begin(TraceRing& ring, const TaskCore& task, bool first);
// Its stack has been left; its word is still its own.
void note_left(TraceRing& ring, const TaskCore& task, bool yields);

}  // namespace weft::inline v0::detail
