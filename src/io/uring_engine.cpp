// SPDX-License-Identifier: MIT
// What: requests by completion. A task writes its request into the submission ring and parks; whoever finds nothing to
// run submits what has gathered, and whoever is inside the poller hands completions out.
//
// Invariants: [URI-1] to [URI-7] but for the following are the protocol's (io/uring_core.hpp).
//   [URI-5] What can be done at once is done by a call: only what has to wait goes through the ring; and what is sent
//           while others are about to run: it goes to the kernel with theirs, or with the next that is sent after
//           gathering_ns.
// Relaxed: counts that are looked at again under the mutex or by the kernel.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>

#include "base/sys.hpp"
#include "fiber/chain.hpp"
#include "fiber/tool_hooks.hpp"
#include "io/engine.hpp"
#include "io/kernel.hpp"
#include "io/kernel_ring.hpp"
#include "io/uring_core.hpp"
#include "io/uring_sizes.hpp"
#include "sched/dispatch.hpp"
#include "sched/idle_set.hpp"
#include "sched/park.hpp"
#include "sched/scope.hpp"
#include "sched/worker.hpp"
#include "weft/fiber.hpp"

namespace weft::inline v0::detail {

UringSizes uring_sizes;

namespace {

using Operation = OperationOf<TaskCore>;

// With what the real task has beyond the protocol: an interrupt is a reason to ask for the end, too.
class OperationWait : public OperationWaitOf<TaskCore> {
 public:
  OperationWait(Operation& operation, const IoRequest& request, const TaskCore& task, bool asked, bool raises)
      : OperationWaitOf<TaskCore>(operation, request.issue != 0, asked),
        op_(request.op),
        task_(task),
        interrupts_(raises && !asked) {}
  WaitInfo info() const {
    WaitInfo info{to_string(op_), &entry_};
    info.outside = true;
    return info;
  }
  bool try_complete() { return interrupted() || OperationWaitOf<TaskCore>::try_complete(); }
  Published publish(TaskCore& me) { return interrupted() ? Published::done : OperationWaitOf<TaskCore>::publish(me); }

 private:
  // One that would not be raised would only make it ask again and again.
  bool interrupted() const {
    return interrupts_ && task_.interrupts.load(std::memory_order_relaxed) != 0 && may_be_interrupted(current_core());
  }
  const IoOp op_;
  const TaskCore& task_;
  const bool interrupts_;
};

class UringEngine final : public Engine {
 public:
  explicit UringEngine(RuntimeCore& runtime) : runtime_(runtime) {}
  long open() { return core_.ring.open(uring_sizes.entries, uring_sizes.completions); }

  bool wait(std::int64_t deadline) override {
    timespec span{};
    return core_.wait(deadline, [&](std::int64_t until) { return span_until(until, span); });
  }
  void interrupt() override { core_.ring_bell(*this); }
  std::size_t reap(Chain& into) override {
    std::size_t count = 0;
    core_.reap(most_at_once, [&](TaskCore* task) { count += ready_into(runtime_, task, into); });
    return count;
  }
  void flush() override { core_.flush(*this); }

  IoResult perform(const IoRequest& request, FdUse* use, std::int64_t deadline, Raise raise) override;
  const char* name() const override { return "uring"; }
  int descriptor() const override { return core_.ring.descriptor(); }
  std::uint64_t overflows() const override { return core_.overflows.load(std::memory_order_relaxed); }

  // As a host of the protocol.
  using Woken = Chain;
  void ready(TaskCore* task, Chain& woken) { (void)ready_into(runtime_, task, woken); }
  // By any thread: who wanted in may sleep now, and this one may not come by again [POLL-2].
  void hand_out(Chain& woken, bool wanted) {
    while (const Entry entry = woken.pop_front()) inject(runtime_, entry);
    if (!wanted) return;
    if (IdleNode* node = runtime_.idle.wake_one(true)) IdleSet::notify(*node);
  }

 private:
  using Core = UringCoreOf<KernelRing, TaskCore>;

  template <class Fill>
  Core::Final run(const IoRequest& request, FdEntry& entry, std::int64_t deadline, Raise raise, Fill&& fill);
  Core::Final run_any(const IoRequest& request, bool polls, FdEntry& entry, std::int64_t deadline, Raise raise);
  IoResult transfer(const IoRequest& request, FdEntry& entry, std::int64_t deadline, Raise raise);
  IoResult perform_any(const IoRequest& request, FdEntry& entry, std::int64_t deadline, Raise raise, bool polls);
  // Somebody else is about to run here, or something to be submitted. (Who is in the shared queue runs after a look,
  // which submits: that is no company.)
  bool in_company() const {
    return !static_cast<const Worker&>(*this_worker()).ready.empty() || core_.ring.unsubmitted() != 0;
  }
  // About to be sent in company. What others have sent does not wait until many who compute for long have sent, too.
  void gather() {
    const std::int64_t now = seam::monotonic_ns();
    if (core_.ring.unsubmitted() != 0) {
      if (now - gathered_since_.load(std::memory_order_relaxed) < uring_sizes.gathering_ns) return;
      core_.flush(*this);
    }
    gathered_since_.store(now, std::memory_order_relaxed);
  }

  RuntimeCore& runtime_;
  Core core_;
  seam::Atomic<std::int64_t> gathered_since_{0};  // a hint
};

std::uint64_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
unsigned length(std::size_t size) {
  return static_cast<unsigned>(std::min<std::size_t>(size, uring_sizes.bytes));
}

// A receive or a send of one piece, to whom the socket is connected.
void fill_transfer(io_uring_sqe& sqe, const IoRequest& r) {
  const bool sends = r.op == IoOp::send;
  sqe.opcode = sends ? IORING_OP_SEND : IORING_OP_RECV;
  sqe.fd = r.fd;
  sqe.addr = address(r.data);
  sqe.len = length(r.size);
  sqe.msg_flags = r.flags | (sends ? static_cast<unsigned>(MSG_NOSIGNAL) : 0U);
}

// What kernel.cpp does by a call.
void fill_request(io_uring_sqe& sqe, const IoRequest& r, msghdr& header) {
  sqe.fd = r.fd;
  switch (r.op) {
    case IoOp::read:
    case IoOp::write:
    case IoOp::read_at:
    case IoOp::write_at: {
      const bool reads = r.op == IoOp::read || r.op == IoOp::read_at;
      const bool at = r.op == IoOp::read_at || r.op == IoOp::write_at;
      sqe.off = at ? static_cast<std::uint64_t>(r.offset) : ~std::uint64_t{0};
      if (r.slices == nullptr) {
        sqe.opcode = reads ? IORING_OP_READ : IORING_OP_WRITE;
        sqe.addr = address(r.data);
        sqe.len = length(r.size);
      } else {
        sqe.opcode = reads ? IORING_OP_READV : IORING_OP_WRITEV;
        sqe.addr = address(r.slices);
        sqe.len = length(std::min<std::size_t>(r.count, 1024));
      }
      return;
    }
    case IoOp::recv:
    case IoOp::send: {
      if (r.slices == nullptr && r.address == nullptr) return fill_transfer(sqe, r);
      const bool sends = r.op == IoOp::send;
      sqe.msg_flags = r.flags | (sends ? static_cast<unsigned>(MSG_NOSIGNAL) : 0U);
      sqe.opcode = sends ? IORING_OP_SENDMSG : IORING_OP_RECVMSG;
      sqe.addr = address(&header);
      sqe.len = 1;
      return;
    }
    case IoOp::accept:
      sqe.opcode = IORING_OP_ACCEPT;
      sqe.addr = address(r.address);
      sqe.addr2 = address(r.address_size);
      sqe.accept_flags = r.flags | SOCK_CLOEXEC;
      return;
    case IoOp::connect:
      sqe.opcode = IORING_OP_CONNECT;
      sqe.addr = address(r.address);
      sqe.off = *r.address_size;
      return;
    case IoOp::open:
      sqe.opcode = IORING_OP_OPENAT;
      sqe.fd = AT_FDCWD;
      sqe.addr = address(r.path);
      sqe.len = r.mode;
      sqe.open_flags = r.flags | O_CLOEXEC;
      return;
    case IoOp::sync:
      sqe.opcode = IORING_OP_FSYNC;
      sqe.fsync_flags = r.flags & 1 ? IORING_FSYNC_DATASYNC : 0;
      return;
    default:  // of polls, and what a ring does not do
      sqe.opcode = IORING_OP_NOP;
  }
}

bool by_ring(IoOp op) {
  switch (op) {
    case IoOp::read:
    case IoOp::write:
    case IoOp::read_at:
    case IoOp::write_at:
    case IoOp::recv:
    case IoOp::send:
    case IoOp::accept:
    case IoOp::connect:
    case IoOp::open:
    case IoOp::sync:
    case IoOp::poll:
      return true;
    default:
      return false;
  }
}

std::uint32_t wanted(const IoRequest& request) {
  if (request.op == IoOp::poll) return request.flags;
  return way_of(request.op) == IoWay::readable ? io_readable : io_writable;
}

// A stream of ours, whose entry remembers whether the next transfer would have to wait [FD-3].
bool hinted(const IoRequest& request) {
  return request.issue != 0 && (request.op == IoOp::recv || request.op == IoOp::send) && request.slices == nullptr &&
         request.address == nullptr;
}

// One request until its final completion.
template <class Fill>
[[gnu::always_inline]] inline UringEngine::Core::Final UringEngine::run(const IoRequest& request, FdEntry& entry,
                                                                        std::int64_t deadline, Raise raise,
                                                                        Fill&& fill) {
  TaskCore& task = *task_here();
  const bool obeys = raise != Raise::no && (raise == Raise::quietly || !is_unwinding());
  const auto park = [&](Operation& operation, Asked asked) {
    const bool has_asked = asked != Asked::no;
    OperationWait wait(operation, request, task, has_asked, obeys && raise == Raise::yes);
    const WaitEnd end = park_on(wait, has_asked ? seam::monotonic_ns() + Core::ask_again_ns : deadline,
                                has_asked || !obeys ? Raise::no : Raise::quietly);
    return end == WaitEnd::timed_out               ? Asked::timeout
           : end == WaitEnd::cancelled             ? Asked::cancel
           : request.issue != 0 && entry.closing() ? Asked::close
                                                   : Asked::interrupt;
  };
  return core_.perform(*this, entry, request.issue != 0, fill, park);
}

// Any request, or a poll for what it has to wait for.
[[gnu::noinline]] UringEngine::Core::Final UringEngine::run_any(const IoRequest& request, bool polls, FdEntry& entry,
                                                                std::int64_t deadline, Raise raise) {
  IoSlice one{request.data, request.size};
  msghdr header{};
  header.msg_name = request.address;
  header.msg_namelen = request.address != nullptr && request.address_size != nullptr ? *request.address_size : 0;
  header.msg_iov = reinterpret_cast<iovec*>(request.slices != nullptr ? const_cast<IoSlice*>(request.slices) : &one);
  header.msg_iovlen = request.slices != nullptr ? std::min<std::size_t>(request.count, 1024) : 1;
  const Core::Final final = run(request, entry, deadline, raise, [&](io_uring_sqe& sqe) {
    if (!polls) return fill_request(sqe, request, header);
    sqe.opcode = IORING_OP_POLL_ADD;
    sqe.fd = request.fd;
    sqe.poll32_events = static_cast<unsigned>(static_cast<unsigned short>(events_of(wanted(request))));
  });
  if (request.op == IoOp::recv && request.address != nullptr && !polls && final.result >= 0)
    *request.address_size = header.msg_namelen;
  return final;
}

// What becomes of the wait for a request. True: `out`; false: it is to be made again, or has a result to be looked at.
bool is_over(Ending ending, Raise raise, IoResult& out) {
  switch (ending) {
    case Ending::close:
      out = IoResult::failed(EBADF);
      return true;
    case Ending::timeout:
      out = IoResult::failed(ETIMEDOUT);
      return true;
    case Ending::cancel:
      out = IoResult::failed(ECANCELED);
      if (raise != Raise::quietly) raise_if_cancelled(*task_here());
      return raise == Raise::quietly;
    case Ending::interrupt:
      checkpoint();
      return false;
    case Ending::again:
    case Ending::result:
      break;
  }
  return false;
}

IoResult UringEngine::perform(const IoRequest& request, FdUse* use, std::int64_t deadline, Raise raise) {
  if (!by_ring(request.op)) return perform_on_pool(request, raise);
  if (use != nullptr && (*use)->kind != fd_plain && hinted(request)) [[likely]]
    return transfer(request, **use, deadline, raise);
  if (raise == Raise::yes) offer_wait({to_string(request.op), use != nullptr ? &**use : nullptr}, deadline);
  if (use != nullptr) return perform_any(request, **use, deadline, raise, request.op == IoOp::poll);
  FdEntry nobodys;  // for what has no descriptor
  return perform_any(request, nobodys, deadline, raise, false);
}

// The way of nearly all: what its frame needs, every task that waits here keeps in the cache, or fetches again.
[[gnu::noinline]] IoResult UringEngine::transfer(const IoRequest& request, FdEntry& entry, std::int64_t deadline,
                                                 Raise raise) {
  const std::uint32_t want = wanted(request);
  if ((entry.ready.load(std::memory_order_relaxed) & want) != 0) {
    if (request.op == IoOp::send && in_company()) {
      gather();
    } else {
      const long n = call_kernel(request);
      if (n != -EAGAIN && n != -EINTR) {
        if (n > 0 && static_cast<std::size_t>(n) < request.size) entry.unready(want);
        return IoResult(n);
      }
      entry.unready(want);
    }
  }
  if (raise == Raise::yes) offer_wait({to_string(request.op), &entry}, deadline);
  for (;;) {
    const Core::Final final = run(request, entry, deadline, raise, [&](io_uring_sqe& sqe) {
      fill_transfer(sqe, request);
      // It was tried, or has brought less than it could.
      if (core_.ring.polls_first() && (entry.ready.load(std::memory_order_relaxed) & want) == 0)
        sqe.ioprio = IORING_RECVSEND_POLL_FIRST;
    });
    if (final.ending != Ending::result) {
      IoResult out;
      if (is_over(final.ending, raise, out)) return out;
      continue;
    }
    // A non-blocking descriptor: the ring does not wait for it by itself.
    if (final.result == -EAGAIN) return perform_any(request, entry, deadline, raise, true);
    const bool whole = final.result > 0 && static_cast<std::size_t>(final.result) == request.size;
    if (whole != ((entry.ready.load(std::memory_order_relaxed) & want) != 0))
      whole ? (void)entry.ready.fetch_or(want, std::memory_order_relaxed) : entry.unready(want);
    return IoResult(final.result);
  }
}

[[gnu::noinline]] IoResult UringEngine::perform_any(const IoRequest& request, FdEntry& entry, std::int64_t deadline,
                                                    Raise raise, bool polls) {
  bool connecting = false;
  for (;;) {
    const Core::Final final = run_any(request, polls, entry, deadline, raise);
    int result = final.result;
    if (final.ending != Ending::result) {
      IoResult out;
      if (is_over(final.ending, raise, out)) return out;
      continue;
    }
    if (is_lost_client(request.op, result)) continue;
    if (request.op == IoOp::poll) {
      if (result < 0) return IoResult(result);
      if (result & POLLNVAL) return IoResult::failed(EBADF);
      return IoResult(static_cast<long>(ready_of(static_cast<short>(result))));
    }
    if (polls) {
      if (result < 0) return IoResult(result);
      polls = false;
      if (!connecting) continue;
      result = static_cast<int>(connect_outcome(request.fd));
      if (result != -EINPROGRESS && result != -EAGAIN) return IoResult(result);
    }
    if (result == -EINPROGRESS) connecting = true;
    if (result != -EAGAIN && result != -EINPROGRESS) return IoResult(result);
    if (request.op == IoOp::connect && !connecting) {
      // A Unix listener whose queue is full: nothing tells when it is not.
      const std::int64_t soon = seam::monotonic_ns() + 1'000'000;
      if (soon >= deadline) return IoResult::failed(ETIMEDOUT);
      IoRequest pause = request;
      FdWait wait(entry, pause, io_hung_up);
      if (park_on(wait, soon, raise, true) == WaitEnd::cancelled) return IoResult::failed(ECANCELED);
      if (request.issue != 0 && entry.closing()) return IoResult::failed(EBADF);
      continue;
    }
    polls = true;  // a non-blocking descriptor: the ring does not wait for it by itself
  }
}

}  // namespace

std::unique_ptr<Engine> make_uring_engine(RuntimeCore& runtime, long& error) {
  // It lets no other thread run while one waits for a ring, and takes what a ring has read for uninitialised.
  if (on_valgrind()) {
    error = -ENOSYS;
    return nullptr;
  }
  auto engine = std::make_unique<UringEngine>(runtime);
  error = engine->open();
  if (error != 0) return nullptr;
  return engine;
}

}  // namespace weft::inline v0::detail
