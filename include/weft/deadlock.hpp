// SPDX-License-Identifier: MIT
// What: the error of a program in which nothing can run any more.
//
//   int main() { return weft::exit_on_deadlock([] { return weft::run([] { ... }); }); }      // 124, and the report
//
// A runtime is dead when no task runs or is ready, none that waits has a deadline or waits for something outside (a
// blocking call, a file), every other runtime of the process is as quiet, and no thread is about that could end a wait.
// Threads are known from their first wait on; a thread that never waited for anything of ours is unknown, and makes the
// verdict a "maybe", which is printed once after a second and is no error. Then the task of run() is cancelled
// (CancelReason::deadlock), and run() throws Deadlock once it has ended; RuntimeOptions::deadlock chooses otherwise.
// It takes a few hundredths of a second to be sure.
#pragma once

#include <string>
#include <utility>

#include "weft/runtime_error.hpp"

namespace weft::inline v0 {

// what() is the report: who waits for what, held by whom, and the cycles among them.
class Deadlock : public RuntimeError {
 public:
  explicit Deadlock(const std::string& report) : RuntimeError(RuntimeErrc::deadlock, report) {}
};

// While one lives, something outside may end any wait: a callback of a library, a signal handler's helper, a thread
// that has not waited yet. No deadlock is reported. Any thread. In a simulation nobody is outside: it does nothing.
class ExternalWait {
 public:
  ExternalWait() noexcept;
  ~ExternalWait();
  ExternalWait(const ExternalWait&) = delete;
  ExternalWait& operator=(const ExternalWait&) = delete;

 private:
  const bool counted_;
};
template <class F>
decltype(auto) external_wait(F&& f) {
  const ExternalWait outside;
  return std::forward<F>(f)();
}

// The cycles among tasks that wait now, whoever else runs: each waits for the next, and none for a limited time. Only
// what is certain counts (locks, joins, nurseries), so somebody outside the cycle can end it only by a cancel, or by
// unlocking what another has locked. Empty: there is none. Any thread, any task.
std::string deadlocks();

inline constexpr int deadlock_exit_code = 124;

namespace detail {
void print_deadlock(const Deadlock& deadlock) noexcept;
}

// What f returns, or 124 after the report went to stderr.
template <class F>
int exit_on_deadlock(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const Deadlock& deadlock) {
    detail::print_deadlock(deadlock);
    return deadlock_exit_code;
  }
}

}  // namespace weft::inline v0
