// SPDX-License-Identifier: MIT
// Relaxed: set while the process has one thread.
#include "sched/fork.hpp"

#include <pthread.h>
#include <sys/syscall.h>

#include "base/sys.hpp"
#include "sched/runtimes.hpp"

namespace weft::inline v0::detail {
namespace {

seam::Atomic<bool> is_child{false};

void in_child() {
  if (!any_runtime()) return;
  is_child.store(true, std::memory_order_relaxed);
  current_core()->root->alert.fetch_or(alert_forked, std::memory_order_relaxed);
}

}  // namespace

void watch_forks() {
  static const bool watching = pthread_atfork(nullptr, nullptr, in_child) == 0;
  (void)watching;  // without memory for it a fork is not noticed
}

bool is_fork_child() noexcept {
  return is_child.load(std::memory_order_relaxed);
}

void refuse_fork_child() noexcept {
  sys::write_all(2,
                 "weft: fork() without exec: this child has none of the runtime's threads, so nothing can wait or run "
                 "here; call exec or _exit right after fork, or fork before the first runtime\n");
  (void)sys::invoke(SYS_exit_group, 70);
  __builtin_unreachable();
}

}  // namespace weft::inline v0::detail
