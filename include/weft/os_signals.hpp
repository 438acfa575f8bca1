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

}  // namespace weft::inline v0
