// SPDX-License-Identifier: MIT
// What: the lowest way to wait: park until a flag changes, and the handle with which somebody else ends that.
//
//   std::atomic<std::uint32_t> ready{0};
//   auto wake = weft::unparker();                    // given to somebody else, who does:
//   ...                                              //   ready.store(1); wake.unpark();
//   while (ready.load() == 0) weft::park_if(ready, 0);
//
// A wake may come for nothing (another unpark, a cancel that found a shield): callers loop. From plain threads too.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "weft/detail/task_core.hpp"

namespace weft::inline v0 {

// What a fiber that catches wait or await receives before something inside it waits: the payload of the event, with the
// bits wait and await. Nothing is published yet. To resume the fiber performs the wait; Fiber::cancel raises instead.
struct WaitRequest {
  const char* kind = "";         // "sleep", "join", "recv", "lock", ...
  const void* object = nullptr;  // what is waited for
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

// Why a wait ended.
enum class WaitOutcome : std::uint8_t {
  changed,  // the flag does not hold the expected value
  woken,    // by unpark
  timed_out,
  cancelled,  // only from the forms that do not throw
};
const char* to_string(WaitOutcome outcome);

// Ends a wait of one task. A copy may be kept for ever: once the task has ended it does nothing.
class Unparker {
 public:
  Unparker() = default;
  // After storing the flag. Of a task that does not wait it ends the next park_if, at once and once, however often it
  // was called. Any thread, not a signal handler: that has SignalBell (os_signals.hpp).
  void unpark() const;

 private:
  friend Unparker unparker();
  Unparker(detail::TaskCore* task, std::uint64_t id) : task_(task), id_(id) {}
  detail::TaskCore* task_ = nullptr;
  std::uint64_t id_ = 0;
};
// Of the running task or thread.
Unparker unparker();

// Parks unless the flag differs from `expected`. Throws Cancelled.
WaitOutcome park_if(const std::atomic<std::uint32_t>& flag, std::uint32_t expected);
WaitOutcome park_if_for(const std::atomic<std::uint32_t>& flag, std::uint32_t expected, std::chrono::nanoseconds span);
WaitOutcome park_if_until(const std::atomic<std::uint32_t>& flag, std::uint32_t expected,
                          std::chrono::steady_clock::time_point when);
// Never throws, for destructors and noexcept code.
WaitOutcome park_if_result(
    const std::atomic<std::uint32_t>& flag, std::uint32_t expected,
    std::chrono::steady_clock::time_point when = std::chrono::steady_clock::time_point::max()) noexcept;

}  // namespace weft::inline v0
