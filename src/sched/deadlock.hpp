// SPDX-License-Identifier: MIT
// What: sees that nothing can run any more, and names why. Advisory: looks from outside, by sysmon's thread.
//
//   fingerprint (counts and ticks of all runtimes) -> look at every task -> fingerprint again, the same: so nothing ran
//   while it looked, and what it saw was true at one moment
//
// Invariants
//   [DEAD-1] A verdict `dead` needs: nobody ACTIVE or searching in any runtime, empty queues, every task parked without
//            a deadline and without `outside`, every thread task parked the same way or inside run(), no ExternalWait,
//            no thread that we do not know, and the fingerprint unchanged. Whoever could end a wait is one of these.
//   [DEAD-2] Whatever cannot be read or is in between counts as alive: no alarm is better than a false one.
//   [DEAD-3] The fingerprint stood still for `patience` before the first look.
// Threads: the watch by sysmon; the texts by any.
#pragma once

#include <cstdint>
#include <string>

#include "sched/runtime_core.hpp"

namespace weft::inline v0::detail {

// On a plain thread, inside what a BlockingIo runs, with nobody else in the process who could end a wait: throws
// Deadlock. Such a wait is for a task that runs only after it.
void refuse_lonely_wait(const WaitInfo& info);

bool external_wait_about();

// What might do something to a runtime that is quiet: threads that have used a primitive, and other runtimes.
struct Parties {
  bool idle = true;         // all wait for ever, or are quiet, without a timer or an answer from the outside to come
  std::uint64_t print = 0;  // equal twice: they did nothing in between
};
Parties parties_beside(const RuntimeCore& runtime);

// Nothing of this runtime, which its driver has left, will ever run again: from now on it and its tasks count for
// nothing. Once.
void forget_runtime(RuntimeCore& runtime);

// "3 tasks wait:", each with what for, and the cycles among them: of this runtime, by the thread that drives it.
std::string waits_of(const RuntimeCore& runtime);

class DeadlockWatch {
 public:
  explicit DeadlockWatch(RuntimeCore& runtime) : runtime_(runtime) {}
  // At each look of sysmon. Returns when it wants to look again at the latest.
  std::int64_t look(std::int64_t now, bool awake);

 private:
  enum class Verdict : std::uint8_t {
    alive,     // something will run
    external,  // threads that we know might do something
    maybe,     // threads that we do not know might
    dead,
  };
  Verdict examine(std::string& report);
  void act(const std::string& report);
  std::int64_t again(std::int64_t now);

  RuntimeCore& runtime_;
  std::uint64_t seen_ = 0;  // fingerprint
  std::int64_t quiet_since_ = 0;
  std::int64_t next_ = 0;
  unsigned looks_ = 0;     // with this fingerprint
  unsigned restless_ = 0;  // looks that found something changed, one after the other
  bool told_maybe_ = false;
  const TaskCore* witness_ = nullptr;  // was alive at the last look: most likely it is again. Records are type-stable
};

}  // namespace weft::inline v0::detail
