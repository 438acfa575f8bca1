// SPDX-License-Identifier: MIT
#include "sched/disturb.hpp"

#include <signal.h>
#include <sys/syscall.h>

#include "base/sys.hpp"

namespace weft::inline v0::detail {
namespace {

void ignore_it(int) {}

int pick_and_install() {
  for (int signal = SIGRTMAX; signal > SIGRTMIN; --signal) {
    struct sigaction action{};
    if (sigaction(signal, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) || action.sa_handler != SIG_DFL)
      continue;
    action.sa_handler = ignore_it;
    action.sa_flags = SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    if (sigaction(signal, &action, nullptr) != 0) continue;
    // Once to this thread, whom it does not harm: an emulator may take a handler for a signal that it cannot send.
    if (sys::invoke(SYS_tgkill, sys::getpid(), sys::gettid(), signal) == 0) return signal;
    action.sa_handler = SIG_DFL;
    (void)sigaction(signal, &action, nullptr);
  }
  return 0;
}

}  // namespace

int disturbing_signal() {
  static const int signal = pick_and_install();
  return signal;
}

}  // namespace weft::inline v0::detail
