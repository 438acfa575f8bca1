// SPDX-License-Identifier: MIT
// Parking on a flag and ending that, from tasks and threads, in all orders.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/stress.hpp"
#include "doctest/doctest.h"
#include "sched/park_while.hpp"
#include "sched/task_view.hpp"
#include "sched/universe.hpp"
#include "weft/detail/fiber_core.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/runtime_error.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using Flag = std::atomic<std::uint32_t>;
using weft::WaitOutcome;
using weft::detail::state_name;
using weft::detail::TaskCore;
using weft::detail::TaskView;
using weft::detail::view_task;

TEST_CASE("park: a flag that has changed already returns without a park [V-044] [W-030] [W-040]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    Flag flag{1};
    weft::unparker().unpark();
    const weft::RuntimeStats before = runtime.stats();
    CHECK(weft::park_if(flag, 0) == WaitOutcome::changed);
    CHECK(runtime.stats().parks == before.parks);
    CHECK(runtime.stats().parks_avoided == before.parks_avoided);
  });
}

TEST_CASE("park: an unpark before the stack is left ends the wait at once, and that one only [V-040] [V-043]") {
  weft::RuntimeOptions options = workers(1);
  options.sysmon = false;
  weft::Runtime runtime(options);
  runtime.run([&] {
    const weft::Unparker me = weft::unparker();
    weft::detail::TaskCore& self = *weft::detail::task_here();
    const weft::detail::WaitInfo info{"park_if", nullptr, nullptr};
    for (const int times : {1, 2}) {
      CAPTURE(times);
      // Looks at a flag that never changes; its look after PARKING unparks.
      int unparked = 0;
      const auto unchanged = [&] {
        if (self.word.look().state() == weft::detail::TaskState::parking)
          for (; unparked < times; ++unparked) me.unpark();
        return true;
      };
      const weft::RuntimeStats before = runtime.stats();
      CHECK(weft::detail::park_unless_unparked(unchanged, info, weft::seam::no_deadline, weft::detail::Raise::yes) ==
            WaitOutcome::woken);
      CHECK(unparked == times);
      CHECK(runtime.stats().parks == before.parks);
      // Nothing of it is left for the next one, which sleeps.
      Flag never{0};
      CHECK(weft::park_if_for(never, 0, 1ms) == WaitOutcome::timed_out);
      CHECK(runtime.stats().parks == before.parks + 1);
    }
  });
}

TEST_CASE("park: an unpark before the wait ends that at once, once, however many they were [V-040] [V-043] [UNP-1]") {
  in_each_universe([](const Universe& u) {
    for (const int times : {1, 2, 7}) {
      Flag never{0};
      const auto unparked_before = [&](const auto& unpark) {
        for (int i = 0; i < times; ++i) unpark();
        CHECK(weft::park_if(never, 0) == WaitOutcome::woken);
        CHECK(weft::park_if_for(never, 0, 200us) == WaitOutcome::timed_out);
        // In each form of the wait.
        unpark();
        CHECK(weft::park_if_for(never, 0, 1h) == WaitOutcome::woken);
        unpark();
        CHECK(weft::park_if_result(never, 0, std::chrono::steady_clock::time_point::max()) == WaitOutcome::woken);
        // One whose flag has changed uses it up as well.
        unpark();
        CHECK(weft::park_if(never, 1) == WaitOutcome::changed);
        CHECK(weft::park_if_for(never, 0, 200us) == WaitOutcome::timed_out);
      };
      unparked_before([me = weft::unparker()] { me.unpark(); });
      // By a child, a plain thread, and of a plain thread.
      weft::with_nursery([&](weft::Nursery& n) {
        unparked_before([&, me = weft::unparker()] { u.spawn(n, [&] { me.unpark(); }).join(); });
      });
      unparked_before([me = weft::unparker()] { std::thread([&] { me.unpark(); }).join(); });
      std::thread([&] { unparked_before([me = weft::unparker()] { me.unpark(); }); }).join();
    }
  });
}

TEST_CASE(
    "park: store the flag, then unpark: never missed, from a thread and from a task [V-039] [V-042] [V-021] [B1]") {
  in_each_universe([](const Universe& u) {
    // Data written before the flag is there after the wait.
    int data = 0;
    Flag ready{0};
    const weft::Unparker me = weft::unparker();
    std::thread outside([&] {
      data = 42;
      ready.store(1, std::memory_order_release);
      me.unpark();
    });
    while (ready.load(std::memory_order_acquire) == 0) (void)weft::park_if(ready, 0);
    CHECK(data == 42);
    outside.join();

    Flag ping{0};
    Flag pong{0};
    weft::Unparker other;
    Flag known{0};
    constexpr std::uint32_t rounds = 2000;
    weft::with_nursery([&](weft::Nursery& n) {
      auto partner = u.spawn(n, [&] {
        other = weft::unparker();
        known.store(1);
        me.unpark();
        for (std::uint32_t i = 1; i <= rounds; ++i) {
          while (ping.load() != i) (void)weft::park_if(ping, i - 1);
          pong.store(i);
          me.unpark();
        }
      });
      while (known.load() == 0) (void)weft::park_if(known, 0);
      for (std::uint32_t i = 1; i <= rounds; ++i) {
        ping.store(i);
        other.unpark();
        while (pong.load() != i) (void)weft::park_if(pong, i - 1);
      }
    });
    CHECK(pong == rounds);
  });
}

TEST_CASE("park: a second unpark of one wait does nothing; a later wait sleeps [V-020] [V-043] [V-052]") {
  in_each_universe([](const Universe& u) {
    Flag never{0};
    std::atomic<int> rounds = 0;
    weft::Unparker sleeper;
    weft::with_nursery([&](weft::Nursery& n) {
      auto task = u.spawn(n, [&] {
        sleeper = weft::unparker();
        for (;;) {
          (void)weft::park_if(never, 0);
          ++rounds;
        }
      });
      until_parked(task);
      sleeper.unpark();
      sleeper.unpark();
      until([&] { return rounds >= 1; });
      until_parked(task);
      const int after = rounds;
      CHECK(after <= 2);  // the second may have met the next wait
      weft::sleep(500us);
      CHECK(rounds == after);
      task.cancel();
    });
  });
}

TEST_CASE("park: after its task has ended an unparker does nothing, whoever uses the record then [B6]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    std::vector<weft::Unparker> old;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 300; ++i) n.start([&] { old.push_back(weft::unparker()); });
    });
    Flag never{0};
    std::atomic<int> woken = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<void>> sleepers;
      for (int i = 0; i < 300; ++i)
        sleepers.push_back(n.spawn([&] {
          (void)weft::park_if(never, 0);
          ++woken;
        }));
      for (const auto& sleeper : sleepers) until_parked(sleeper);
      for (const weft::Unparker& stale : old) stale.unpark();
      weft::sleep(500us);
      CHECK(woken == 0);
      n.cancel();
    });
  });
}

TEST_CASE("park: cancel, timeout and unpark each end a wait, and are told apart [V-050] [W-102]") {
  in_each_universe([](const Universe& u) {
    Flag never{0};
    CHECK(weft::park_if_for(never, 0, 200us) == WaitOutcome::timed_out);
    CHECK_FALSE(weft::timeout(200us, [&] {
      for (;;) (void)weft::park_if(never, 0);
    }));
    bool cancelled = false;
    weft::with_nursery([&](weft::Nursery& n) {
      auto task = u.spawn(n, [&] {
        try {
          for (;;) (void)weft::park_if(never, 0);
        } catch (const weft::Cancelled&) {
          cancelled = true;
          throw;
        }
      });
      until_parked(task);
      task.cancel();
      task.wait();
      CHECK(task.status() == weft::TaskStatus::cancelled);
    });
    CHECK(cancelled);
  });
}

TEST_CASE("park: the quiet form never throws and sees cancel and deadline at every moment [N-028]") {
  in_each_universe([](const Universe& u) {
    Flag never{0};
    WaitOutcome outcome = WaitOutcome::changed;
    weft::timeout(300us, [&] { outcome = weft::park_if_result(never, 0); });
    CHECK(outcome == WaitOutcome::cancelled);
    for (int round = 0; round < 30; ++round) {
      weft::with_nursery([&](weft::Nursery& n) {
        outcome = WaitOutcome::changed;
        std::atomic<bool> begun = false;
        auto task = u.spawn(n, [&] {
          begun = true;
          outcome = weft::park_if_result(never, 0);
        });
        until([&] { return begun.load(); });
        n.cancel();
      });
      CHECK(outcome == WaitOutcome::cancelled);
    }
  });
}

TEST_CASE("park: another task runs on the one worker while the first is parked [V-047] [W-045]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    Flag flag{0};
    bool other_ran = false;
    const weft::Unparker me = weft::unparker();
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        other_ran = true;
        flag.store(1);
        me.unpark();
      });
      while (flag.load() == 0) (void)weft::park_if(flag, 0);
      CHECK(other_ran);
    });
  });
}

TEST_CASE("park: who is blocked shows PARKED, and its saved stack pointer stands still while others run [V-014]") {
  for (const unsigned count : worker_counts()) {
    weft::Runtime runtime(workers(count));
    runtime.run([&] {
      Flag flag{0};
      std::atomic<const TaskCore*> blocked{nullptr};
      weft::Unparker wake;
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] {
          wake = weft::unparker();
          blocked = weft::detail::this_task();
          while (flag.load() == 0) (void)weft::park_if(flag, 0);
        });
        TaskView first;
        until([&] { return blocked != nullptr && view_task(blocked, first) && first.parked(); });
        CHECK(std::string(state_name(first.moment)) == "PARKED");
        REQUIRE(first.top != nullptr);
        const void* sp = first.top->ctx.sp;
        for (int round = 0; round < 200; ++round) {
          weft::with_nursery([&](weft::Nursery& others) {
            for (int i = 0; i < 4; ++i) others.start([] { weft::yield_now(); });
          });
          TaskView again;
          REQUIRE(view_task(blocked, again));
          CHECK_UNARY(std::string(state_name(again.moment)) == "PARKED");
          CHECK_UNARY((again.top == first.top && again.top->ctx.sp == sp));
          CHECK_UNARY(again.moment.bits() == first.moment.bits());  // not a new wait of the same kind
        }
        flag = 1;
        wake.unpark();
      });
    });
  }
}

TEST_CASE("park: the innermost fiber of a chain parks the task; waking it goes straight back there [HA1.2]") {
  in_each_universe([](const Universe& u) {
    Flag flag{0};
    std::string trail;
    weft::Unparker wake;
    weft::with_nursery([&](weft::Nursery& n) {
      auto task = u.spawn(n, [&] {
        wake = weft::unparker();
        weft::Fiber inner(
            [&] {
              while (flag.load() == 0) (void)weft::park_if(flag, 0);
              trail += "inner ";
              weft::yield(1);
              trail += "again ";
            },
            weft::SignalSet{weft::sig::yield});
        weft::Fiber outer([&] {
          (void)inner.resume();
          trail += "outer ";
          weft::sleep(50us);
          (void)inner.resume();
        });
        (void)outer.resume();
        trail += "task";
      });
      until_parked(task);
      flag.store(1);
      wake.unpark();
      task.join();
    });
    CHECK(trail == "inner outer again task");
  });
}

TEST_CASE("park: a cancel by handle never hits the task that follows on the same stack [HA1.1]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    for (int round = 0; round < 500; ++round) {
      weft::with_nursery([&](weft::Nursery& n) {
        auto second = n.spawn([] {
          weft::yield_now();
          weft::sleep(0ns);
          return 2;
        });
        auto first = n.spawn([] { return 1; });
        CHECK(first.join() == 1);
        first.cancel();
        first.interrupt();
        CHECK(second.join() == 2);
      });
    }
  });
}

TEST_CASE("park: a plain thread parks and is woken, by threads and tasks [N-013]") {
  weft::Runtime runtime(workers(2));
  Flag flag{0};
  std::atomic<bool> told = false;
  std::atomic<bool> woken = false;
  weft::Unparker thread_handle;
  std::thread waiter([&] {
    thread_handle = weft::unparker();
    told = true;
    while (flag.load() == 0) (void)weft::park_if(flag, 0);
    while (!woken) std::this_thread::yield();  // the unpark may come after the flag was seen
    CHECK(weft::park_if_for(flag, 1, 1ms) == WaitOutcome::timed_out);
    const auto began = std::chrono::steady_clock::now();
    weft::sleep(2ms);
    CHECK(std::chrono::steady_clock::now() - began >= 2ms);
    CHECK_FALSE(weft::timeout(1ms, [] { weft::sleep(1h); }));
  });
  REQUIRE(eventually([&] { return told.load(); }));
  runtime.run([&] {
    weft::sleep(1ms);
    flag.store(1);
    thread_handle.unpark();
    woken = true;
  });
  waiter.join();
}

TEST_CASE("park: sums are exact with random delays, eight workers on whatever there is [V-003] [V-042] [B40]") {
  WEFT_LOG_SEED();
  constexpr std::size_t pairs = 8;
  constexpr std::uint32_t rounds = 3000;
  struct Pair {
    Flag there{0};
    Flag back{0};
    Flag known{0};
    weft::Unparker left;
    weft::Unparker right;
    std::uint64_t sum = 0;
  };
  std::vector<Pair> all(pairs);
  weft::run(workers(8), [&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (std::size_t p = 0; p < pairs; ++p) {
        n.start([&pair = all[p], p] {
          Dice dice(p * 2);
          pair.left = weft::unparker();
          pair.known.store(1);
          while (pair.known.load() != 2) weft::yield_now();
          for (std::uint32_t i = 1; i <= rounds; ++i) {
            if (dice.below(16) == 0) compute_for(std::chrono::nanoseconds(dice.below(2000)));
            pair.there.store(i);
            pair.right.unpark();
            while (pair.back.load() != i) (void)weft::park_if(pair.back, i - 1);
            pair.sum += i;
          }
        });
        n.start([&pair = all[p], p] {
          Dice dice(p * 2 + 1);
          while (pair.known.load() != 1) weft::yield_now();
          pair.right = weft::unparker();
          pair.known.store(2);
          for (std::uint32_t i = 1; i <= rounds; ++i) {
            while (pair.there.load() != i) (void)weft::park_if(pair.there, i - 1);
            if (dice.below(16) == 0) compute_for(std::chrono::nanoseconds(dice.below(2000)));
            if (dice.below(64) == 0) weft::yield_now();
            pair.back.store(i);
            pair.left.unpark();
          }
        });
      }
    });
  });
  for (const Pair& pair : all) CHECK(pair.sum == std::uint64_t{rounds} * (rounds + 1) / 2);
}
