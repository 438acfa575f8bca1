// SPDX-License-Identifier: MIT
// What: OS threads for calls that block. Made when a job finds no idle one, up to a limit; one that had nothing to do
// for a while ends. Jobs beyond the limit wait in order.
// Invariants
//   [BLOCK-1] While a job is queued there is a thread that will take it: a thread ends only under the lock and with the
//             queue empty, and a job that would wait for no thread at all is refused, not queued.
//   [BLOCK-2] A job that was accepted runs, also after stop(): the task that waits for it must hear of its end.
//   [BLOCK-3] Jobs start in the order in which they were submitted. The pool does not touch a job once run was called.
// Threads: submit, threads, idle from any, not from signal handlers; stop and the destructor from outside the pool.
// Relaxed: numbers for statistics; the queue is under its mutex.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>

#include "base/clock.hpp"
#include "weft/detail/assert.hpp"
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

  // True: the job was still queued, and will not run.
  [[nodiscard]] bool withdraw(Job& job);

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

inline seam::Thread BlockingPool::start_thread(BlockingPool& pool, unsigned slot) {
  return seam::Thread::start("weft-blocking", [&pool, slot] { pool.work(slot); });
}

inline BlockingPool::BlockingPool(unsigned max_threads, std::chrono::nanoseconds idle_timeout, Starter starter)
    : max_threads_(std::max(max_threads, 1U)),
      idle_timeout_ns_(std::max<std::int64_t>(idle_timeout.count(), 0)),
      starter_(starter),
      slots_(std::make_unique<Slot[]>(max_threads_)) {}

inline BlockingPool::~BlockingPool() {
  stop();
}

inline bool BlockingPool::submit(Job& job, std::error_code* reason) {
  WEFT_ASSERT(job.run != nullptr, "a blocking job without a function");
  std::error_code error;
  bool ring = false;
  {
    const std::lock_guard guard(mutex_);
    if (stopping_) {
      error = std::make_error_code(std::errc::operation_canceled);
    } else if (queued_ >= idle_ && threads_ < max_threads_ && !add_thread(error)) {
      ++refused_;
      if (threads_ > 0) error = {};  // one of them will come to it
    }
    if (!error) {
      job.next = nullptr;
      (last_ != nullptr ? last_->next : first_) = &job;
      last_ = &job;
      ++queued_;
      ring = idle_ > 0;
      // relaxed: the mutex orders it. A thread that read the old value goes to sleep in vain: its futex call sees this.
      if (ring) bell_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  if (ring) seam::futex_wake(bell_, 1);
  if (reason != nullptr) *reason = error;
  return !error;
}

// Under the mutex. The new thread counts as busy: it finds the queue by itself.
inline bool BlockingPool::add_thread(std::error_code& error) {
  Slot* slot = std::find_if(slots_.get(), slots_.get() + max_threads_, [](const Slot& s) { return !s.alive; });
  if (slot->thread.joinable()) slot->thread.join();  // it has given up the mutex for the last time
  try {
    slot->thread = starter_(*this, static_cast<unsigned>(slot - slots_.get()));
  } catch (const std::system_error& refusal) {
    error = refusal.code();
    return false;
  } catch (const std::bad_alloc&) {
    error = std::make_error_code(std::errc::not_enough_memory);
    return false;
  }
  slot->alive = true;
  ++threads_;
  return true;
}

inline bool BlockingPool::withdraw(Job& job) {
  const std::lock_guard guard(mutex_);
  Job* before = nullptr;
  for (Job* at = first_; at != nullptr; before = at, at = at->next) {
    if (at != &job) continue;
    (before != nullptr ? before->next : first_) = job.next;
    if (last_ == &job) last_ = before;
    --queued_;
    return true;
  }
  return false;
}

inline BlockingPool::Job* BlockingPool::take_job() {
  Job* job = first_;
  first_ = job->next;
  if (first_ == nullptr) last_ = nullptr;
  --queued_;
  return job;
}

inline void BlockingPool::work(unsigned slot) {
  mutex_.lock();
  while (first_ != nullptr || wait_for_job()) {
    Job* job = take_job();
    mutex_.unlock();
    job->run(job);
    mutex_.lock();
  }
  slots_[slot].alive = false;
  --threads_;
  mutex_.unlock();
}

// Under the mutex, which it gives up while it waits. False: there is no job and the thread shall end.
inline bool BlockingPool::wait_for_job() {
  const std::int64_t deadline = saturating::add(seam::monotonic_ns(), idle_timeout_ns_);
  ++idle_;
  bool late = false;
  while (first_ == nullptr && !stopping_ && !late) {
    const std::uint32_t heard = bell_.load(std::memory_order_relaxed);
    mutex_.unlock();
    late = seam::futex_wait(bell_, heard, deadline) == seam::WaitResult::timed_out;
    mutex_.lock();
  }
  --idle_;
  return first_ != nullptr;
}

inline void BlockingPool::stop() {
  const std::lock_guard joining(stop_mutex_);
  mutex_.lock();
  stopping_ = true;
  bell_.fetch_add(1, std::memory_order_relaxed);
  mutex_.unlock();
  seam::futex_wake(bell_, static_cast<int>(max_threads_));
  // No thread is added any more, so the slots stay as they are but for `alive`.
  for (Slot* slot = slots_.get(); slot != slots_.get() + max_threads_; ++slot) {
    if (slot->thread.joinable()) slot->thread.join();
  }
}

inline unsigned BlockingPool::threads() const {
  const std::lock_guard guard(mutex_);
  return threads_;
}

inline unsigned BlockingPool::idle() const {
  const std::lock_guard guard(mutex_);
  return idle_;
}

inline unsigned BlockingPool::refused_threads() const {
  const std::lock_guard guard(mutex_);
  return refused_;
}

}  // namespace weft::inline v0::detail
