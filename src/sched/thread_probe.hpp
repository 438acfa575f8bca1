// SPDX-License-Identifier: MIT
// What: asks the kernel whether one of our threads computes or sits in the kernel. A worker that has made no progress
// is stuck only in the second case; on a full machine a thread more would not help the first.
// Threads: any. No allocation; the answer is that of one moment.
// Rejected: /proc/self/task/TID/syscall, which names the call but asks for the right to trace.
#pragma once

#include <cstdint>

namespace weft::inline v0::detail {

enum class ThreadActivity : std::uint8_t {
  running,     // on a processor or waiting for one; also when the kernel cannot be asked
  in_syscall,  // sleeps or is stopped in the kernel
  gone,        // no such thread in this process, or a dead one
};
const char* to_string(ThreadActivity activity);

ThreadActivity probe_thread(long tid) noexcept;

}  // namespace weft::inline v0::detail
