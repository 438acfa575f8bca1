// SPDX-License-Identifier: MIT
// What: requests by completion. A task writes its request into the submission ring and parks; whoever finds nothing to
// run submits what has gathered, and whoever is inside the poller hands completions out.
//
// Invariants
//   [URI-1] An operation lies on its task's stack until its final completion: the task does not come back before.
//   [URI-2] A cancel, a deadline, an interrupt or a close only asks (ASYNC_CANCEL by the operation's mark, again every
//           10 ms); the final completion decides [ENG-1].
//   [URI-3] ECANCELED that nobody asked for means that the thread which submitted it has ended: it is submitted again.
//   [URI-4] A mark is an address and a number: a cancel that comes too late finds nobody.
//   [URI-5] What can be done at once is done by a call: only what has to wait goes through the ring.
//   [URI-6] What a worker has queued is submitted before it sleeps, and by sysmon if it is stuck. What the kernel has
//   no
//           room for now is tried again by who queued it, or within a millisecond by who sleeps in the poller.
// Relaxed: counts that are looked at again under the mutex or by the kernel.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <mutex>

#include "base/sys.hpp"
#include "fiber/tool_hooks.hpp"
#include "io/engine.hpp"
#include "io/kernel.hpp"
#include "io/kernel_ring.hpp"
#include "io/operation.hpp"
#include "io/uring_sizes.hpp"
#include "sched/dispatch.hpp"
#include "sched/park.hpp"
#include "sched/scope.hpp"
#include "weft/fiber.hpp"

namespace weft::inline v0::detail {

UringSizes uring_sizes;

namespace {

constexpr unsigned gathered_enough = 32;
constexpr std::int64_t ask_again_ns = 10'000'000;
constexpr std::int64_t submit_again_ns = 1'000'000;
constexpr std::uint64_t mark_of_cancel = 0;
constexpr std::uint64_t mark_of_bell = 1;
constexpr std::uint64_t address_mask = (std::uint64_t{1} << 48) - 1;

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
  bool interrupted() const { return interrupts_ && task_.interrupts.load(std::memory_order_relaxed) != 0; }
  const IoOp op_;
  const TaskCore& task_;
  const bool interrupts_;
};

class UringEngine final : public Engine {
 public:
  explicit UringEngine(RuntimeCore& runtime) : runtime_(runtime) {}
  long open() { return ring_.open(uring_sizes.entries, uring_sizes.completions); }

  bool wait(std::int64_t deadline) override;
  void interrupt() override;
  std::size_t reap(Chain& into) override;
  void flush() override {
    while (ring_.unsubmitted() != 0 && !try_submit()) relieve();
  }

  IoResult perform(const IoRequest& request, FdUse* use, std::int64_t deadline, Raise raise) override;
  const char* name() const override { return "uring"; }
  int descriptor() const override { return ring_.descriptor(); }
  std::uint64_t overflows() const override { return overflows_.load(std::memory_order_relaxed); }

 private:
  enum class Asked : std::uint8_t { no, timeout, cancel, interrupt, close };

  template <class F>
  void push(F&& fill, bool now);
  bool submit();
  bool try_submit() {
    const std::lock_guard guard(mutex_);
    return submit();
  }
  void relieve();
  int run(const IoRequest& request, bool polls, FdEntry& entry, std::int64_t deadline, Raise raise, Asked& asked);

  RuntimeCore& runtime_;
  KernelRing ring_;
  seam::Mutex mutex_;            // of the submission ring
  std::uint16_t next_mark_ = 0;  // guarded by mutex_
  seam::Atomic<std::uint64_t> overflows_{0};
};

// Under the mutex. False: the kernel takes no more now, and may later.
bool UringEngine::submit() {
  while (const unsigned count = ring_.unsubmitted()) {
    const long n = ring_.enter(count, 0, nullptr);
    if (n == -EINTR) continue;
    if (n <= 0) return n != -EAGAIN && n != -EBUSY && n != -ENOMEM;
  }
  return true;
}

// The kernel takes no more before completions have been seen, or has no memory.
void UringEngine::relieve() {
  if (!role.try_pass()) return seam::yield_thread();
  Chain woken;
  (void)reap(woken);
  (void)role.leave();
  while (const Entry entry = woken.pop_front()) inject(runtime_, entry);
}

template <class F>
void UringEngine::push(F&& fill, bool now) {
  for (;;) {
    {
      const std::lock_guard guard(mutex_);
      io_uring_sqe* place = ring_.next();
      if (place == nullptr) {
        (void)submit();
        place = ring_.next();
      }
      if (place != nullptr) {
        fill(*place);
        ring_.commit();
        if (now || ring_.unsubmitted() >= gathered_enough) (void)submit();
        return;
      }
    }
    relieve();
  }
}

bool UringEngine::wait(std::int64_t deadline) {
  const bool all = ring_.unsubmitted() == 0 || try_submit();
  if (ring_.peek() != nullptr) return true;
  timespec span{};
  const std::int64_t soon = all ? deadline : std::min(deadline, seam::monotonic_ns() + submit_again_ns);
  const timespec* limit = span_until(soon, span);
  const long n = ring_.enter(0, 1, limit);
  return n != -ETIME || soon != deadline;
}

void UringEngine::interrupt() {
  push(
      [](io_uring_sqe& sqe) {
        sqe.opcode = IORING_OP_NOP;
        sqe.user_data = mark_of_bell;
      },
      true);
  flush();  // [POLL-3]
}

std::size_t UringEngine::reap(Chain& into) {
  std::size_t ready = 0;
  if (ring_.overflows()) overflows_.fetch_add(1, std::memory_order_relaxed);
  if (ring_.peek() == nullptr && ring_.wants_entry()) (void)ring_.enter(0, 0, nullptr);
  while (const io_uring_cqe* completion = ring_.peek()) {
    const std::uint64_t mark = completion->user_data;
    const int result = completion->res;
    ring_.seen();
    if (mark == mark_of_cancel || mark == mark_of_bell) continue;
    auto* operation = reinterpret_cast<Operation*>(mark & address_mask);
    if (TaskCore* task = operation->complete(result)) ready += ready_into(runtime_, task, into);
  }
  return ready;
}

// What kernel.cpp does by a call.
void fill_request(io_uring_sqe& sqe, const IoRequest& r, msghdr& header) {
  const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  const auto length = [](std::size_t size) { return static_cast<unsigned>(std::min<std::size_t>(size, 1U << 30)); };
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
      const bool sends = r.op == IoOp::send;
      sqe.msg_flags = r.flags | (sends ? static_cast<unsigned>(MSG_NOSIGNAL) : 0U);
      if (r.slices == nullptr && r.address == nullptr) {
        sqe.opcode = sends ? IORING_OP_SEND : IORING_OP_RECV;
        sqe.addr = address(r.data);
        sqe.len = length(r.size);
        return;
      }
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

// One request, or a poll for what it has to wait for, until its final completion. `asked`: who wanted it to end.
int UringEngine::run(const IoRequest& request, bool polls, FdEntry& entry, std::int64_t deadline, Raise raise,
                     Asked& asked) {
  TaskCore& task = *task_here();
  Operation operation(entry);
  IoSlice one{request.data, request.size};
  msghdr header{};
  header.msg_name = request.address;
  header.msg_namelen = request.address != nullptr && request.address_size != nullptr ? *request.address_size : 0;
  header.msg_iov = reinterpret_cast<iovec*>(request.slices != nullptr ? const_cast<IoSlice*>(request.slices) : &one);
  header.msg_iovlen = request.slices != nullptr ? std::min<std::size_t>(request.count, 1024) : 1;
  push(
      [&](io_uring_sqe& sqe) {
        operation.mark = reinterpret_cast<std::uintptr_t>(&operation) | std::uint64_t{++next_mark_} << 48;
        if (polls) {
          sqe.opcode = IORING_OP_POLL_ADD;
          sqe.fd = request.fd;
          sqe.poll32_events = static_cast<unsigned>(static_cast<unsigned short>(events_of(wanted(request))));
        } else {
          fill_request(sqe, request, header);
          // It was tried, or has brought less than it could.
          if (hinted(request) && ring_.polls_first()) sqe.ioprio = IORING_RECVSEND_POLL_FIRST;
        }
        sqe.user_data = operation.mark;
      },
      false);
  const bool obeys = raise != Raise::no && (raise == Raise::quietly || !is_unwinding());
  for (;;) {
    const bool has_asked = asked != Asked::no;
    OperationWait wait(operation, request, task, has_asked, obeys && raise == Raise::yes);
    const WaitEnd end = park_on(wait, has_asked ? seam::monotonic_ns() + ask_again_ns : deadline,
                                has_asked || !obeys ? Raise::no : Raise::quietly);
    if (operation.is_done()) break;
    if (!has_asked) {
      asked = end == WaitEnd::timed_out               ? Asked::timeout
              : end == WaitEnd::cancelled             ? Asked::cancel
              : request.issue != 0 && entry.closing() ? Asked::close
                                                      : Asked::interrupt;
    }
    push(
        [&](io_uring_sqe& sqe) {
          sqe.opcode = IORING_OP_ASYNC_CANCEL;
          sqe.fd = -1;
          sqe.addr = operation.mark;
          sqe.user_data = mark_of_cancel;
        },
        true);
  }
  if (request.op == IoOp::recv && request.address != nullptr && !polls && operation.result >= 0)
    *request.address_size = header.msg_namelen;
  return operation.result;
}

IoResult UringEngine::perform(const IoRequest& request, FdUse* use, std::int64_t deadline, Raise raise) {
  if (!by_ring(request.op)) return perform_on_pool(request, raise);
  FdEntry nobodys;  // for what has no descriptor
  FdEntry& entry = use != nullptr ? **use : nobodys;
  const bool hints = use != nullptr && entry.kind == fd_stream && hinted(request);
  if (hints) {
    const std::uint32_t want = wanted(request);
    if (entry.ready.load(std::memory_order_relaxed) & want) {
      const long n = call_kernel(request);
      if (n != -EAGAIN && n != -EINTR) {
        if (n > 0 && static_cast<std::size_t>(n) < request.size) entry.unready(want);
        return IoResult(n);
      }
      entry.unready(want);
    }
  }
  if (raise == Raise::yes) offer_wait({to_string(request.op), &entry}, deadline);
  bool polls = request.op == IoOp::poll;
  bool connecting = false;
  for (;;) {
    Asked asked = Asked::no;
    int result = run(request, polls, entry, deadline, raise, asked);
    if (result == -ECANCELED || result == -EINTR) {
      if (request.issue != 0 && entry.closing()) return IoResult::failed(EBADF);
      switch (asked) {
        case Asked::timeout:
          return IoResult::failed(ETIMEDOUT);
        case Asked::cancel:
          if (raise == Raise::quietly) return IoResult::failed(ECANCELED);
          raise_if_cancelled(*task_here());
          break;
        case Asked::interrupt:
          checkpoint();
          break;
        case Asked::close:
          return IoResult::failed(EBADF);
        case Asked::no:
          break;
      }
      continue;  // [URI-3]
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
    if (result != -EAGAIN && result != -EINPROGRESS) {
      if (hints && result > 0 && static_cast<std::size_t>(result) == request.size)
        entry.ready.fetch_or(wanted(request), std::memory_order_relaxed);
      return IoResult(result);
    }
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
