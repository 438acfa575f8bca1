// SPDX-License-Identifier: MIT
// Storms over the scheduler, with exact sums at the end of each round.
//   sched_stress [--kind park|spawn|cancel|timers|churn|crowd|stall|elastic|all] [--seconds N] [--seed N] [--workers N]
//                [--rounds N] [--from N]
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "stress/storm.hpp"
#include "weft/nursery.hpp"
#include "weft/par.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

using storm::Dice;
using storm::equal;
using storm::some_options;
using storm::Watched;

void compute(std::chrono::nanoseconds span) {
  const auto until = Clock::now() + span;
  while (Clock::now() < until) weft::seam::pause();
}

// Not std::this_thread::get_id(), which compilers believe to be constant within a function.
long thread_here() {
  return syscall(SYS_gettid);
}

// Counts what lives; closures and results hold one.
struct Token {
  std::atomic<std::uint64_t>* count;
  explicit Token(std::atomic<std::uint64_t>& c) : count(&c) { count->fetch_add(1); }
  Token(const Token& other) noexcept : count(other.count) { count->fetch_add(1); }
  Token& operator=(const Token&) = delete;
  ~Token() { count->fetch_sub(1); }
};

// --- park: pairs that hand a number to and fro, and outsiders who wake them for nothing.
void park_storm(Dice& dice) {
  using Flag = std::atomic<std::uint32_t>;
  struct Pair {
    Flag there{0};
    Flag back{0};
    Flag known{0};
    weft::Unparker left;
    weft::Unparker right;
    std::uint64_t sum = 0;
  };
  const std::size_t count = 1 + dice.below(32);
  static constexpr std::uint32_t hops = 500;
  std::vector<Pair> pairs(count);
  Watched runtime(some_options(dice));
  std::atomic<bool> stop = false;
  std::thread outsider([&, own = Dice(dice())]() mutable {
    while (!stop) {
      Pair& pair = pairs[own.below(count)];
      if (pair.known.load() == 2) (own.one_in(2) ? pair.left : pair.right).unpark();
      if (own.one_in(8)) std::this_thread::yield();
    }
  });
  runtime->run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (Pair& pair : pairs) {
        n.start([&pair, own = Dice(dice())]() mutable {
          pair.left = weft::unparker();
          pair.known.store(1);
          while (pair.known.load() != 2) weft::yield_now();
          for (std::uint32_t i = 1; i <= hops; ++i) {
            if (own.one_in(16)) compute(own.span(2000));
            pair.there.store(i);
            pair.right.unpark();
            while (pair.back.load() != i) {
              if (own.one_in(8)) {
                (void)weft::park_if_for(pair.back, i - 1, own.span(200'000));
              } else {
                (void)weft::park_if(pair.back, i - 1);
              }
            }
            pair.sum += i;
          }
        });
        n.start([&pair, own = Dice(dice())]() mutable {
          while (pair.known.load() != 1) weft::yield_now();
          pair.right = weft::unparker();
          pair.known.store(2);
          for (std::uint32_t i = 1; i <= hops; ++i) {
            while (pair.there.load() != i) (void)weft::park_if(pair.there, i - 1);
            if (own.one_in(16)) compute(own.span(2000));
            if (own.one_in(64)) weft::yield_now();
            pair.back.store(i);
            pair.left.unpark();
          }
        });
      }
    });
  });
  stop = true;
  outsider.join();
  for (const Pair& pair : pairs) equal("sum of a pair", pair.sum, std::uint64_t{hops} * (hops + 1) / 2);
  runtime.at_rest();
}

// --- spawn: a million children, in trees.
void spawn_storm(Dice& dice) {
  static constexpr std::uint64_t groups = 1000;
  static constexpr std::uint64_t each = 1000;
  Watched runtime(some_options(dice));
  std::atomic<std::uint64_t> sum = 0;
  std::atomic<std::uint64_t> tokens = 0;
  const bool joins = dice.one_in(2);
  const bool waits = dice.one_in(2);
  runtime->run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (std::uint64_t g = 0; g < groups; ++g) {
        n.start([&, g, token = Token(tokens)] {
          std::uint64_t mine = 0;
          std::atomic<std::uint64_t> others = 0;
          weft::with_nursery([&](weft::Nursery& inner) {
            for (std::uint64_t i = 0; i < each; ++i) {
              if (joins && i % 4 == 0) {
                mine += inner.spawn([g, i] { return g * each + i; }).join();
              } else {
                inner.start([&others, g, i, waits] {
                  if (waits && i % 100 == 1) weft::yield_now();
                  others.fetch_add(g * each + i, std::memory_order_relaxed);
                });
              }
            }
          });
          sum += mine + others;
        });
      }
    });
  });
  constexpr std::uint64_t all = groups * each;
  equal("sum of the children", sum, all * (all - 1) / 2);
  equal("closures left", tokens, 0);
  equal("started", runtime->stats().started, 1 + groups + all);
  runtime.at_rest();
}

// --- cancel: trees of tasks that wait in every way, asked to stop from everywhere.
struct Tree {
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> ended{0};
  std::atomic<std::uint64_t> tokens{0};
};
struct Leave {
  Tree& tree;
  ~Leave() { ++tree.ended; }
};

void grow(Tree& tree, std::uint64_t seed, unsigned depth) {
  Dice dice(seed);
  ++tree.begun;
  const Leave leave{tree};
  const Token token(tree.tokens);
  switch (dice.below(6)) {
    case 0:
      weft::sleep(dice.span(100'000));
      break;
    case 1:
      weft::yield_now();
      break;
    case 2:
      weft::shield([&] { weft::sleep(dice.span(50'000)); });
      break;
    case 3:
      compute(dice.span(5'000));
      break;
    case 4:
      (void)weft::timeout(dice.span(100'000), [&] { weft::sleep(dice.span(200'000)); });
      break;
    default:
      break;
  }
  if (depth == 0) return;
  const bool bounded = dice.one_in(4);
  weft::NurseryOptions options;
  if (bounded) options.deadline = dice.span(300'000);
  weft::with_nursery(options, [&](weft::Nursery& n) {
    std::vector<weft::Task<void>> children;
    for (std::uint64_t i = 0; i < 3; ++i)
      children.push_back(n.spawn(
          [&tree, next = dice(), depth, token_of_closure = Token(tree.tokens)] { grow(tree, next, depth - 1); }));
    switch (dice.below(5)) {
      case 0:
        children[dice.below(3)].cancel();
        break;
      case 1:
        weft::yield_now();
        n.cancel();
        break;
      case 2:
        children[dice.below(3)].wait();
        break;
      case 3:
        (void)children[dice.below(3)].wait_for(dice.span(50'000));
        break;
      default:
        break;
    }
    n.start([late = Token(tree.tokens)] {});
  });
}

void cancel_storm(Dice& dice) {
  Watched runtime(some_options(dice));
  Tree tree;
  std::atomic<bool> stop = false;
  std::vector<weft::Task<void>> roots;
  for (int i = 0; i < 16; ++i) roots.push_back(runtime->go([&tree, seed = dice()] { grow(tree, seed, 3); }));
  std::thread canceller([&, own = Dice(dice())]() mutable {
    for (weft::Task<void>& root : roots) {
      if (own.one_in(3)) std::this_thread::sleep_for(own.span(200'000));
      if (own.one_in(2)) root.cancel();
    }
  });
  runtime->run([&] {
    while (!stop) {
      bool all = true;
      for (const weft::Task<void>& root : roots) all = all && root.done();
      if (all) break;
      weft::sleep(100us);
    }
  });
  canceller.join();
  for (weft::Task<void>& root : roots) root.wait();
  equal("tasks that began and did not end", tree.ended, tree.begun);
  roots.clear();
  (void)runtime->shutdown();
  equal("closures left", tree.tokens, 0);
  runtime.at_rest();
}

// --- timers: waits that end by a wake or by their time, whichever is first; never early.
void timer_storm(Dice& dice) {
  Watched runtime(some_options(dice));
  const std::size_t tasks = 1 + dice.below(48);
  const std::uint64_t rounds = 60;
  std::atomic<std::uint64_t> ends = 0;
  std::atomic<std::uint64_t> early = 0;
  std::atomic<std::uint64_t> known = 0;
  std::atomic<bool> stop = false;
  std::vector<weft::Unparker> handles(tasks);
  std::atomic<std::uint32_t> never{0};
  std::thread outsider([&, own = Dice(dice())]() mutable {
    while (!stop) {
      if (known == tasks) handles[own.below(tasks)].unpark();
      if (own.one_in(4)) std::this_thread::sleep_for(own.span(20'000));
    }
  });
  runtime->run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (std::size_t t = 0; t < tasks; ++t)
        n.start([&, t, own = Dice(dice())]() mutable {
          handles[t] = weft::unparker();
          ++known;
          for (std::uint64_t i = 0; i < rounds; ++i) {
            const auto span = own.span(400'000);
            const auto began = Clock::now();
            if (own.one_in(3)) {
              weft::sleep(span);
              if (Clock::now() - began < span) ++early;
            } else if (weft::park_if_for(never, 0, span) == weft::WaitOutcome::timed_out &&
                       Clock::now() - began < span) {
              ++early;
            }
            ++ends;
            if (known == tasks && own.one_in(4)) handles[own.below(tasks)].unpark();
          }
        });
    });
  });
  stop = true;
  outsider.join();
  equal("waits that ended", ends, tasks * rounds);
  equal("waits that ended early", early, 0);
  runtime.at_rest();
}

// --- churn: runtimes that come and go with tasks in every state.
void churn_storm(Dice& dice) {
  std::atomic<std::uint64_t> tokens = 0;
  std::atomic<std::uint64_t> begun = 0;
  std::atomic<std::uint64_t> ended = 0;
  {
    Watched runtime(some_options(dice));
    std::thread spawner([&, own = Dice(dice())]() mutable {
      try {
        for (int i = 0; i < 200; ++i) {
          (void)runtime->go([&, token = Token(tokens), span = own.span(300'000)] {
            ++begun;
            struct Out {
              std::atomic<std::uint64_t>& count;
              ~Out() { ++count; }
            } out{ended};
            weft::sleep(span);
          });
          if (own.one_in(10)) std::this_thread::yield();
        }
      } catch (const weft::RuntimeError&) {
        // The runtime is closed: what was not accepted does not count.
      }
    });
    for (std::uint64_t runs = dice.below(3); runs > 0; --runs) {
      runtime->run([&] {
        for (int i = 0; i < 20; ++i)
          (void)weft::go([&, token = Token(tokens)] {
            ++begun;
            struct Out {
              std::atomic<std::uint64_t>& count;
              ~Out() { ++count; }
            } out{ended};
            for (;;) weft::yield_now();
          });
        weft::sleep(dice.span(200'000));
      });
    }
    std::this_thread::sleep_for(dice.span(300'000));
    if (!runtime->shutdown()) equal("shutdown", 0, 1);
    spawner.join();
    runtime.at_rest();
  }
  equal("closures left", tokens, 0);
  equal("tasks that began and did not end", ended, begun);
}

// --- crowd: more workers than processors; strands, pins, threads, fork-join, all at once.
std::uint64_t fib(std::uint64_t n) {
  if (n < 2) return n;
  auto [a, b] = weft::par([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

void crowd_storm(Dice& dice) {
  weft::RuntimeOptions options = some_options(dice);
  options.workers = storm::most_workers;
  Watched runtime(options);
  std::uint64_t serial = 0;  // plain: the strand orders it
  std::atomic<std::uint64_t> moved = 0;
  std::atomic<std::uint64_t> from_threads = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) from_threads += runtime->go([] { return std::uint64_t{1}; }).join();
    });
  runtime->run([&] {
    weft::Strand strand;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 200; ++i) {
        (void)n.spawn(
            [&serial, i] {
              for (int k = 0; k < 5; ++k) {
                ++serial;
                if (i % 3 == 0) weft::yield_now();
                if (i % 41 == 0) weft::sleep(20us);
              }
            },
            {.strand = &strand});
      }
      for (int i = 0; i < 8; ++i) {
        (void)n.spawn(
            [&moved] {
              const long mine = thread_here();
              for (int k = 0; k < 100; ++k) {
                weft::yield_now();
                if (k % 25 == 0) weft::sleep(10us);
                if (thread_here() != mine) ++moved;
              }
            },
            {.pinned = true});
      }
      for (int i = 0; i < 4; ++i) n.start([] { equal("fib(16)", fib(16), 987); });
    });
  });
  for (std::thread& thread : threads) {
    // Worker 0 is needed for what it has begun: threads wait for tasks, so somebody runs them.
    runtime->run([] { weft::sleep(100us); });
    thread.join();
  }
  equal("steps of the strand", serial, 1000);
  equal("pinned tasks that moved", moved, 0);
  equal("results to threads", from_threads, 150);
}

// --- stall: one of the others, while threads stop where they stand: each by itself in a signal handler, and all of
// them by SIGSTOP.
std::atomic<std::uint64_t> stalled_threads{0};
std::atomic<std::uint64_t> stopped_processes{0};

void nap(std::chrono::nanoseconds span) {
  timespec left{static_cast<time_t>(span.count() / 1'000'000'000), static_cast<long>(span.count() % 1'000'000'000)};
  while (nanosleep(&left, &left) != 0) {
  }
}

void on_stall(int, siginfo_t* info, void*) {
  const int kept = errno;
  stalled_threads.fetch_add(1, std::memory_order_relaxed);
  nap(std::chrono::microseconds(info->si_value.sival_int));
  errno = kept;
}

// A process of its own that stops this one for as long as it is told, and lets it go on.
class Stopper {
 public:
  void start() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    const pid_t parent = getpid();
    if (fork() == 0) {
      (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ends[1]);
      std::int64_t span = 0;
      while (read(ends[0], &span, sizeof span) == static_cast<ssize_t>(sizeof span)) {
        (void)kill(parent, SIGSTOP);
        nap(std::chrono::nanoseconds(span));
        (void)kill(parent, SIGCONT);
      }
      _exit(0);
    }
    close(ends[0]);
    end_ = ends[1];
  }
  void stop_all(std::chrono::nanoseconds span) {
    const std::int64_t ns = span.count();
    if (write(end_, &ns, sizeof ns) == static_cast<ssize_t>(sizeof ns)) ++stopped_processes;
  }

 private:
  int end_ = -1;
} stopper;

// Any thread of this process but the caller; 0 if there is none.
long some_thread(Dice& dice) {
  std::vector<long> ids;
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return 0;
  const long self = thread_here();
  while (const dirent* entry = readdir(folder)) {
    const long id = std::strtol(entry->d_name, nullptr, 10);
    if (id != 0 && id != self) ids.push_back(id);
  }
  closedir(folder);
  return ids.empty() ? 0 : ids[dice.below(ids.size())];
}

void stall_storm(Dice& dice) {
  constexpr void (*victims[])(Dice&) = {park_storm, cancel_storm, timer_storm, churn_storm, crowd_storm};
  std::atomic<bool> stop = false;
  std::thread staller([&, own = Dice(dice())]() mutable {
    while (!stop) {
      siginfo_t info{};
      info.si_code = SI_QUEUE;
      info.si_pid = getpid();
      info.si_value.sival_int = static_cast<int>(own.one_in(8) ? own.below(15'000) : own.below(500));
      if (const long thread = some_thread(own)) (void)syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, SIGUSR2, &info);
      if (own.one_in(50)) stopper.stop_all(own.span(5'000'000));
      nap(own.span(300'000));
    }
  });
  victims[dice.below(std::size(victims))](dice);
  stop = true;
  staller.join();
}

// --- elastic: every worker sits in read(2) while there is work, so that others come; then they go again.
std::atomic<std::uint64_t> promoted_workers{0};

void elastic_storm(Dice& dice) {
  weft::RuntimeOptions options = some_options(dice);
  options.workers = 1 + static_cast<unsigned>(dice.below(std::min(storm::most_workers, 4u)));
  options.max_workers = options.workers + 1 + static_cast<unsigned>(dice.below(options.workers + 1));
  options.sysmon_period = 100us;
  options.stall_after = 1ms;
  options.scale_interval = 1ms;
  options.temp_idle_timeout = 5ms;
  options.stall_report = false;
  Watched runtime(options);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  for (std::uint64_t bursts = 1 + dice.below(3); bursts > 0; --bursts) {
    const std::uint64_t count = 50 + dice.below(500);
    std::atomic<std::uint64_t> sum = 0;
    std::atomic<std::uint64_t> ended = 0;
    std::atomic<std::uint64_t> blocked = 0;
    const auto small = [&](std::uint64_t i, Dice own) {
      if (own.one_in(4)) weft::yield_now();
      if (own.one_in(4)) weft::sleep(own.span(200'000));
      if (own.one_in(16)) compute(own.span(100'000));
      if (own.one_in(64)) nap(own.span(3'000'000));  // one more who blocks
      sum += i;
      ++ended;
    };
    std::thread outside([&, own = Dice(dice())]() mutable {
      for (std::uint64_t i = count; i < 2 * count; ++i) {
        (void)runtime->go([&small, i, mine = Dice(own())] { small(i, mine); });
        if (own.one_in(16)) nap(own.span(100'000));
      }
    });
    runtime->run([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        for (unsigned i = 0; i < options.workers; ++i) {
          n.start([&] {
            ++blocked;
            char byte = 0;
            while (read(ends[0], &byte, 1) != 1) {
            }
          });
        }
        for (std::uint64_t i = 0; i < count; ++i) n.start([&small, i, mine = Dice(dice())] { small(i, mine); });
        // Nobody lets the blocked ones go before everything else has ended: without help this is the end.
        while (ended != 2 * count || blocked != options.workers) weft::sleep(100us);
        for (unsigned i = 0; i < options.workers; ++i)
          if (write(ends[1], "x", 1) != 1) std::abort();
      });
    });
    outside.join();
    equal("sum of the small ones", sum, 2 * count * (2 * count - 1) / 2);
    // Whoever came goes again; a place that nobody runs in is worker 0's.
    while (runtime->stats().workers > options.workers - 1 || runtime->stats().retired != runtime->stats().promoted)
      std::this_thread::sleep_for(200us);
  }
  close(ends[0]);
  close(ends[1]);
  promoted_workers += runtime->stats().promoted;
  if (runtime->stats().promoted == 0) equal("temporary workers", 0, 1);
  (void)runtime->shutdown();
  runtime.at_rest();
}

constexpr storm::Kind kinds[] = {{"park", park_storm},    {"spawn", spawn_storm},    {"cancel", cancel_storm},
                                 {"timers", timer_storm}, {"churn", churn_storm},    {"crowd", crowd_storm},
                                 {"stall", stall_storm},  {"elastic", elastic_storm}};

}  // namespace

int main(int argc, char** argv) {
  // Before there are other threads.
  stopper.start();
  struct sigaction action{};
  action.sa_sigaction = on_stall;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  if (sigaction(SIGUSR2, &action, nullptr) != 0) return 2;
  const int code = storm::run_storms(argc, argv, kinds);
  std::printf("threads stalled %llu, process stopped %llu, temporary workers %llu\n",
              static_cast<unsigned long long>(stalled_threads), static_cast<unsigned long long>(stopped_processes),
              static_cast<unsigned long long>(promoted_workers));
  return code;
}
