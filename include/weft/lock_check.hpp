// SPDX-License-Identifier: MIT
// What: two checks of locks, for debugging. check_locks(true), or WEFT_CHECK_LOCKS=1, switches them on for the process.
//
//   order    weft::Mutex, in code compiled without NDEBUG: whoever locks B while it holds A says that A comes before B.
//            If A was ever locked while B was held, that is reported, though nothing has locked up yet.
//   std      a task that waits or yields while it holds a weft::StdMutex is reported: others who want it block their
//            workers, and the task may go on, and unlock it, on another thread.
//
// A report names both places. It goes to stderr, once per pair, and to lock_reports().
// Threads: any.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "weft/detail/seam.hpp"

namespace weft::inline v0 {

void check_locks(bool on);
// Since the start, oldest first.
std::vector<std::string> lock_reports();

namespace detail {

extern seam::Guessed<bool> locks_are_checked;

void note_std_locked(const void* mutex);
void note_std_unlocked(const void* mutex);
void note_locked(const void* mutex, bool waited_for);
void note_unlocked(const void* mutex);
void forget_lock(const void* mutex);

// `waited_for`: it came by lock(), which makes an order; try_lock() makes none.
inline void check_locked([[maybe_unused]] const void* mutex, [[maybe_unused]] bool waited_for) {
#ifndef NDEBUG
  if (locks_are_checked) [[unlikely]]
    note_locked(mutex, waited_for);
#endif
}
inline void check_unlocked([[maybe_unused]] const void* mutex) {
#ifndef NDEBUG
  if (locks_are_checked) [[unlikely]]
    note_unlocked(mutex);
#endif
}
inline void check_destroyed([[maybe_unused]] const void* mutex) {
#ifndef NDEBUG
  if (locks_are_checked) [[unlikely]]
    forget_lock(mutex);
#endif
}

}  // namespace detail

// A std::mutex that is watched.
class StdMutex {
 public:
  StdMutex() = default;
  StdMutex(const StdMutex&) = delete;
  StdMutex& operator=(const StdMutex&) = delete;

  void lock() {
    mutex_.lock();
    if (detail::locks_are_checked) [[unlikely]]
      detail::note_std_locked(this);
  }
  bool try_lock() {
    const bool had = mutex_.try_lock();
    if (had && detail::locks_are_checked) [[unlikely]]
      detail::note_std_locked(this);
    return had;
  }
  void unlock() {
    if (detail::locks_are_checked) [[unlikely]]
      detail::note_std_unlocked(this);
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
};

}  // namespace weft::inline v0
