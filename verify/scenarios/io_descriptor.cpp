// SPDX-License-Identifier: MIT
// Readiness that comes, is used up and comes again; a close while others use the descriptor; an operation in the kernel
// whose task is asked to leave [FD-1..4] [OPER-1..3] [B37]. The protocol around such an operation is in uring.cpp.
#include <cstring>
#include <memory>

#include "explorer/registry.hpp"
#include "io/fd_entry.hpp"
#include "io/operation.hpp"
#include "mutants.hpp"
#include "waiter.hpp"

namespace weft::inline v0::verify {
namespace {

namespace mutants = detail::mutants;
using Real = detail::FdRules;
using RealOperation = detail::OperationRules;
using Word = seam::Atomic<int>;

template <class Rules>
using TaskOf = Waiter<Rules>;
template <class Rules>
using EntryOf = typename Rules::template Entry<TaskOf<Rules>>;
template <class Rules>
using WaitOf = typename Rules::template Wait<TaskOf<Rules>>;
template <class Rules>
using ClaimedBy = typename Rules::template Claimed<TaskOf<Rules>>;

template <class Rules>
void deliver(ClaimedBy<Rules>& claimed) {
  claimed.deliver([](TaskOf<Rules>* task) { task->deliver(); });
}

// Two bytes, each with an event after it. Who has read all there was, or nothing, waits for the next event.
template <class Rules>
void two_bytes(World& world) {
  auto& entry = world.make<EntryOf<Rules>>("entry");
  auto& task = world.make<TaskOf<Rules>>("task");
  auto& bytes = world.make<Word>("bytes", 0);
  (void)entry.adopt();
  world.thread("kernel", [&] {
    for (int i = 0; i < 2; ++i) {
      bytes.fetch_add(1, std::memory_order_release);
      ClaimedBy<Rules> claimed;
      entry.heard(io_readable, claimed);
      deliver<Rules>(claimed);
    }
  });
  world.thread("reader", [&] {
    for (int got = 0; got < 2;) {
      const std::uint32_t seen = entry.ready.load(std::memory_order_acquire);
      if (seen & io_readable) {
        got += bytes.exchange(0, std::memory_order_acquire);
        entry.unready(seen, io_readable);
        continue;
      }
      WaitOf<Rules> wait(entry, true, io_readable);
      check(task.wait(wait), "nobody asked it to stop");
    }
  });
}

// One waits, another comes and goes, a third closes: the number has its next owner only when all are out.
template <class Rules>
void closed(World& world) {
  auto& entry = world.make<EntryOf<Rules>>("entry");
  auto& task = world.make<TaskOf<Rules>>("task");
  auto& owner = world.make<Word>("owner", 1);
  const std::uint32_t issue = entry.adopt();
  entry.unready(io_readable | io_writable);
  const auto leave = [&] {
    if (!entry.leave()) return;
    check(owner.exchange(0, std::memory_order_acq_rel) == 1, "closed twice");
    (void)entry.adopt();
    owner.store(2, std::memory_order_release);
  };
  world.thread("waiter", [&, issue, leave] {
    if (!entry.enter(issue)) return;
    WaitOf<Rules> wait(entry, true, io_readable);
    check(task.wait(wait), "nobody asked it to stop");
    check(owner.load(std::memory_order_acquire) == 1, "it met the next owner");
    leave();
  });
  world.thread("user", [&, issue, leave] {
    if (!entry.enter(issue)) return;
    check(owner.load(std::memory_order_acquire) == 1, "it met the next owner");
    leave();
  });
  world.thread("closer", [&, issue, leave] {
    check(entry.enter(issue), "nobody else closes");
    ClaimedBy<Rules> claimed;
    std::uint32_t threads = 0;
    check(entry.begin_close(claimed, threads), "nobody else closes");
    deliver<Rules>(claimed);
    leave();
  });
  world.finally([&] { check(owner.load(std::memory_order_relaxed) == 2, "never closed"); });
}

enum class Ends { any, only_if_asked };  // the kernel completes it when it likes, or hangs until the cancel
enum class By { cancel, close };

// The frame is gone when the task has come back: whoever writes there then is found.
template <class Rules, Ends ends, By by>
void in_kernel(World& world) {
  using Operation = typename Rules::template Operation<TaskOf<Rules>>;
  auto& entry = world.make<EntryOf<Rules>>("entry");
  auto& task = world.make<TaskOf<Rules>>("task");
  auto& operation = world.make<Operation>("operation", entry);
  auto& asked = world.make<Word>("asked", 0);
  auto& gone = world.make<Word>("gone", 0);
  const std::uint32_t issue = entry.adopt();
  world.thread("task", [&, issue] {
    if (entry.enter(issue)) {
      bool has_asked = false;
      for (;;) {
        WaitOf<Rules> wait(operation, true, has_asked);
        (void)task.wait(wait);
        if (operation.is_done()) break;
        has_asked = true;  // and waits again, whatever woke it
        task.stop.store(0, std::memory_order_relaxed);
        asked.store(1, std::memory_order_release);
      }
      (void)entry.leave();
    } else {
      while (!operation.is_done()) seam::pause();
    }
    gone.store(1, std::memory_order_release);
    std::destroy_at(&operation);
    std::memset(static_cast<void*>(&operation), 0xff, sizeof operation);
  });
  world.thread("kernel", [&] {
    if (ends == Ends::only_if_asked)
      while (asked.load(std::memory_order_acquire) == 0) seam::pause();
    check(gone.load(std::memory_order_acquire) == 0, "completed into a frame that is gone");
    if (TaskOf<Rules>* waiting = operation.complete(asked.load(std::memory_order_acquire) ? -125 : 1))
      waiting->deliver();
  });
  if (by == By::cancel) {
    world.thread("canceller", [&] { task.cancel(); });
  } else {
    world.thread("closer", [&, issue] {
      if (!entry.enter(issue)) return;
      ClaimedBy<Rules> claimed;
      std::uint32_t threads = 0;
      check(entry.begin_close(claimed, threads), "nobody else closes");
      deliver<Rules>(claimed);
      (void)entry.leave();
    });
  }
  world.finally([&] {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&operation);
    for (std::size_t i = 0; i < sizeof operation; ++i)
      check(bytes[i] == 0xff, "somebody wrote into a frame that is gone");
  });
}

const Register a{{.name = "descriptor: two bytes, and readiness that is used up", .run = two_bytes<Real>}};
const Register b{{.name = "descriptor: two bytes, store buffers", .run = two_bytes<Real>, .delays = 1}};
const Register c{{.name = "descriptor: closed while others use it and wait [B37]", .run = closed<Real>}};
const Register d{
    {.name = "operation: a completion against a cancel [B14]", .run = in_kernel<RealOperation, Ends::any, By::cancel>}};
const Register e{
    {.name = "operation: a close against a completion", .run = in_kernel<RealOperation, Ends::any, By::close>}};
const Register f{{.name = "operation: it ends only when it is asked to",
                  .run = in_kernel<RealOperation, Ends::only_if_asked, By::cancel>}};

const Register m1{{.name = "mutant: descriptor, EAGAIN takes back what came since",
                   .run = two_bytes<mutants::fd_unready_blind::Kit::FdRules>,
                   .fails = Verdict::deadlock}};
const Register m2{{.name = "mutant: descriptor, a waiter does not look again",
                   .run = two_bytes<mutants::fd_links_blind::Kit::FdRules>,
                   .fails = Verdict::deadlock}};
const Register m3{{.name = "mutant: descriptor, the first to leave closes it",
                   .run = closed<mutants::fd_first_closes::Kit::FdRules>,
                   .fails = Verdict::assertion}};
const Register m4{{.name = "mutant: descriptor, a close wakes nobody",
                   .run = closed<mutants::fd_closes_quietly::Kit::FdRules>,
                   .fails = Verdict::deadlock}};
const Register m5{{.name = "mutant: operation, completed without the lock",
                   .run = in_kernel<mutants::operation_unlocked::Kit::OperationRules, Ends::any, By::cancel>,
                   .fails = Verdict::deadlock}};

}  // namespace
}  // namespace weft::inline v0::verify
