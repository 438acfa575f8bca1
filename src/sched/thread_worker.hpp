// SPDX-License-Identifier: MIT
// What: the worker that this thread is, by a load that waits for nothing.
//
//   stack pointer -> fiber -> root -> worker        four steps, the first of which waits for the switch that loaded sp
//   thread pointer -> worker                        one, known before the switch has ended: the next pick can begin
//
// Invariants
//   [TW-1] Set while the thread is a worker, by the thread itself; null on every other thread. A nested run is refused,
//          so there is one at a time.
//   [TW-2] Read by an instruction that names the thread pointer, each time anew: no address of it is ever in a
//          register, so no compiler can keep one over a switch. What was read is good until the next switch.
// Where there is no such instruction, and in a shared library, it is the four steps: a library that reads its thread's
// words by the thread pointer needs room for all of them in what every program has, and a second copy may not load.
// Threads: any, each for itself.
// Rejected: a plain thread_local (compilers keep its address, [TW-2]); a call to read it (as much as the four steps);
// to take it for who runs here without asking the stack pointer: inner fibers, see Worker::here.
#pragma once

#include "sched/worker.hpp"

#if (defined(__x86_64__) || defined(__aarch64__)) && (!defined(__PIC__) || defined(__PIE__))
#define WEFT_THREAD_WORKER 1
#else
#define WEFT_THREAD_WORKER 0
#endif

namespace weft::inline v0::detail {

void set_thread_worker(Worker* worker);

#if !WEFT_THREAD_WORKER

[[gnu::always_inline]] inline Worker* thread_worker() {
  return static_cast<Worker*>(this_worker());
}

#elif defined(__x86_64__)

[[gnu::always_inline]] inline Worker* thread_worker() {
  Worker* worker;
  asm volatile(
      "movq weft_thread_worker@gottpoff(%%rip), %0\n\t"
      "movq %%fs:(%0), %0"
      : "=r"(worker)
      :
      : "memory");
  return worker;
}

#else

[[gnu::always_inline]] inline Worker* thread_worker() {
  Worker* worker;
  void* offset;
  asm volatile(
      "mrs %0, tpidr_el0\n\t"
      "adrp %1, :gottprel:weft_thread_worker\n\t"
      "ldr %1, [%1, #:gottprel_lo12:weft_thread_worker]\n\t"
      "ldr %0, [%0, %1]"
      : "=&r"(worker), "=&r"(offset)
      :
      : "memory");
  return worker;
}

#endif

}  // namespace weft::inline v0::detail
