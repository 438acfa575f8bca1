// SPDX-License-Identifier: MIT
// What: the stack of another thread of this process, taken by a signal handler that runs there.
// Invariants
//   [TSTK-1] One request at a time in the process. A thread that does not answer in time (signals blocked, or the
//            program has a handler of its own for the signal) leaves no trace: a late handler finds the request gone.
//   [TSTK-2] The signal is SIGURG: ignored unless somebody asks for it, and allowed to come for no reason. Calls that
//            the kernel can go on with are not disturbed (SA_RESTART); a few (poll, nanosleep) return EINTR.
//   [TSTK-3] The unwinder believes the registers it begins with, and reads wherever they point. In the middle of a
//            switch they lie: then the frame pointers are followed instead, by reads that may fail.
//   [TSTK-4] The unwinder sets itself up when it is first used, once in the process, and whoever comes meanwhile waits.
//            A handler that interrupts just that would wait for its own thread: so the asker uses it first.
//   [TSTK-5] A thread that throws may stand where the unwinder fills its own frame with the registers of who catches:
//            who unwinds from there reads a return address that belongs to another frame. So the unwinder's frames are
//            never unwound: then, too, the frame pointers are followed.
// Threads: any, but not from a signal handler.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::inline v0::detail {

struct ThreadStack {
  static constexpr std::size_t most = 64;
  std::size_t count = 0;
  const void* frames[most];  // innermost first; the first is exact, the others are return addresses
  std::uint64_t fiber = 0;   // on whose stack it was; 0: the thread's own
  std::uint64_t task = 0;    // that ran there; 0: none
};

// False: it did not answer within `limit_ns`.
bool take_thread_stack(long tid, std::int64_t limit_ns, ThreadStack& into);

}  // namespace weft::inline v0::detail
