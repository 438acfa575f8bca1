// SPDX-License-Identifier: MIT
// Uses a pool for blocking calls in a process to which the kernel gives no more threads: "none" from the start, "one"
// after the first. Gives up root if it has it, since root has no such limit.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string_view>

#include "sched/blocking_pool.hpp"

using weft::detail::BlockingPool;

namespace {

std::atomic<bool> open_up{false};
std::atomic<int> inside{0};
std::atomic<int> ran{0};

void wait_and_count(BlockingPool::Job*) {
  inside.fetch_add(1);
  inside.notify_all();
  open_up.wait(false);
  ran.fetch_add(1);
  ran.notify_all();
}

bool forbid_threads() {
  constexpr uid_t nobody = 65534;
  if (geteuid() == 0 && setresuid(nobody, nobody, nobody) != 0) return false;
  const rlimit limit{1, 1};
  return setrlimit(RLIMIT_NPROC, &limit) == 0;
}

// A leak checker would want a thread of its own at exit.
[[noreturn]] void leave() {
  std::fflush(stdout);
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view plan = argc > 1 ? argv[1] : "";
  BlockingPool pool(8);
  BlockingPool::Job jobs[5];
  for (BlockingPool::Job& job : jobs) job.run = wait_and_count;
  std::error_code reason;
  int first = 0;
  if (plan == "one") {
    if (!pool.submit(jobs[first++])) return 1;
    inside.wait(0);
  }
  if (!forbid_threads()) return 2;
  for (; first < 5; ++first) {
    if (!pool.submit(jobs[first], &reason)) {
      std::printf("refused: %s\n", reason.message().c_str());
      leave();
    }
  }
  open_up.store(true);
  open_up.notify_all();
  for (int count; (count = ran.load()) < 5;) ran.wait(count);
  std::printf("ran %d on %u threads, %u refused\n", ran.load(), pool.threads(), pool.refused_threads());
  pool.stop();
  leave();
}
