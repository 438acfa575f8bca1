// SPDX-License-Identifier: MIT
// What: OS threads for calls that block. Made when a job finds no idle one, up to a limit; one that had nothing to do
// for a while ends. Jobs beyond the limit wait in order.
// Invariants
//   [BLOCK-1] While a job is queued there is a thread that will take it: a thread ends only under the lock and with the
//             queue empty, and a job that would wait for no thread at all is refused, not queued.
//   [BLOCK-2] A job that was accepted runs, also after stop(): the task that waits for it must hear of its end.
//   [BLOCK-3] Jobs start in the order in which they were submitted. The pool does not touch a job once run was called.
// Threads: submit, threads, idle from any, not from signal handlers; stop and the destructor from outside the pool.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>

#include "weft/detail/seam.hpp"

namespace weft::inline v0::detail {

class BlockingPool {
 public:
  struct Job {
    Job* next = nullptr;
    void (*run)(Job*) = nullptr;  // must not throw
  };

  static constexpr std::chrono::nanoseconds default_idle_timeout = std::chrono::seconds(10);

  // Starts a thread that calls pool.work(slot); throws what std::thread throws. A test gives one that refuses.
  using Starter = seam::Thread (*)(BlockingPool& pool, unsigned slot);
  static seam::Thread start_thread(BlockingPool& pool, unsigned slot);

  explicit BlockingPool(unsigned max_threads, std::chrono::nanoseconds idle_timeout = default_idle_timeout,
                        Starter starter = start_thread);
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // False, with the reason, if the job will not run: the pool has been stopped (operation_canceled), or it has no
  // thread and none can be made (what the system said).
  [[nodiscard]] bool submit(Job& job, std::error_code* reason = nullptr);

  // Accepts nothing more, runs what it has accepted, joins. May be called again.
  void stop();

  unsigned threads() const;          // alive
  unsigned idle() const;             // of them, without a job
  unsigned refused_threads() const;  // how often the system refused one; the job then waited for another thread

  void work(unsigned slot);  // the body of a pool thread

 private:
  struct Slot {
    seam::Thread thread;
    bool alive = false;
  };

  bool add_thread(std::error_code& error);
  bool wait_for_job();
  Job* take_job();

  // Constant after construction.
  const unsigned max_threads_;
  const std::int64_t idle_timeout_ns_;
  const Starter starter_;

  mutable seam::Mutex mutex_;
  // Guarded by mutex_.
  std::unique_ptr<Slot[]> slots_;
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  unsigned queued_ = 0;
  unsigned threads_ = 0;
  unsigned idle_ = 0;
  unsigned refused_ = 0;
  bool stopping_ = false;

  seam::Mutex stop_mutex_;               // held by whoever joins
  seam::Atomic<std::uint32_t> bell_{0};  // grows under mutex_ with each job and at stop; idle threads wait for it
};

}  // namespace weft::inline v0::detail
