// SPDX-License-Identifier: MIT
// What: a strand: tasks of which at most one runs at a time, on whatever worker.
//
//   task becomes runnable --> waiting (FIFO of the strand)         the strand itself stands in a run queue, or runs one
//
// Invariants
//   [STR-1] `active` from when the strand is put into a run queue until the task that was run for it has left its stack
//           and nobody waits. Only who makes it active queues it, so it stands in one queue once.
//   [STR-2] Held while a task runs, given up at every park, yield and end; taken again before the task runs on.
//   [STR-3] A task that is pinned, too, first waits for the strand, then for its worker: whoever unwraps the strand
//           sends it there, and it holds the strand from then on. The other way round it would hold its worker's place
//           without the right to run.
// Threads: any, under `lock`.
#pragma once

#include "weft/detail/chain.hpp"
#include "weft/detail/task_core.hpp"

namespace weft::inline v0::detail {

struct RuntimeCore;
struct Worker;

struct StrandCore : QueueLink {
  seam::SpinLock lock;
  Chain waiting;                        // guarded by lock
  bool active = false;                  // guarded by lock
  seam::Atomic<std::uint32_t> refs{1};  // the handle, and each task
};

void enter_strand(RuntimeCore& runtime, Worker* worker, TaskCore* task);
// If the entry is a strand: its next task, which holds it from now on; nothing if that may run elsewhere only.
Entry unwrap_strand(Worker& worker, Entry entry);
void give_up_strand(Worker& worker, StrandCore* strand);
void release_strand(StrandCore* strand) noexcept;

}  // namespace weft::inline v0::detail
