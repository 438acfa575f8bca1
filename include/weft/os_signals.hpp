// SPDX-License-Identifier: MIT
// What: signals of the operating system as events. While one of these lives, its signals do not do what they did: they
// are read here, by a task or a thread.
//
//   weft::OsSignals signals({SIGINT, SIGTERM});
//   nursery.start([&] { if (signals.next() == SIGINT) nursery.cancel(); else listener.close(); });
//
// Several may watch the same signal; each gets it. A signal that comes again before it was read is read twice, until
// some thousands are unread. What a signal did before comes back with the end of its last watcher.
// Threads: next any; making and destroying any.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>

#include "weft/stream.hpp"

namespace weft::inline v0 {

class OsSignals {
 public:
  OsSignals(std::initializer_list<int> numbers);
  ~OsSignals();
  OsSignals(const OsSignals&) = delete;
  OsSignals& operator=(const OsSignals&) = delete;

  // The number of the next signal. Throws as Stream::read does.
  int next() { return next_until(never); }
  int next_for(std::chrono::nanoseconds span);
  int next_until(Deadline deadline);
  // A number above 0, or the error.
  IoResult next_result(Deadline deadline = never);

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

// By which a program's own signal handler wakes a task: the one thing of this library that a handler may call. Each
// ring is counted, none is lost.
//
//   weft::SignalBell* bell;                                        // made before the handler is installed, outlives it
//   void on_signal(int) { bell->notify_from_signal(); }
//   nursery.start([&] { for (;;) rung += bell->wait(); });
//
// Threads: notify_from_signal any, signal handlers too; wait one task or thread at a time.
class SignalBell {
 public:
  SignalBell();
  SignalBell(const SignalBell&) = delete;
  SignalBell& operator=(const SignalBell&) = delete;

  // Async-signal-safe: one system call, neither errno nor a lock is touched.
  void notify_from_signal() const noexcept;
  // Until it was rung: how often since the last answer. Throws as Stream::read does.
  std::uint64_t wait() { return wait_until(never); }
  std::uint64_t wait_for(std::chrono::nanoseconds span);
  std::uint64_t wait_until(Deadline deadline);
  // At least 1, or the error.
  IoResult wait_result(Deadline deadline = never);

 private:
  Stream counter_;
};

}  // namespace weft::inline v0
