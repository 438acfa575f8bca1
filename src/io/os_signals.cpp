// SPDX-License-Identifier: MIT
// The handler writes the signal's number into the pipe of each watcher. It reads a table of descriptors that is changed
// under a mutex, with all watched signals' handlers possibly running: a descriptor is closed only after no handler can
// still hold it.
// Relaxed: the count of running handlers is ordered by the sequentially consistent fences around it.
#include "weft/os_signals.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <vector>

#include "base/sys.hpp"
#include "io/deadline.hpp"
#include "weft/pipe.hpp"
#include "weft/scope.hpp"

namespace weft::inline v0 {

using namespace detail;

namespace {

constexpr int signal_count = 65;
constexpr std::size_t most_watchers = 16;  // of one signal

struct Line {
  std::array<seam::Atomic<int>, most_watchers> pipes;  // descriptor + 1; 0: none
  unsigned watchers = 0;                               // guarded by desk_mutex
  struct sigaction before = {};                        // guarded by desk_mutex
};
Line lines[signal_count];
seam::Mutex desk_mutex;
seam::Atomic<std::uint32_t> handlers{0};  // running now

void on_signal(int number) {
  handlers.fetch_add(1, std::memory_order_seq_cst);
  const auto byte = static_cast<unsigned char>(number);
  for (seam::Atomic<int>& pipe : lines[number].pipes) {
    const int fd = pipe.load(std::memory_order_seq_cst) - 1;
    if (fd >= 0) (void)sys::write(fd, &byte, 1);  // full: enough are there
  }
  handlers.fetch_sub(1, std::memory_order_release);
}

// Under desk_mutex. False: too many, or a signal that cannot be caught.
bool add_watcher(int number, int fd) {
  Line& line = lines[number];
  for (seam::Atomic<int>& pipe : line.pipes) {
    if (pipe.load(std::memory_order_relaxed) != 0) continue;
    pipe.store(fd + 1, std::memory_order_seq_cst);
    if (line.watchers == 0) {
      struct sigaction action = {};
      action.sa_handler = on_signal;
      action.sa_flags = SA_RESTART | SA_ONSTACK;
      sigfillset(&action.sa_mask);
      if (sigaction(number, &action, &line.before) != 0) {
        pipe.store(0, std::memory_order_seq_cst);
        return false;
      }
    }
    ++line.watchers;
    return true;
  }
  return false;
}

// Under desk_mutex.
void remove_watcher(int number, int fd) {
  Line& line = lines[number];
  for (seam::Atomic<int>& pipe : line.pipes) {
    if (pipe.load(std::memory_order_relaxed) != fd + 1) continue;
    if (--line.watchers == 0) (void)sigaction(number, &line.before, nullptr);
    pipe.store(0, std::memory_order_seq_cst);
    return;
  }
}

}  // namespace

struct OsSignals::Watch {
  Pipe pipe = make_pipe();
  std::vector<int> numbers;

  ~Watch() {
    {
      const std::lock_guard guard(desk_mutex);
      for (const int number : numbers) remove_watcher(number, pipe.writer.fd());
    }
    while (handlers.load(std::memory_order_seq_cst) != 0) seam::yield_thread();  // they write a byte each
  }
};

OsSignals::OsSignals(std::initializer_list<int> numbers) : watch_(std::make_unique<Watch>()) {
  for (const int number : numbers) {
    const std::lock_guard guard(desk_mutex);
    if (number <= 0 || number >= signal_count || !add_watcher(number, watch_->pipe.writer.fd()))
      throw_os_error(EINVAL, "OsSignals");
    watch_->numbers.push_back(number);
  }
}

OsSignals::~OsSignals() = default;

int OsSignals::next_for(std::chrono::nanoseconds span) {
  return next_until(deadline_for(span));
}

int OsSignals::next_until(Deadline deadline) {
  unsigned char number = 0;
  (void)watch_->pipe.reader.read_until({&number, 1}, deadline);
  return number;
}

IoResult OsSignals::next_result(Deadline deadline) {
  unsigned char number = 0;
  const IoResult result = watch_->pipe.reader.read_result({&number, 1}, deadline);
  return result.ok() ? IoResult(number) : result;
}

namespace {

int make_counter() {
  const long fd = sys::invoke(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (sys::is_error(fd)) throw_os_error(sys::error_of(fd), "SignalBell");
  return static_cast<int>(fd);
}

}  // namespace

SignalBell::SignalBell() : counter_(make_counter(), false) {}

void SignalBell::notify_from_signal() const noexcept {
  static constexpr std::uint64_t one = 1;
  (void)sys::write(counter_.fd(), &one, sizeof one);
}

std::uint64_t SignalBell::wait_for(std::chrono::nanoseconds span) {
  return wait_until(deadline_for(span));
}

std::uint64_t SignalBell::wait_until(Deadline deadline) {
  std::uint64_t count = 0;
  (void)counter_.read_until({&count, sizeof count}, deadline);
  return count;
}

IoResult SignalBell::wait_result(Deadline deadline) {
  std::uint64_t count = 0;
  const IoResult result = counter_.read_result({&count, sizeof count}, deadline);
  return result.ok() ? IoResult(static_cast<long>(count)) : result;
}

}  // namespace weft::inline v0
