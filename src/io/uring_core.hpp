// SPDX-License-Identifier: MIT
// What: the protocol of requests by completion, over whatever ring and task: what is put into the submission ring, what
// is read from the completion ring, and how a task waits for the final completion of its own. The engine runs it on the
// kernel's ring, the explorer on one that answers in every order.
//
//   task: push the request, park; asked to leave: push a cancel, park again; the final completion ends it
//   who is inside the poller: wait (flushes first), reap
//
// Invariants
//   [URI-1] An operation lies on its task's stack until its final completion: the task does not come back before.
//   [URI-2] A cancel, a deadline, an interrupt or a close only asks (ASYNC_CANCEL by the operation's mark, again every
//           10 ms); the final completion decides [ENG-1].
//   [URI-3] ECANCELED that nobody asked for means that the thread which submitted it has ended: it is submitted again.
//   [URI-4] A mark is an address and a number: a cancel that comes too late finds nobody.
//   [URI-6] What a worker has queued is submitted before it sleeps, and by sysmon if it is stuck. What the kernel has
//           no room for now is tried again every millisecond: by who sleeps in the poller, or, if that one came before,
//           by who queued it. So a kernel that takes nothing for long costs those who wait for it, and nobody else.
//   [URI-7] The submission ring is written under the mutex, the completion ring read by who is inside the poller. Who
//           finds the kernel unwilling and nobody inside reads the second: the kernel may take nothing before.
// Threads: any. A host gives what the protocol does not know:
//   role                    of the poller
//   Woken, ready(task, woken), hand_out(woken, wanted)     the tasks whose waits have ended
// Relaxed: a count.
#pragma once

#include <linux/io_uring.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "io/operation.hpp"

namespace weft::inline v0::detail {

// Why a task wants the end of its operation.
enum class Asked : std::uint8_t { no, timeout, cancel, interrupt, close };

// What the final completion means, together with what was asked.
enum class Ending : std::uint8_t { result, timeout, cancel, interrupt, close, again };

template <class Ring, class Task>
class UringCoreOf {
 public:
  using Operation = OperationOf<Task>;
  static constexpr unsigned gathered_enough = 32;
  static constexpr std::int64_t ask_again_ns = 10'000'000;
  static constexpr std::int64_t submit_again_ns = 1'000'000;
  static constexpr unsigned tries_at_once = 4;   // of who may go on without
  static constexpr unsigned tries_awake = 1024;  // of who may not, before it sleeps in between
  static constexpr unsigned every_one = ~0U;     // completions
  static constexpr std::uint64_t mark_of_cancel = 0;
  static constexpr std::uint64_t mark_of_bell = 1;
  static constexpr std::uint64_t address_mask = (std::uint64_t{1} << 48) - 1;

  struct Final {
    int result;
    Ending ending;
  };

  Ring ring;
  seam::Atomic<std::uint64_t> overflows{0};  // times that completions were found which had no room

  template <class Host>
  void flush(Host& host) {
    for (unsigned refused = 0; ring.unsubmitted() != 0 && !try_submit();)
      if (relieve(host, refused) && refused > tries_at_once) return;  // nobody is inside: who comes next tries [URI-6]
  }

  // By who is inside the poller: until there may be something to reap. limit(until) is what the ring takes. False: its
  // time is up.
  template <class F>
  bool wait(std::int64_t deadline, F&& limit) {
    const bool all = ring.unsubmitted() == 0 || try_submit();  // [URI-6]
    if (ring.peek() != nullptr) return true;
    const std::int64_t until = all ? deadline : std::min(deadline, seam::monotonic_ns() + submit_again_ns);
    return ring.enter(0, 1, limit(until)) != -ETIME || until != deadline;
  }

  // By who is inside the poller: ready(task) for each whose wait has ended, of so many completions.
  template <class F>
  void reap(unsigned most, F&& ready) {
    if (ring.overflows()) overflows.fetch_add(1, std::memory_order_relaxed);
    if (ring.peek() == nullptr && ring.wants_entry()) (void)ring.enter(0, 0, nullptr);
    for (; most > 0; --most) {
      const io_uring_cqe* completion = ring.peek();
      if (completion == nullptr) return;
      const std::uint64_t mark = completion->user_data;
      const int result = completion->res;
      ring.seen();
      if (mark == mark_of_cancel || mark == mark_of_bell) continue;
      auto* operation = reinterpret_cast<Operation*>(mark & address_mask);
      if (Task* task = operation->complete(result)) ready(task);
    }
  }

  // Ends the present wait(), or the next.
  template <class Host>
  void ring_bell(Host& host) {
    push(
        host,
        [](io_uring_sqe& sqe) {
          sqe.opcode = IORING_OP_NOP;
          sqe.user_data = mark_of_bell;
        },
        true);
    flush(host);  // [POLL-3]
  }

  // One request until its final completion, and again as [URI-3] says. fill(sqe) writes it; wait(operation, asked)
  // parks until the operation is done or, while nobody has asked yet, somebody wants its end, and says who.
  template <class Host, class Fill, class Wait>
  Final perform(Host& host, FdEntryOf<Task>& entry, bool owned, Fill&& fill, Wait&& wait) {
    for (;;) {
      Asked asked = Asked::no;
      const int result = run(host, entry, fill, wait, asked);
      const Ending ending = ending_of(result, asked, owned && entry.closing());
      if (ending != Ending::again) return {result, ending};
    }
  }

 private:
  static Ending ending_of(int result, Asked asked, bool closing) {
    if (result != -ECANCELED && result != -EINTR) return Ending::result;
    if (closing) return Ending::close;
    switch (asked) {
      case Asked::timeout:
        return Ending::timeout;
      case Asked::cancel:
        return Ending::cancel;
      case Asked::interrupt:
        return Ending::interrupt;
      case Asked::close:
        return Ending::close;
      case Asked::no:
        break;
    }
    return Ending::again;  // [URI-3]
  }

  template <class Host, class Fill, class Wait>
  int run(Host& host, FdEntryOf<Task>& entry, Fill& fill, Wait& wait, Asked& asked) {
    Operation operation(entry);
    push(
        host,
        [&](io_uring_sqe& sqe) {
          operation.mark = reinterpret_cast<std::uintptr_t>(&operation) | std::uint64_t{++next_mark_} << 48;
          fill(sqe);
          sqe.user_data = operation.mark;
        },
        false);
    for (;;) {
      const Asked why = wait(operation, asked);
      if (operation.is_done()) break;  // [URI-1]
      if (asked == Asked::no) asked = why;
      push(
          host,
          [&](io_uring_sqe& sqe) {
            sqe.opcode = IORING_OP_ASYNC_CANCEL;
            sqe.fd = -1;
            sqe.addr = operation.mark;
            sqe.user_data = mark_of_cancel;
          },
          true);
    }
    return operation.result;
  }

  template <class Host, class F>
  void push(Host& host, F&& fill, bool now) {
    for (unsigned refused = 0;;) {
      {
        const std::lock_guard guard(mutex_);
        io_uring_sqe* place = ring.next();
        if (place == nullptr) {
          (void)submit();
          place = ring.next();
        }
        if (place != nullptr) {
          fill(*place);
          ring.commit();
          if (now || ring.unsubmitted() >= gathered_enough) (void)submit();
          return;
        }
      }
      (void)relieve(host, refused);
    }
  }

  // Under the mutex. False: the kernel takes no more now, and may later.
  bool submit() {
    while (const unsigned count = ring.unsubmitted()) {
      const long n = ring.enter(count, 0, nullptr);
      if (n == -EINTR) continue;
      if (n <= 0) return n != -EAGAIN && n != -EBUSY && n != -ENOMEM;
    }
    return true;
  }
  bool try_submit() {
    const std::lock_guard guard(mutex_);
    return submit();
  }

  // The kernel takes no more before completions have been seen, or has no memory. True: it has seen them itself, for
  // nobody was inside.
  template <class Host>
  bool relieve(Host& host, unsigned& refused) {
    if (++refused > tries_awake) seam::sleep_ns(submit_again_ns);
    if (!host.role.try_pass()) {
      seam::yield_thread();
      return false;
    }
    typename Host::Woken woken;
    reap(every_one, [&](Task* task) { host.ready(task, woken); });
    const bool wanted = host.role.leave();
    host.hand_out(woken, wanted);
    return true;
  }

  seam::Mutex mutex_;            // of the submission ring
  std::uint16_t next_mark_ = 0;  // guarded by mutex_
};

struct UringRules {
  using Word = TaskWord;
  using Reason = WakeReason;
  using Outcome = Published;
  using Why = Asked;
  using End = Ending;
  template <class Task>
  using Entry = FdEntryOf<Task>;
  template <class Task>
  using Operation = OperationOf<Task>;
  template <class Task>
  using Wait = OperationWaitOf<Task>;
  template <class Task>
  using Claimed = ClaimedOf<Task>;
  template <class Ring, class Task>
  using Core = UringCoreOf<Ring, Task>;
};

}  // namespace weft::inline v0::detail
