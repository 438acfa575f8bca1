// SPDX-License-Identifier: MIT
// Runs out of something while it spawns tasks, checks that it was told what, that nothing hangs and nothing is lost,
// and says "ok" - or "not here" where the machine (an emulator, a sanitizer's address space) does not set such limits.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "sched/runtime_core.hpp"
#include "weft/detail/tools.hpp"
#include "weft/detail/worker_core.hpp"
#include "weft/fiber_error.hpp"
#include "weft/nursery.hpp"
#include "weft/par.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

namespace {

[[noreturn]] void give_up(const std::string& why) {
  std::printf("failed: %s\n", why.c_str());
  std::fflush(stdout);
  _exit(1);
}

void demand(bool condition, const std::string& what) {
  if (!condition) give_up(what);
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Leaves that much address space, or says that it cannot.
bool leave_room(rlim_t bytes) {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) give_up("no /proc/self/statm");
  std::fclose(file);
  const rlimit tight{static_cast<rlim_t>(pages) * 4096 + bytes, RLIM_INFINITY};
  return setrlimit(RLIMIT_AS, &tight) == 0;
}
void forget_limit() {
  const rlimit wide{RLIM_INFINITY, RLIM_INFINITY};
  (void)setrlimit(RLIMIT_AS, &wide);
}

weft::RuntimeOptions with_workers(unsigned workers) {
  weft::RuntimeOptions options;
  options.workers = workers;
  options.max_workers = workers;  // on a busy machine it looks stuck, and the bodies count without atomics
  options.stall_report = false;
  return options;
}

// More tasks that wait at once than there is room for stacks: the others fail, each with the reason.
int stacks() {
  constexpr std::size_t count = 4000;
  weft::Runtime runtime(with_workers(2));
  std::size_t refused = 0;
  std::size_t done = 0;
  runtime.run([&] {
    std::vector<weft::Task<int>> tasks;
    tasks.reserve(count);
    std::atomic<std::uint32_t> release{0};
    std::vector<weft::Unparker> handles(count);
    std::atomic<std::size_t> waiting = 0;
    weft::go([] { weft::sleep(std::chrono::microseconds(1)); }).join();
    if (!leave_room(rlim_t{300} << 20)) return;
    for (std::size_t i = 0; i < count; ++i)
      tasks.push_back(weft::go([&, i] {
        handles[i] = weft::unparker();
        ++waiting;
        while (release.load() == 0) (void)weft::park_if(release, 0);
        return 1;
      }));
    // Everybody either waits or has failed.
    for (;;) {
      std::size_t ended = 0;
      for (const auto& task : tasks) ended += task.done();
      if (ended + waiting == count) break;
      weft::yield_now();
    }
    release.store(1);
    for (const weft::Unparker& handle : handles) handle.unpark();
    for (auto& task : tasks) {
      try {
        done += static_cast<std::size_t>(task.join());
      } catch (const weft::StackError& error) {
        ++refused;
        if (!has(error.what(), "address space")) give_up(error.what());
      }
    }
    forget_limit();
    // There are stacks again.
    done += static_cast<std::size_t>(weft::go([] {
                                       weft::yield_now();
                                       return 1;
                                     }).join());
  });
  if (refused == 0) return std::puts("not here"), 0;
  demand(done + refused == count + 1,
         "lost: " + std::to_string(done) + " done, " + std::to_string(refused) + " refused");
  demand(done > 100, "refused far too early");
  return std::puts("ok"), 0;
}

// More unstarted tasks than there is memory for: the spawn says so; the others run.
int memory() {
  weft::Runtime runtime(with_workers(1));
  std::size_t spawned = 0;
  std::size_t ran = 0;
  std::string refused;
  runtime.run([&] {
    weft::go([] {}).join();
    if (!leave_room(rlim_t{160} << 20)) return;
    weft::with_nursery([&](weft::Nursery& n) {
      try {
        for (; spawned < 4'000'000; ++spawned) n.start([&ran] { ++ran; });
      } catch (const weft::RuntimeError& error) {
        forget_limit();
        demand(error.code() == weft::RuntimeErrc::no_memory, error.what());
        refused = error.what();
      }
    });
    forget_limit();
  });
  if (refused.empty()) return std::puts("not here"), 0;
  demand(has(refused, "no memory for another") && has(refused, "task records"), refused);
  demand(spawned > 100'000, "refused far too early");
  demand(ran == spawned, "lost: " + std::to_string(spawned - ran));
  demand(runtime.stats().started == runtime.stats().finished, "something still lives");
  // And again from the start.
  demand(runtime.run([] { return 7; }) == 7, "nothing runs afterwards");
  return std::puts("ok"), 0;
}

// How many pieces of par were refused because there is no record for another task. forked(worker) is what the forker,
// on that worker, does while the other piece may be taken.
template <class F>
int refused_pieces(int tries, F&& forked) {
  int refused = 0;
  for (int i = 0; i < tries; ++i) {
    int ran = 0;
    try {
      (void)weft::par([&] { ++ran; }, [&] { forked(*weft::detail::this_worker()); });
      demand(ran == 1, "a piece is missing");
    } catch (const weft::RuntimeError& error) {
      demand(error.code() == weft::RuntimeErrc::no_memory, error.what());
      demand(has(error.what(), "no memory for another") && has(error.what(), "task records"), error.what());
      demand(ran == 0, "a piece ran and was refused");
      ++refused;
    }
  }
  return refused;
}

// No memory for the record that a piece of par needs when it is not its forker who runs it: par says so.
int pieces() {
  constexpr int tries = 20;
  bool here = false;
  mallopt(M_ARENA_MAX, 1);  // else a thread has set some address space aside
  for (const unsigned workers : {1u, 2u}) {
    weft::Runtime runtime(with_workers(workers));
    std::string refused;
    runtime.run([&] {
      // Leaves a stack to the next. The second worker, once it is there, has no record of its own: it has run nothing.
      if (workers == 1) weft::go([] { weft::sleep(std::chrono::microseconds(1)); }).join();
      while (runtime.core().idle.sleepers() != workers - 1) weft::seam::pause();
      weft::with_nursery([&](weft::Nursery& n) {
        std::vector<weft::Task<void>> held;  // ended, and their records not free
        held.reserve(4'000'000);
        if (!leave_room(rlim_t{64} << 20)) return;
        try {
          while (held.size() < held.capacity()) {
            held.push_back(n.spawn([] {}));
            held.back().wait();
          }
        } catch (const weft::RuntimeError& error) {
          refused = error.what();
        }
        if (refused.empty()) return forget_limit();
        const int parking = refused_pieces(tries, [](auto&) { weft::sleep(std::chrono::microseconds(10)); });
        const int yielding = refused_pieces(tries, [](auto&) { weft::yield_now(); });
        // The piece is somebody else's before this one waits; the global policy leaves it here, or to who is idle.
        const int stolen = workers == 1 ? 0 : refused_pieces(tries, [](weft::detail::WorkerCore& worker) {
          while (worker.steals && worker.deque.size() != 0) weft::seam::pause();
          weft::sleep(std::chrono::microseconds(10));
        });
        forget_limit();
        if (workers == 1) {
          // But for a full look, at which the forker comes back first.
          demand(parking >= tries - 2, "parking: " + std::to_string(parking) + " refused");
          demand(yielding >= tries - 2, "yielding: " + std::to_string(yielding) + " refused");
        } else if (weft::detail::this_worker()->steals) {
          // A thief that this task has come from has records; its own worker has none.
          demand(parking + yielding + stolen > 0, "none refused");
        }
        // There are records again.
        held.clear();
        demand(refused_pieces(tries, [](auto&) { weft::yield_now(); }) == 0, "refused with memory at hand");
      });
    });
    here |= !refused.empty();
    demand(runtime.stats().started == runtime.stats().finished, "something still lives");
    demand(runtime.run([] { return 7; }) == 7, "nothing runs afterwards");
  }
  return std::puts(here ? "ok" : "not here"), 0;
}

// No thread for a worker: the runtime says so; one that needs none works.
int threads() {
  constexpr uid_t nobody = 65534;
  if (geteuid() == 0 && setresuid(nobody, nobody, nobody) != 0) return std::puts("not here"), 0;
  const rlimit none{1, 1};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) return std::puts("not here"), 0;
  try {
    const weft::Runtime many(with_workers(4));
    return std::puts("not here"), 0;
  } catch (const weft::RuntimeError& error) {
    demand(error.code() == weft::RuntimeErrc::no_threads, error.what());
    demand(has(error.what(), "worker 1 of 4") && has(error.what(), "WEFT_WORKERS"), error.what());
  }
  weft::Runtime one(with_workers(1));
  int sum = 0;
  one.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 100; ++i)
        n.start([&] {
          weft::sleep(std::chrono::microseconds(10));
          ++sum;
        });
    });
  });
  demand(sum == 100, "a task is missing");
  std::puts("ok");
  std::fflush(stdout);
  _exit(0);  // a leak checker would want a thread of its own
}

long resident_bytes() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%*d %ld", &pages) != 1) give_up("no /proc/self/statm");
  std::fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

// What a million tasks that nobody has begun take, all told: records, queues, and what lies around them.
int unstarted() {
  constexpr long count = 1'000'000;
  weft::Runtime runtime(with_workers(1));
  long each = 0;
  long ran = 0;
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      const long before = resident_bytes();
      for (long i = 0; i < count; ++i) n.start([&ran, i] { ran += i >= 0; });
      each = (resident_bytes() - before + count - 1) / count;
      demand(ran == 0, "some have begun");
    });
  });
  demand(ran == count, "lost: " + std::to_string(count - ran));
  demand(each <= 256, std::to_string(each) + " bytes each");
  demand(each >= 64, "only " + std::to_string(each) + " bytes each: not measured");
  return std::puts("ok"), 0;
}

// What a task that has begun and waits takes, all told: one page of its stack, and at most 256 bytes beside that.
int parked() {
  constexpr std::size_t count = 20'000;  // where guards are mappings a process may have some 30,000
  weft::Runtime runtime(with_workers(1));
  long each = 0;
  std::size_t ran = 0;
  runtime.run([&] {
    std::vector<weft::Unparker> handles(count);
    std::atomic<std::uint32_t> open{0};
    weft::with_nursery([&](weft::Nursery& n) {
      const long before = resident_bytes();
      for (weft::Unparker& handle : handles)
        n.start([&] {
          handle = weft::unparker();
          while (open.load() == 0) (void)weft::park_if(open, 0);
          ++ran;
        });
      const std::uint64_t parks = runtime.stats().parks;
      while (runtime.stats().parks - parks < count) weft::yield_now();
      each = (resident_bytes() - before) / static_cast<long>(count);
      demand(ran == 0, "some have ended");
      open.store(1);
      for (const weft::Unparker& handle : handles) handle.unpark();
    });
  });
  demand(ran == count, "lost: " + std::to_string(count - ran));
  demand(each <= sysconf(_SC_PAGESIZE) + 256, std::to_string(each) + " bytes each");
  demand(each >= sysconf(_SC_PAGESIZE), "only " + std::to_string(each) + " bytes each: not measured");
  return std::puts("ok"), 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  // Sanitizers want address space of their own, and end the process where there is none: both for a second stack beside
  // each, TSan for what it notes of each record.
  if ((WEFT_ASAN || WEFT_TSAN) && (what == "stacks" || what == "unstarted" || what == "parked" ||
                                   (WEFT_TSAN && (what == "memory" || what == "pieces"))))
    return std::puts("not here"), 0;
  if (what == "stacks") return stacks();
  if (what == "memory") return memory();
  if (what == "pieces") return pieces();
  if (what == "threads") return threads();
  if (what == "unstarted") return unstarted();
  if (what == "parked") return parked();
  return 2;
}
