// SPDX-License-Identifier: MIT
// Relaxed: set under the mutex before the thread starts, which publishes it.
#include "sched/dump_signal.hpp"

#include <csignal>
#include <mutex>

#include "base/sys.hpp"
#include "weft/detail/seam.hpp"
#include "weft/dump.hpp"

namespace weft::inline v0::detail {
namespace {

struct Desk {
  seam::Mutex mutex;
  unsigned users = 0;              // guarded by mutex
  seam::Thread writer;             // guarded by mutex
  struct sigaction previous = {};  // guarded by mutex
  seam::Atomic<std::uint32_t> bell{0};
  seam::Atomic<std::uint32_t> written{0};
  seam::Atomic<bool> closing{false};
};
Desk desk;

void on_quit(int) {
  desk.bell.fetch_add(1, std::memory_order_release);
  seam::futex_wake(desk.bell, 1);
}

void write_dumps(std::uint32_t heard) {
  for (;;) {
    const std::uint32_t now = desk.bell.load(std::memory_order_acquire);
    if (desk.closing.load(std::memory_order_acquire)) return;
    if (now == heard) {
      (void)seam::futex_wait(desk.bell, heard, seam::no_deadline);
      continue;
    }
    heard = now;
    sys::write_all(2, dump());
    desk.written.fetch_add(1, std::memory_order_release);
    seam::futex_wake(desk.written, 1);
  }
}

}  // namespace

DumpSignal::DumpSignal() {
  const std::lock_guard guard(desk.mutex);
  if (desk.users == 0) {
    desk.closing.store(false, std::memory_order_relaxed);
    const std::uint32_t heard = desk.bell.load(std::memory_order_relaxed);
    desk.writer = seam::Thread::start("weft-dump", [heard] { write_dumps(heard); });
    struct sigaction action = {};
    action.sa_handler = on_quit;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGQUIT, &action, &desk.previous);
  }
  ++desk.users;
}

DumpSignal::~DumpSignal() {
  const std::lock_guard guard(desk.mutex);
  if (--desk.users != 0) return;
  struct sigaction present = {};
  sigaction(SIGQUIT, nullptr, &present);
  if (present.sa_handler == on_quit) sigaction(SIGQUIT, &desk.previous, nullptr);
  desk.closing.store(true, std::memory_order_release);
  on_quit(0);
  desk.writer.join();
}

std::uint32_t signalled_dumps() {
  return desk.written.load(std::memory_order_acquire);
}

}  // namespace weft::inline v0::detail
