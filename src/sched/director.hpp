// SPDX-License-Identifier: MIT
// What: who decides everything in a directed runtime. Such a runtime has one worker, one shared queue, a virtual clock
// and no sysmon; its worker asks the director what to run next, each time, and each task asks at its points whether to
// go on.
//
//   worker's loop --next()--> a task --parks, ends, yields--> the loop
//                              |  ^
//                              +--+ leaves_at(): no, go on; yes: it stays RUNNABLE, in the director's hands
//
// Invariants
//   [DIR-1] The look mask of a directed worker is 0: whoever leaves its stack goes by the loop, so by next().
//   [DIR-2] A task that leaves_at() sent away stands in no queue: next() gives it back some time.
//   [DIR-3] The roots of a directed runtime's tasks carry alert_directed, so every wait goes by its slow path, and
//           tells.
// Threads: the one that drives; woken_from_outside: others, by mistake.
#pragma once

#include <cstdint>

#include "weft/detail/entry.hpp"
#include "weft/io_request.hpp"

namespace weft::inline v0::detail {

struct TaskCore;
struct Worker;
struct RuntimeCore;

class Director {
 public:
  Director() = default;
  Director(const Director&) = delete;
  Director& operator=(const Director&) = delete;
  virtual ~Director() = default;

  // On the worker's own stack. Nothing: the drive is over.
  virtual Entry next(Worker& worker) = 0;
  // The running task is at a point. True: another one goes on first.
  virtual bool leaves_at(TaskCore& task, const char* what) noexcept = 0;
  // The running task is about to wait, or to take a turn, and has not yet looked whether it is asked to stop.
  virtual void at_suspension(TaskCore& task, const char* kind) noexcept = 0;
  virtual IoResult submit(IoRequest& request) = 0;
  virtual void woken_from_outside() noexcept = 0;

  // The one that leaves_at() sends away just now [DIR-2].
  const TaskCore* sent_away = nullptr;
};

// The director of the runtime that runs the caller; null: none.
Director* director_here() noexcept;

// The calling thread becomes the worker of this runtime until its director says that it is over. The caller has set
// the director, and launches something before.
void drive_directed(RuntimeCore& runtime);

// A suspension point of a directed task, before it looks at what is pending.
void come_to_suspension(TaskCore& task, const char* kind) noexcept;

}  // namespace weft::inline v0::detail
