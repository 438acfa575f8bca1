// SPDX-License-Identifier: MIT
// What: a runtime that soon helps workers which block, tasks that block them, and what became of whom.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/sys.hpp"
#include "sched/runtime_core.hpp"
#include "sched/runtime_help.hpp"
#include "sched/thread_probe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

namespace weft_test {

inline weft::RuntimeOptions brisk(unsigned workers) {
  weft::RuntimeOptions options = with_workers(workers);
  options.sysmon = true;
  options.stall_report = false;
  options.stall_after = std::chrono::milliseconds(3);
  options.scale_interval = std::chrono::milliseconds(20);
  options.temp_idle_timeout = std::chrono::milliseconds(40);
  return options;
}

// The threads of those who sit in read(2), in the order in which they came.
class Readers {
 public:
  explicit Readers(unsigned count) : threads_(count) {}
  unsigned enter() {
    const unsigned place = inside_.fetch_add(1);
    threads_[place] = weft::detail::sys::gettid();
    return place + 1;
  }
  unsigned inside() const { return inside_.load(); }
  // The first so many; said, and seen by the kernel.
  bool in_kernel(unsigned count) const {
    return std::all_of(threads_.begin(), threads_.begin() + count, [](const std::atomic<long>& thread) {
      return thread.load() != 0 &&
             weft::detail::probe_thread(thread.load()) == weft::detail::ThreadActivity::in_syscall;
    });
  }

 private:
  std::vector<std::atomic<long>> threads_;
  std::atomic<unsigned> inside_{0};
};

// Tasks that sit in read(2).
class Blockers {
 public:
  Blockers(weft::Nursery& nursery, unsigned count) : own_(count), readers_(own_), count_(count) { start(nursery); }
  Blockers(weft::Nursery& nursery, Readers& readers, unsigned count) : readers_(readers), count_(count) {
    start(nursery);
  }
  bool all_inside() const { return readers_.inside() == count_; }
  void release() { pipe_.release(count_); }

 private:
  void start(weft::Nursery& nursery) {
    for (unsigned i = 0; i < count_; ++i) {
      nursery.start([this] {
        (void)readers_.enter();
        pipe_.wait();
      });
    }
  }

  Readers own_{0};
  Readers& readers_;
  unsigned count_;
  Pipe pipe_;
};

// In a task: until every base worker has its thread. Before that a blocked one is replaced as if the others were, too.
inline void until_all_up(const weft::detail::RuntimeCore& core) {
  for (unsigned i = 0; i < core.options.workers; ++i)
    while (core.worker(i).state.load(std::memory_order_acquire) == weft::detail::WorkerState::unborn) weft::yield_now();
}

// In a task: somebody has been added since there were `before`, and all who were are gone.
inline void until_gone(const weft::Runtime& runtime, std::uint64_t before) {
  for (;;) {
    const weft::RuntimeStats stats = runtime.stats();
    if (stats.promoted > before && stats.retired == stats.promoted) return;
    weft::sleep(std::chrono::milliseconds(1));
  }
}

inline std::uint64_t entered(const weft::detail::Worker& worker, weft::detail::WorkerState state) {
  return worker.counters.entered[static_cast<unsigned>(state)];
}

inline weft::detail::WorkerState state_of(const weft::detail::Worker& worker) {
  return worker.state.load(std::memory_order_acquire);
}

}  // namespace weft_test
