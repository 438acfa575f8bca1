// SPDX-License-Identifier: MIT
#include "sched/disturb.hpp"

#include <signal.h>

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
    if (sigaction(signal, &action, nullptr) == 0) return signal;
  }
  return 0;
}

}  // namespace

int disturbing_signal() {
  static const int signal = pick_and_install();
  return signal;
}

}  // namespace weft::inline v0::detail
