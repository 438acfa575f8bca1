// SPDX-License-Identifier: MIT
// What: waits for a state, on a plain thread or by a task that holds its worker.
#pragma once

#include <time.h>

#include <thread>

namespace weft_test {

// Until the condition holds. False: it did not while this thread used twenty seconds of processor time. Not twenty
// seconds by the clock: on a machine that is busy with others everything takes longer, the waits for it included.
template <class F>
bool eventually(F&& holds) {
  const auto used = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec;
  };
  const auto limit = used() + 20;
  while (!holds()) {
    if (used() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace weft_test
