// SPDX-License-Identifier: MIT
// What: mutexes that park the task, not its thread: one at a time, or many readers and one writer. std::lock_guard,
// std::unique_lock, std::scoped_lock and std::shared_lock fit.
//
//   weft::Mutex mutex;
//   const std::lock_guard guard(mutex);                // may park
//
//   weft::RwMutex table;
//   const std::shared_lock reading(table);
//
// Mutex: runners barge, nobody starves. RwMutex: in the order in which they came, readers who stand together go in
// together. A task may be suspended while it holds one, and any task or thread may unlock it: the
// holder is information for dumps and deadlock reports, not ownership. It is not recursive: who locks it twice waits
// for itself.
// lock() is a wait like any other: it throws Cancelled if it would have to wait and the task is asked to stop, or while
// it waits. If the mutex is free it locks it, asked to stop or not. unlock() never throws.
// Threads: any, plain ones too.
#pragma once

#include <chrono>

#include "weft/detail/last_seen.hpp"
#include "weft/detail/mutex_core.hpp"
#include "weft/detail/point.hpp"
#include "weft/detail/rw_mutex_core.hpp"
#include "weft/detail/wait_core.hpp"
#include "weft/detail/worker_core.hpp"
#include "weft/lock_check.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0 {

class Mutex {
 public:
  Mutex() = default;
  ~Mutex() { detail::check_destroyed(this); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() {
    detail::point("lock");
    if (!core_.try_lock(detail::this_task())) [[unlikely]]
      (void)lock_slow(seam::no_deadline, detail::Raise::yes);
    detail::check_locked(this, true);
  }
  bool try_lock() noexcept {
    const bool had = core_.try_lock(detail::this_task());
    if (had) detail::check_locked(this, false);
    return had;
  }
  void unlock() noexcept {
    detail::check_unlocked(this);
    core_.unlock(detail::this_task());
  }

  // False: it was not to be had in time. Throw Cancelled, too.
  bool lock_for(std::chrono::nanoseconds span) { return lock_before(detail::deadline_after(span)); }
  bool lock_until(std::chrono::steady_clock::time_point when) { return lock_before(detail::deadline_at(when)); }
  // As std::timed_mutex calls them.
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> span) {
    const auto whole = std::chrono::ceil<std::chrono::nanoseconds>(span);
    return whole <= whole.zero() ? try_lock() : lock_for(whole);
  }
  bool try_lock_until(std::chrono::steady_clock::time_point when) { return lock_until(when); }

  // Never throws: a task that is asked to stop gets `cancelled`, and has not locked it.
  WaitResult lock_result(
      std::chrono::steady_clock::time_point when = std::chrono::steady_clock::time_point::max()) noexcept {
    detail::point("lock");
    const WaitResult result = core_.try_lock(detail::this_task())
                                  ? WaitResult::done
                                  : lock_slow(detail::deadline_at(when), detail::Raise::quietly);
    if (result == WaitResult::done) detail::check_locked(this, true);
    return result;
  }

 private:
  friend class CondVar;
  bool lock_before(std::int64_t deadline) {
    detail::point("lock");
    const bool had = core_.try_lock(detail::this_task()) || lock_slow(deadline, detail::Raise::yes) == WaitResult::done;
    if (had) detail::check_locked(this, true);
    return had;
  }
  WaitResult lock_slow(std::int64_t deadline, detail::Raise raise);

  detail::MutexCoreOf<detail::TaskCore> core_;
};

class RwMutex {
 public:
  using Clock = std::chrono::steady_clock;

  RwMutex() = default;
  RwMutex(const RwMutex&) = delete;
  RwMutex& operator=(const RwMutex&) = delete;

  // The writer's side.
  void lock() { (void)take(detail::RwSide::write, seam::no_deadline, detail::Raise::yes); }
  bool try_lock() noexcept {
    const bool had = core_.try_lock();
    if (had) writer_ = detail::this_task();
    return had;
  }
  void unlock() noexcept {
    writer_ = nullptr;
    core_.unlock();
  }
  bool lock_for(std::chrono::nanoseconds span) { return before(detail::RwSide::write, detail::deadline_after(span)); }
  bool lock_until(Clock::time_point when) { return before(detail::RwSide::write, detail::deadline_at(when)); }
  template <class Rep, class Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> span) {
    const auto whole = std::chrono::ceil<std::chrono::nanoseconds>(span);
    return whole <= whole.zero() ? try_lock() : lock_for(whole);
  }
  bool try_lock_until(Clock::time_point when) { return lock_until(when); }
  WaitResult lock_result(Clock::time_point when = Clock::time_point::max()) noexcept {
    return take(detail::RwSide::write, detail::deadline_at(when), detail::Raise::quietly);
  }

  // The readers' side. A reader behind a writer that waits, waits too: do not read-lock what you hold already.
  void lock_shared() { (void)take(detail::RwSide::read, seam::no_deadline, detail::Raise::yes); }
  bool try_lock_shared() noexcept {
    const bool had = core_.try_lock_shared();
    if (had) detail::note_use(reader_);
    return had;
  }
  void unlock_shared() noexcept {
    detail::forget_use(reader_);
    core_.unlock_shared();
  }
  bool lock_shared_for(std::chrono::nanoseconds span) {
    return before(detail::RwSide::read, detail::deadline_after(span));
  }
  bool lock_shared_until(Clock::time_point when) { return before(detail::RwSide::read, detail::deadline_at(when)); }
  template <class Rep, class Period>
  bool try_lock_shared_for(std::chrono::duration<Rep, Period> span) {
    const auto whole = std::chrono::ceil<std::chrono::nanoseconds>(span);
    return whole <= whole.zero() ? try_lock_shared() : lock_shared_for(whole);
  }
  bool try_lock_shared_until(Clock::time_point when) { return lock_shared_until(when); }
  WaitResult lock_shared_result(Clock::time_point when = Clock::time_point::max()) noexcept {
    return take(detail::RwSide::read, detail::deadline_at(when), detail::Raise::quietly);
  }

 private:
  bool before(detail::RwSide side, std::int64_t deadline) {
    return take(side, deadline, detail::Raise::yes) == WaitResult::done;
  }
  WaitResult take(detail::RwSide side, std::int64_t deadline, detail::Raise raise) {
    detail::point("lock");
    if (side == detail::RwSide::write ? try_lock() : try_lock_shared()) [[likely]]
      return WaitResult::done;
    return take_slow(side, deadline, raise);
  }
  WaitResult take_slow(detail::RwSide side, std::int64_t deadline, detail::Raise raise);

  detail::RwMutexCoreOf<detail::TaskCore> core_;
  seam::Guessed<const detail::TaskCore*> writer_ = nullptr;  // information
  seam::Guessed<const detail::TaskCore*> reader_ = nullptr;  // one of them; noted in debug builds
};

}  // namespace weft::inline v0
