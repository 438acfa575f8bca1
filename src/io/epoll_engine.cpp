// SPDX-License-Identifier: MIT
// What: requests by readiness. A descriptor is registered once, edge-triggered, when somebody has to wait for it for
// the first time; from then on its entry remembers what the kernel has said [FD-3]. So an exchange of short messages
// over TCP costs one call per transfer: a short read says that the next one would have to wait.
//
// Invariants
//   [EPO-1] What is not ready is taken back before the descriptor is registered or asked for again, never after: an
//           event that comes in between counts.
//   [EPO-2] A descriptor that is not ours (issue 0) is asked for anew at each wait: whoever owns it may have closed it
//           and opened another under its number.
//   [EPO-3] Who waits has been told EAGAIN, or has had a short read from TCP with nothing urgent about: that leaves
//           nothing behind which has made its edge. Other streams end a read early for reasons of their own (a Unix
//           message that carried descriptors, a terminal's line, an event that did not fit), and are asked again.
// Relaxed: which engine watches a descriptor is told by its own value; a registration too many does no harm.
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>

#include "base/sys.hpp"
#include "io/engine.hpp"
#include "io/kernel.hpp"
#include "weft/wait.hpp"

namespace weft::inline v0::detail {
namespace {

constexpr std::uint32_t watched = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;
constexpr std::uint64_t bell_mark = ~std::uint64_t{0};

seam::Atomic<std::uint64_t> next_engine{1};

class EpollEngine final : public Engine {
 public:
  EpollEngine(RuntimeCore& runtime, int epoll, int bell)
      : runtime_(runtime), epoll_(epoll), bell_(bell), id_(next_engine.fetch_add(1, std::memory_order_relaxed)) {}
  ~EpollEngine() override {
    (void)sys::close(bell_);
    (void)sys::close(epoll_);
  }

  bool wait(std::int64_t deadline) override;
  void interrupt() override {
    const std::uint64_t one = 1;
    (void)sys::write(bell_, &one, sizeof one);  // an edge each time; nobody needs to read it
  }
  std::size_t reap(Chain& into) override;

  IoResult perform(const IoRequest& request, FdUse* use, std::int64_t deadline, Raise raise) override;
  const char* name() const override { return "epoll"; }
  int descriptor() const override { return epoll_; }

 private:
  long watch(FdEntry& entry, int fd, bool owned);
  long attempt(const IoRequest& request, FdEntry& entry, std::uint32_t seen, bool owned, std::uint32_t want,
               bool& connecting);
  IoResult wait_ready(const IoRequest& request, FdEntry& entry, std::uint32_t want, std::int64_t deadline, Raise raise);

  RuntimeCore& runtime_;
  const int epoll_;
  const int bell_;
  const std::uint64_t id_;
  bool coarse_ = false;  // no epoll_pwait2
  // By who is inside.
  std::array<epoll_event, most_at_once> events_;
  std::size_t count_ = 0;
};

bool EpollEngine::wait(std::int64_t deadline) {
  timespec span{};
  const timespec* limit = span_until(deadline, span);
  long n = -ENOSYS;
  if (!coarse_) n = sys::epoll_wait_for(epoll_, events_.data(), static_cast<int>(events_.size()), limit);
  if (n == -ENOSYS || n == -EPERM) {
    coarse_ = true;
    const std::int64_t ms =
        limit == nullptr
            ? -1
            : std::min<std::int64_t>(std::int64_t{span.tv_sec} * 1000 + (span.tv_nsec + 999'999) / 1'000'000, 60'000);
    n = sys::epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()), static_cast<int>(ms));
  }
  if (sys::is_error(n)) return true;
  count_ = static_cast<std::size_t>(n);
  return n != 0 || deadline == seam::no_deadline || seam::monotonic_ns() < deadline;
}

std::size_t EpollEngine::reap(Chain& into) {
  if (count_ == 0) {
    const long n = sys::epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()), 0);
    if (n <= 0) return 0;
    count_ = static_cast<std::size_t>(n);
  }
  std::size_t ready = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uint64_t mark = events_[i].data.u64;
    if (mark == bell_mark) continue;
    FdEntry* entry = fd_entry(static_cast<int>(static_cast<std::uint32_t>(mark)));
    if (entry == nullptr || entry->issue() != mark >> 32) continue;  // [FD-2]
    ClaimedOf<TaskCore> claimed;
    entry->heard(ready_of_epoll(events_[i].events), claimed);
    claimed.deliver([&](TaskCore* task) { ready += ready_into(runtime_, task, into); });
  }
  count_ = 0;
  return ready;
}

long EpollEngine::watch(FdEntry& entry, int fd, bool owned) {
  if (owned && entry.engine.load(std::memory_order_relaxed) == id_) return 0;
  epoll_event event{};
  event.events = watched;
  event.data.u64 = std::uint64_t{entry.issue()} << 32 | static_cast<std::uint32_t>(fd);
  // What is ours is new here, most likely; what is not may be watched already.
  long n = sys::epoll_ctl(epoll_, owned ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
  if (n == -EEXIST) n = sys::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
  if (n == -ENOENT) n = sys::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  if (n == 0 && owned) entry.engine.store(id_, std::memory_order_relaxed);
  return n;
}

// -EAGAIN: it has to wait for `want`.
long EpollEngine::attempt(const IoRequest& request, FdEntry& entry, std::uint32_t seen, bool owned, std::uint32_t want,
                          bool& connecting) {
  // Who owns it may have left it blocking.
  if (!owned && (request.op == IoOp::read || request.op == IoOp::write)) {
    const long now = ready_now(request.fd, want);
    if (now < 0) return now;
  }
  long n = 0;
  do {
    n = connecting ? connect_outcome(request.fd) : call_kernel(request);
  } while (n == -EINTR || is_lost_client(request.op, n));
  if (n == -EINPROGRESS) {
    connecting = true;
    entry.unready(io_writable);  // it was to be tried: nobody has heard anything of this connection yet
    return -EAGAIN;
  }
  if (n == -EAGAIN) {
    entry.unready(seen, want | io_hung_up);
  } else if (n > 0 && owned && entry.kind == fd_tcp && request.op == IoOp::recv && request.flags == 0 &&
             request.slices == nullptr && static_cast<std::size_t>(n) < request.size && (seen & io_hung_up) == 0) {
    entry.unready(seen, want);  // [EPO-3]
  }
  return n;
}

IoResult EpollEngine::wait_ready(const IoRequest& request, FdEntry& entry, std::uint32_t want, std::int64_t deadline,
                                 Raise raise) {
  FdWait wait(entry, request, want);
  switch (park_on(wait, deadline, raise)) {
    case WaitEnd::done:
      return IoResult();
    case WaitEnd::timed_out:
      return IoResult::failed(ETIMEDOUT);
    case WaitEnd::cancelled:
      return IoResult::failed(ECANCELED);
  }
  return IoResult();
}

IoResult EpollEngine::perform(const IoRequest& request, FdUse* use, std::int64_t deadline, Raise raise) {
  const IoWay way = way_of(request.op);
  if (way == IoWay::file) return perform_on_pool(request, raise);
  FdEntry& entry = **use;
  const bool owned = use->owned();
  const std::uint32_t want = request.op == IoOp::poll ? request.flags
                             : way == IoWay::readable ? io_readable
                                                      : io_writable;
  bool connecting = false;
  for (;;) {
    const std::uint32_t seen = entry.ready.load(std::memory_order_acquire);
    const bool waits = owned && (seen & want) == 0;
    const long n = waits ? -EAGAIN : attempt(request, entry, seen, owned, want, connecting);
    if (n != -EAGAIN) return IoResult(n);
    if (owned && entry.closing()) return IoResult::failed(EBADF);
    if (request.op == IoOp::connect && !connecting) {
      // A Unix listener whose queue is full: nothing tells when it is not.
      const std::int64_t soon = seam::monotonic_ns() + 1'000'000;
      const IoResult end = wait_ready(request, entry, io_hung_up, std::min(soon, deadline), raise);
      if (!end.ok() && (end.os_error() != ETIMEDOUT || soon >= deadline)) return end;
      entry.ready.fetch_or(io_writable, std::memory_order_relaxed);
      continue;
    }
    if (!owned) entry.unready(want);  // [EPO-1] [EPO-2]
    if (const long refused = watch(entry, request.fd, owned); refused != 0) {
      if (refused == -EPERM) return perform_on_pool(request, raise);  // a file: always ready, and it may take its time
      return IoResult(refused);
    }
    const IoResult end = wait_ready(request, entry, want, deadline, raise);
    if (!end.ok()) return end;
  }
}

}  // namespace

std::unique_ptr<Engine> make_epoll_engine(RuntimeCore& runtime, long& error) {
  error = sys::epoll_create(EPOLL_CLOEXEC);
  if (sys::is_error(error)) return nullptr;
  const int epoll = static_cast<int>(error);
  error = sys::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (sys::is_error(error)) {
    (void)sys::close(epoll);
    return nullptr;
  }
  const int bell = static_cast<int>(error);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = bell_mark;
  error = sys::epoll_ctl(epoll, EPOLL_CTL_ADD, bell, &event);
  if (sys::is_error(error)) {
    (void)sys::close(bell);
    (void)sys::close(epoll);
    return nullptr;
  }
  return std::make_unique<EpollEngine>(runtime, epoll, bell);
}

}  // namespace weft::inline v0::detail
