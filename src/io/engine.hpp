// SPDX-License-Identifier: MIT
// What: what performs a runtime's requests: epoll or io_uring, made at the first request that may have to wait.
//
// Invariants
//   [ENG-1] The answer is what the last system call, or the final completion, said. A cancel or a deadline ends a wait
//           between calls; what has moved bytes is a success, and the cancel is raised at the next suspension point.
//   [ENG-2] Both engines answer alike.
// Threads: perform by tasks; the rest as a poller.
#pragma once

#include <cstdint>
#include <memory>

#include "io/fd_table.hpp"
#include "sched/runtime_core.hpp"
#include "weft/io_request.hpp"

namespace weft::inline v0::detail {

class Engine : public Poller {
 public:
  // A request that may wait: way_of is readable, writable or file. The task has been asked whether it is cancelled.
  virtual IoResult perform(const IoRequest& request, FdUse* use, std::int64_t deadline, Raise raise) = 0;
  virtual const char* name() const = 0;
  // How often completions were found that had no room in their ring, and were kept by the kernel.
  virtual std::uint64_t overflows() const { return 0; }
};

// The engine of the runtime, or null with the negated error number of its set-up.
Engine* make_engine_of(RuntimeCore& runtime, long& error);
inline Engine* engine_of(RuntimeCore& runtime, long& error) {
  if (Poller* there = runtime.poller.load(std::memory_order_acquire)) [[likely]]
    return static_cast<Engine*>(there);
  return make_engine_of(runtime, error);
}
// Each is null, with the error, where the kernel refuses.
std::unique_ptr<Engine> make_epoll_engine(RuntimeCore& runtime, long& error);
std::unique_ptr<Engine> make_uring_engine(RuntimeCore& runtime, long& error);

// A file's request, on the blocking pool.
IoResult perform_on_pool(const IoRequest& request, Raise raise);

// A claimed task: true if it is in `into` now, false if it runs on by itself or was queued.
bool ready_into(RuntimeCore& runtime, TaskCore* task, Chain& into);

}  // namespace weft::inline v0::detail
