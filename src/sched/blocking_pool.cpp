// SPDX-License-Identifier: MIT
#include "sched/blocking_pool.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "weft/detail/assert.hpp"

namespace weft::inline v0::detail {

seam::Thread BlockingPool::start_thread(BlockingPool& pool, unsigned slot) {
  return seam::Thread::start("weft-blocking", [&pool, slot] { pool.work(slot); });
}

BlockingPool::BlockingPool(unsigned max_threads, std::chrono::nanoseconds idle_timeout, Starter starter)
    : max_threads_(std::max(max_threads, 1U)),
      idle_timeout_ns_(std::max<std::int64_t>(idle_timeout.count(), 0)),
      starter_(starter),
      slots_(std::make_unique<Slot[]>(max_threads_)) {}

BlockingPool::~BlockingPool() {
  stop();
}

bool BlockingPool::submit(Job& job, std::error_code* reason) {
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
bool BlockingPool::add_thread(std::error_code& error) {
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

BlockingPool::Job* BlockingPool::take_job() {
  Job* job = first_;
  first_ = job->next;
  if (first_ == nullptr) last_ = nullptr;
  --queued_;
  return job;
}

void BlockingPool::work(unsigned slot) {
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
bool BlockingPool::wait_for_job() {
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

void BlockingPool::stop() {
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

unsigned BlockingPool::threads() const {
  const std::lock_guard guard(mutex_);
  return threads_;
}

unsigned BlockingPool::idle() const {
  const std::lock_guard guard(mutex_);
  return idle_;
}

unsigned BlockingPool::refused_threads() const {
  const std::lock_guard guard(mutex_);
  return refused_;
}

}  // namespace weft::inline v0::detail
