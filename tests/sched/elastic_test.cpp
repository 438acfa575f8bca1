// SPDX-License-Identifier: MIT
// Workers that block, who takes over, and how that one goes again.
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/elastic_help.hpp"
#include "sched/park.hpp"
#include "sched/runtime_core.hpp"
#include "sched/runtime_help.hpp"
#include "sched/sysmon.hpp"
#include "sched/thread_probe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

// How long sysmon meant to rest after looks when every base worker sat in the kernel, and nobody had come yet. It is
// added up in sysmon's own thread, between two looks: however little time the machine gives to whom, none is counted
// too many. Where the machine lets sysmon run, that is how long they waited. Outlives the runtime, as the readers do.
class RestsInVain {
 public:
  RestsInVain() { sys::set_interceptor(note, this); }
  ~RestsInVain() { sys::set_interceptor(nullptr, nullptr); }
  RestsInVain(const RestsInVain&) = delete;
  RestsInVain& operator=(const RestsInVain&) = delete;

  void watch(RuntimeCore& runtime) { runtime_ = &runtime; }
  void watch(const Readers& readers) { readers_ = &readers; }
  std::chrono::nanoseconds time() const { return std::chrono::nanoseconds(time_.load()); }

 private:
  static bool note(const sys::Call& call, long*, void* context) {
    auto& self = *static_cast<RestsInVain*>(context);
    char name[16] = {};
    if (call.number != SYS_futex || call.args[3] == 0 || prctl(PR_GET_NAME, name) != 0 ||
        std::strcmp(name, "weft-sysmon") != 0)
      return false;
    const RuntimeCore* runtime = self.runtime_.load();
    const Readers* readers = self.readers_.load();
    if (runtime == nullptr || readers == nullptr) return false;
    const std::uint64_t look = runtime->sysmon->looks();
    if (std::exchange(self.look_, look) == look) return false;
    if (!readers->in_kernel(runtime->options.workers) || runtime->sysmon->pressure().promoted_workers != 0)
      return false;
    const auto& until = *reinterpret_cast<const timespec*>(call.args[3]);
    const std::int64_t rest = std::int64_t{until.tv_sec} * 1'000'000'000 + until.tv_nsec - seam::monotonic_ns();
    self.time_ += std::max<std::int64_t>(0, rest);
    return false;
  }

  std::atomic<RuntimeCore*> runtime_{nullptr};
  std::atomic<const Readers*> readers_{nullptr};
  std::atomic<std::int64_t> time_{0};
  std::uint64_t look_ = 0;  // sysmon's only
};

// Stuck, and it stays so. Being asked for its stack wakes a thread; until it sits in the kernel again, and sysmon has
// seen that, it may count as one that moves.
bool settled(const Runtime& runtime, const RuntimeCore& core, const Worker& worker) {
  const auto looks = [&] { return core.sysmon->looks(); };
  const auto told = [&] {
    const std::vector<StallReport> stalls = runtime.stalls();
    return std::any_of(stalls.begin(), stalls.end(), [&](const StallReport& stall) {
      return stall.kind == StallReport::Kind::blocked && stall.worker == worker.index;
    });
  };
  return eventually(told) &&
         eventually([&] { return probe_thread(worker.thread_id.load()) == ThreadActivity::in_syscall; }) &&
         eventually([&, before = looks()] { return looks() > before + 2 && worker.stuck.load(); });
}

}  // namespace

TEST_CASE(
    "elastic: workers stuck in read(2) are replaced within 50 ms, and the report names the task with its stack "
    "[N-014] [HB19] [HC16]") {
  // Whether a report had a stack: a thread that gets no processor for long does not answer.
  const auto with_stack = [](unsigned workers) {
    CAPTURE(workers);
    RuntimeOptions options = with_workers(workers);
    options.stall_report = false;
    RestsInVain in_vain;
    Readers readers(workers);
    Runtime runtime(options);
    in_vain.watch(runtime.core());
    in_vain.watch(readers);
    Pipe pipe;
    std::atomic<std::int64_t> all_blocked{0};
    std::atomic<std::int64_t> went_on{0};
    runtime.run([&] {
      with_nursery([&](Nursery& nursery) {
        for (unsigned i = 0; i < workers; ++i) {
          (void)nursery.spawn(
              [&] {
                if (readers.enter() == workers) all_blocked = seam::monotonic_ns();
                pipe.wait();
              },
              {.name = "the reader"});
        }
        // It is queued behind a reader, or sleeps in the wheel of a worker that gets stuck: both are rescued.
        nursery.start([&] {
          while (all_blocked.load() == 0) sleep(100us);
          went_on = std::max<std::int64_t>(1, seam::monotonic_ns() - all_blocked.load());
        });
        std::thread outside([&] {
          CHECK(eventually([&] { return went_on.load() > 0; }));
          CHECK(eventually([&] { return runtime.stats().stalls >= 1; }));  // told while it still sits there
          pipe.release(workers);
        });
        join_children(nursery.core());
        outside.join();
      });
    });
    CHECK(in_vain.time() < 50ms);
    if (plain_run() && full_run()) CHECK(went_on < std::chrono::nanoseconds(50ms).count());  // a machine of its own
    CHECK(runtime.shutdown());
    bool told = false;
    unsigned named = 0;
    for (const StallReport& stall : runtime.stalls()) {
      if (stall.kind != StallReport::Kind::blocked || stall.name != "the reader") continue;
      ++named;
      CHECK(std::strstr(stall.site.file_name(), "elastic_test.cpp") != nullptr);
      CHECK(stall.duration >= options.stall_after);
      if (WEFT_TSAN || stall.stack.empty()) continue;  // it delays signals
      told = true;
      const std::string text = to_string(stall);
      CAPTURE(text);
      CHECK(text.find("read") != std::string::npos);
      CHECK(text.find("elastic_test.cpp") != std::string::npos);
    }
    CHECK(named >= 1);
    CHECK(runtime.stats().promoted >= 1);
    // Else a worker that is not stuck yet may have stolen it, or it stood in the shared queue.
    if (workers == 1 && may_steal()) CHECK(runtime.stats().rescues >= 1);
    return told || WEFT_TSAN;
  };
  for (const unsigned workers : {1U, 2U, 4U}) CHECK(eventually([&] { return with_stack(workers); }));
}

TEST_CASE(
    "elastic: with every worker in read(2) a temporary one comes within two scale intervals, never more than the "
    "cap, and ends after the idle timeout [V-082]") {
  for (const unsigned workers : {1U, 2U, 4U}) {
    CAPTURE(workers);
    RuntimeOptions options = brisk(workers);
    options.scale_interval = 50ms;
    options.max_workers = workers + 2;
    RestsInVain in_vain;
    Readers readers(workers + 3);
    Runtime runtime(options);
    RuntimeCore& core = runtime.core();
    in_vain.watch(core);
    in_vain.watch(readers);
    std::atomic<unsigned> most{0};
    std::atomic<bool> watching{true};
    std::thread watcher([&] {
      while (watching.load()) {
        most = std::max(most.load(), core.threads());
        std::this_thread::yield();
      }
    });
    runtime.run([&] {
      until_all_up(core);
      with_nursery([&](Nursery& nursery) {
        // One more than there can ever be workers for.
        Blockers blockers(nursery, readers, workers + 3);
        std::thread outside([&] {
          CHECK(eventually([&] { return readers.inside() == workers + 2; }));
          // Two are there, however many came too late and went again before.
          CHECK(eventually([&] {
            const RuntimeStats stats = runtime.stats();
            return stats.promoted - stats.retired == 2;
          }));
          const auto capped = [&] { return core.sysmon->pressure().block_capped; };
          CHECK(eventually([&, before = capped()] { return capped() > before + 1; }));
          CHECK(readers.inside() == workers + 2);
          blockers.release();
        });
        join_children(nursery.core());
        outside.join();
      });
      // Nothing to do for the added ones: they go again.
      until_gone(runtime, 1);
    });
    watching = false;
    watcher.join();
    CHECK(most.load() <= workers + 2);
    CHECK(runtime.stats().retired == runtime.stats().promoted);
    CHECK(in_vain.time() < 2 * options.scale_interval);
  }
}

TEST_CASE("elastic: thousands that wait behind a worker in read(2) all run elsewhere [V-070]") {
  for (const unsigned workers : {1U, 2U}) {
    CAPTURE(workers);
    constexpr int count = 5000;  // several rescues [HAND-3]
    Runtime runtime(brisk(workers));
    Pipe pipe;
    std::atomic<int> ran{0};
    runtime.run([&] {
      with_nursery([&](Nursery& nursery) {
        for (int i = 0; i < count; ++i) nursery.start([&] { ++ran; });
        std::thread outside([&] {
          CHECK(eventually([&] { return ran.load() == count; }));
          pipe.release(1);
        });
        pipe.wait();
        CHECK(ran.load() == count);
        outside.join();
      });
    });
  }
}

TEST_CASE("elastic: a worker that computes is neither drained nor given help [W-078] [HC16]") {
  for (const unsigned workers : {1U, 2U}) {
    CAPTURE(workers);
    Runtime runtime(brisk(workers));
    RuntimeCore& core = runtime.core();
    std::atomic<unsigned> done{0};
    std::atomic<bool> judged{false};
    std::thread watcher([&] {
      CHECK(eventually([&] { return core.sysmon->pressure().block_not_stuck > 0; }));
      judged = true;
    });
    runtime.run([&] {
      with_nursery([&](Nursery& nursery) {
        // Longer than stall_after each, and work waits all the time, until sysmon has seen that.
        for (unsigned i = 0; i < 8 * workers; ++i) {
          nursery.start([&] {
            do {
              compute_for(8ms);
            } while (!judged.load());
            ++done;
          });
        }
      });
    });
    watcher.join();
    CHECK(done.load() == 8 * workers);
    CHECK(runtime.stats().promoted == 0);
    for (unsigned i = 1; i < workers; ++i) CHECK(entered(core.worker(i), WorkerState::draining) == 0);
    CHECK(core.sysmon->pressure().positive_samples > 0);
  }
}

TEST_CASE("elastic: nothing is lost when workers come and go under load [V-084]") {
  for (const unsigned workers : {1U, 2U, 4U}) {
    CAPTURE(workers);
    RuntimeOptions options = brisk(workers);
    options.scale_interval = 1ms;
    options.temp_idle_timeout = 1ms;
    options.stall_after = 1ms;
    Runtime runtime(options);
    std::atomic<std::uint64_t> sum{0};
    const unsigned rounds = full_run() ? 40 : 8;
    std::uint64_t expected = 0;
    runtime.run([&] {
      // Somebody comes at least once; whether the rounds below last long enough for that is the machine's affair.
      with_nursery([&](Nursery& nursery) {
        Blockers blockers(nursery, workers);
        nursery.start([&] {
          while (!blockers.all_inside() || runtime.stats().promoted == 0) yield_now();
          blockers.release();
        });
        join_children(nursery.core());
      });
      for (unsigned round = 0; round < rounds; ++round) {
        with_nursery([&](Nursery& nursery) {
          for (unsigned i = 0; i < workers; ++i) nursery.start([] { std::this_thread::sleep_for(6ms); });
          for (std::uint64_t i = 1; i <= 100; ++i) {
            nursery.start([&sum, i] {
              sleep(std::chrono::microseconds(100 * (i % 7)));
              with_nursery([&](Nursery& inner) {
                for (int k = 0; k < 3; ++k) inner.start([&sum, i] { sum += i; });
                yield_now();
              });
            });
          }
        });
        expected += 3 * 100 * 101 / 2;
        sleep(3ms);  // time to retire
      }
    });
    CHECK(sum.load() == expected);
    CHECK(runtime.stats().promoted >= 1);
    CHECK(runtime.shutdown());
    CHECK(runtime.stats().started == runtime.stats().finished);
  }
}

TEST_CASE("elastic: what is woken for a worker that is stuck runs elsewhere [V-071] [V-070]") {
  for (const unsigned workers : {2U, 4U}) {
    CAPTURE(workers);
    Runtime runtime(brisk(workers));
    RuntimeCore& core = runtime.core();
    Pipe pipe;
    std::atomic<const TaskCore*> sleeper{nullptr};
    std::atomic<unsigned> stuck_at{~0U};
    std::atomic<unsigned> ran_at{~0U};
    runtime.run([&] {
      with_nursery([&](Nursery& nursery) {
        std::atomic<bool> parked{false};
        // Parks, and leaves its worker to a task that blocks there.
        auto waiting = nursery.spawn([&] {
          auto blocker = go([&] {
            while (!parked.load()) yield_now();
            stuck_at = this_worker()->index;
            pipe.wait();
          });
          sleeper = this_task();
          parked = true;
          blocker.wait();
          ran_at = this_worker()->index;
        });
        std::thread outside([&] {
          REQUIRE(eventually([&] { return stuck_at.load() != ~0U; }));
          Worker& stuck = core.worker(stuck_at.load());
          REQUIRE(settled(runtime, core, stuck));
          // As if it had last run there: a wake from outside would go to that inbox.
          const TaskCore* task = sleeper.load();
          REQUIRE(eventually([&] {
            const TaskMoment now = task->word.look();
            return now.state() == TaskState::parking && now.left();
          }));
          const_cast<TaskCore*>(task)->last_worker = static_cast<std::uint16_t>(stuck.index);
          const TaskMoment now = task->word.look();
          const std::uint64_t rescues = runtime.stats().rescues;
          REQUIRE(wake_task(const_cast<TaskCore*>(task), now.ticket(), WakeReason::flag));
          // It looks, finds that its blocker has not ended, and parks again: seen by its ticket.
          REQUIRE(eventually([&] { return task->word.look().ticket().number > now.ticket().number; }));
          CHECK(stuck.inbox.empty());
          CHECK(stuck.stuck.load());
          CHECK(runtime.stats().rescues == rescues);  // it was never there
          pipe.release(1);
        });
        waiting.wait();
        outside.join();
      });
    });
    CHECK(ran_at.load() != ~0U);
  }
}

namespace {

std::atomic<bool> guard_taken{false};
std::atomic<bool> guard_may_go{false};

int made_while_waiting() {
  static const int value = [] {
    guard_taken = true;
    while (!guard_may_go) sleep(1ms);  // the task parks inside the initialiser
    return 1;
  }();
  return value;
}

}  // namespace

TEST_CASE("elastic: a worker that waits for a static which a parked task initialises is named as such [HB25]") {
  if (!plain_run()) return;  // tools make the guard wait by a call of their own, and delay the signal
  RuntimeOptions options = brisk(2);
  Runtime runtime(options);
  runtime.run([&] {
    with_nursery([&](Nursery& nursery) {
      nursery.start([] { CHECK(made_while_waiting() == 1); });
      while (!guard_taken) sleep(100us);
      (void)nursery.spawn([] { CHECK(made_while_waiting() == 1); }, {.name = "the second"});
      std::thread outside([&] {
        CHECK(eventually([&] {
          const std::vector<StallReport> stalls = runtime.stalls();
          return std::any_of(stalls.begin(), stalls.end(), [](const StallReport& s) { return s.name == "the second"; });
        }));
        guard_may_go = true;
      });
      join_children(nursery.core());
      outside.join();
    });
  });
  CHECK(runtime.shutdown());
  bool named = false;
  for (const StallReport& stall : runtime.stalls()) {
    if (stall.name != "the second" || stall.stack.empty()) continue;
    const std::string text = to_string(stall);
    CAPTURE(text);
    CHECK(text.find("it waits for the initialiser of a static") != std::string::npos);
    CHECK(text.find("made_while_waiting") != std::string::npos);
    named = true;
  }
  CHECK(named);
}
