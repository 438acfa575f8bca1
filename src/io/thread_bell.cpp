// SPDX-License-Identifier: MIT
// Relaxed: the bell's descriptor, once made, stays.
#include "io/thread_bell.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <mutex>

#include "base/sys.hpp"
#include "io/kernel.hpp"

namespace weft::inline v0::detail {
namespace {

seam::Mutex bell_mutex;
seam::Atomic<int> bell_fd{-1};

// -1 and less: there is none to be had; then a thread that waits is not told of a close.
int bell() {
  if (const int fd = bell_fd.load(std::memory_order_relaxed); fd >= 0) return fd;
  const std::lock_guard guard(bell_mutex);
  if (const int fd = bell_fd.load(std::memory_order_relaxed); fd >= 0) return fd;
  const long made = sys::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  if (!sys::is_error(made)) bell_fd.store(static_cast<int>(made), std::memory_order_relaxed);
  return static_cast<int>(made);
}

class Counted {
 public:
  explicit Counted(FdEntry& entry, bool owned) : entry_(entry), owned_(owned) {
    if (!owned) return;
    const std::lock_guard guard(entry_.lock);
    closed_ = entry_.closing();
    if (!closed_) ++entry_.threads;
  }
  ~Counted() {
    if (!owned_ || closed_) return;
    bool told = false;
    {
      const std::lock_guard guard(entry_.lock);
      told = entry_.threads == 0;  // by the closer, who took them all
      if (!told) --entry_.threads;
    }
    std::uint64_t token = 0;
    if (told && bell() >= 0) (void)sys::read(bell(), &token, sizeof token);  // [BELL-1] it is there, or on its way
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  bool closed() const { return closed_; }

 private:
  FdEntry& entry_;
  const bool owned_;
  bool closed_ = false;
};

}  // namespace

void ring_thread_bell(std::uint32_t threads) {
  const std::uint64_t tokens = threads;
  if (threads != 0 && bell() >= 0) (void)sys::write(bell(), &tokens, sizeof tokens);
}

long wait_on_thread(FdEntry& entry, int fd, bool owned, std::uint32_t want, std::int64_t deadline) {
  const int bell_now = bell();
  const Counted counted(entry, owned);
  if (counted.closed()) return -EBADF;
  for (;;) {
    pollfd fds[2] = {{fd, events_of(want), 0}, {bell_now, POLLIN, 0}};
    timespec span{};
    const timespec* limit = span_until(deadline, span);
    const long n = sys::ppoll(fds, bell_now >= 0 ? 2 : 1, limit);
    if (owned && entry.closing()) return -EBADF;
    if (sys::is_error(n)) {
      if (n == -EINTR) continue;
      return n;
    }
    if (fds[0].revents & POLLNVAL) return -EBADF;
    if (fds[0].revents != 0) return static_cast<long>(ready_of(fds[0].revents));
    if (n == 0 && deadline != seam::no_deadline && seam::monotonic_ns() >= deadline) return -ETIMEDOUT;
    if (n > 0) seam::yield_thread();  // somebody else's token
  }
}

}  // namespace weft::inline v0::detail
