// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "explorer/explore.hpp"
#include "weft/detail/assert.hpp"
#include "weft/detail/seam.hpp"
#include "weft/detail/tools.hpp"

namespace verify = weft::verify;
namespace seam = weft::seam;
using verify::check;
using verify::Dfs;
using verify::Verdict;
using verify::World;

namespace {

using Word = seam::Atomic<std::uint32_t>;

// Two threads that read, add one and write back.
void lost_update(World& world) {
  auto& counter = world.make<Word>("counter", 0u);
  for (const char* name : {"left", "right"}) {
    world.thread(name, [&] { counter.store(counter.load() + 1); });
  }
  world.finally([&] { check(counter.load() == 2, "an increment was lost"); });
}

std::uint64_t interleavings(int steps_of_each, int threads) {
  auto scenario = [=](World& world) {
    auto& word = world.make<Word>("word", 0u);
    for (int i = 0; i < threads; ++i) {
      world.thread("t" + std::to_string(i), [&word, steps_of_each] {
        for (int step = 0; step < steps_of_each; ++step) word.fetch_add(1);
      });
    }
  };
  const auto result = verify::explore({.name = "count", .mode = Dfs{.preemptions = -1}}, scenario);
  CHECK(result.ok());
  CHECK(result.complete);
  return result.executions;
}

}  // namespace

TEST_CASE("explorer: complete search runs each interleaving exactly once") {
  CHECK(interleavings(1, 2) == 2);
  CHECK(interleavings(2, 2) == 6);
  CHECK(interleavings(3, 2) == 20);
  CHECK(interleavings(6, 2) == 924);
  CHECK(interleavings(2, 3) == 90);    // 6! / (2! 2! 2!)
  CHECK(interleavings(3, 3) == 1680);  // 9! / (3! 3! 3!)
}

TEST_CASE("explorer: a preemption bound counts what it says") {
  // Two threads of n steps: with bound 0 either goes first, with bound 1 each may be interrupted before steps 2..n.
  auto scenario = [](World& world) {
    auto& word = world.make<Word>("word", 0u);
    for (const char* name : {"left", "right"}) {
      world.thread(name, [&] {
        for (int step = 0; step < 5; ++step) word.fetch_add(1);
      });
    }
  };
  const auto none = verify::explore({.name = "count", .mode = Dfs{.preemptions = 0}}, scenario);
  CHECK(none.executions == 2);
  const auto one = verify::explore({.name = "count", .mode = Dfs{.preemptions = 1}}, scenario);
  CHECK(one.executions == 2 + (2 + 2 * 4));
}

TEST_CASE("explorer: a lost update needs one preemption and is found with it") {
  const auto without = verify::explore({.name = "lost update", .mode = Dfs{.preemptions = 0}}, lost_update);
  CHECK(without.ok());
  CHECK(without.complete);
  const auto with = verify::explore({.name = "lost update", .mode = Dfs{.preemptions = 1}}, lost_update);
  CHECK(with.verdict == Verdict::assertion);
  CHECK(with.message == "an increment was lost");
  CHECK(with.schedule == "lost update@ab2a");
  CHECK(with.report.find("left     load counter = 0") != std::string::npos);
  CHECK(with.report.find("right    store counter := 1") != std::string::npos);
}

TEST_CASE("explorer: replay repeats a failure exactly, and says so when the schedule does not fit") {
  const auto found = verify::explore({.name = "lost update"}, lost_update);
  REQUIRE_FALSE(found.ok());
  const auto again = verify::explore({.name = "lost update", .mode = verify::Replay{found.schedule}}, lost_update);
  CHECK(again.verdict == found.verdict);
  CHECK(again.message == found.message);
  CHECK(again.schedule == found.schedule);
  CHECK(again.executions == 1);
  CHECK(again.report.substr(0, again.report.find("found by")) == found.report.substr(0, found.report.find("found by")));
  const auto passing = verify::explore({.name = "lost update", .mode = verify::Replay{"a2b2"}}, lost_update);
  CHECK(passing.ok());
  const auto foreign = verify::explore({.name = "lost update", .mode = verify::Replay{"a3b"}}, lost_update);
  CHECK(foreign.verdict == Verdict::replay_diverged);
  CHECK(foreign.message.find("step 3") != std::string::npos);
  const auto garbled = verify::explore({.name = "lost update", .mode = verify::Replay{"a2=b"}}, lost_update);
  CHECK(garbled.verdict == Verdict::replay_diverged);
}

TEST_CASE("explorer: a deadlock names each thread, its lock and the holder") {
  const auto result = verify::explore({.name = "abba", .mode = Dfs{.preemptions = 1}}, [](World& world) {
    auto& first = world.make<seam::Mutex>("first");
    auto& second = world.make<seam::Mutex>("second");
    world.thread("left", [&] {
      first.lock();
      second.lock();
      second.unlock();
      first.unlock();
    });
    world.thread("right", [&] {
      second.lock();
      first.lock();
      first.unlock();
      second.unlock();
    });
  });
  CHECK(result.verdict == Verdict::deadlock);
  CHECK(result.message.find("left waits for lock second, held by right") != std::string::npos);
  CHECK(result.message.find("right waits for lock first, held by left") != std::string::npos);
}

namespace {

// recheck: the sleeper hands the value it looked at to futex_wait. Without, it sleeps on whatever is there now.
void wakeup(World& world, bool recheck) {
  auto& flag = world.make<Word>("flag", 0u);
  world.thread("sleeper", [&flag, recheck] {
    if (recheck) {
      while (flag.load() == 0) seam::futex_wait(flag, 0, seam::no_deadline);
    } else if (flag.load() == 0) {
      const std::uint32_t now = flag.load();
      seam::futex_wait(flag, now, seam::no_deadline);
    }
  });
  world.thread("waker", [&flag] {
    flag.store(1);
    seam::futex_wake(flag, 1);
  });
}

}  // namespace

TEST_CASE("explorer: a wakeup lost between the check and the sleep is found [B1]") {
  const auto good = verify::explore({.name = "wakeup"}, [](World& world) { wakeup(world, true); });
  CHECK(good.ok());
  CHECK(good.complete);
  const auto bad = verify::explore({.name = "lost wakeup"}, [](World& world) { wakeup(world, false); });
  CHECK(bad.verdict == Verdict::deadlock);
  CHECK(bad.message.find("sleeper sleeps on futex flag") != std::string::npos);
}

TEST_CASE("explorer: a deadline passes when nobody else can go on, and may pass earlier") {
  bool timed_out_late = false;
  bool timed_out_early = false;
  bool woken = false;
  const auto result = verify::explore({.name = "deadline", .mode = Dfs{.preemptions = 1}}, [&](World& world) {
    auto& flag = world.make<Word>("flag", 0u);
    world.thread("sleeper", [&] {
      const std::int64_t deadline = seam::monotonic_ns() + 1'000;
      const auto outcome = seam::futex_wait(flag, 0, deadline);
      if (outcome == seam::WaitResult::timed_out) check(seam::monotonic_ns() >= deadline, "timed out too early");
      if (outcome == seam::WaitResult::woken) woken = true;
      if (outcome == seam::WaitResult::timed_out) (flag.load() == 0 ? timed_out_early : timed_out_late) = true;
    });
    world.thread("waker", [&] {
      flag.store(1);
      seam::futex_wake(flag, 1);
    });
  });
  CHECK(result.ok());
  CHECK(timed_out_late);
  CHECK(timed_out_early);
  CHECK(woken);
  const auto alone = verify::explore({.name = "alone"}, [](World& world) {
    auto& flag = world.make<Word>("flag", 0u);
    world.thread("sleeper", [&] {
      check(seam::futex_wait(flag, 0, seam::monotonic_ns() + 5) == seam::WaitResult::timed_out, "nobody wakes");
    });
  });
  CHECK(alone.ok());
  CHECK(alone.executions == 3);  // one per bound
}

TEST_CASE("explorer: a waiting loop ends the search, an endless one is a livelock") {
  auto spin = [](World& world, bool released) {
    auto& flag = world.make<Word>("flag", 0u);
    for (const char* name : {"spinner", "other spinner"}) {
      world.thread(name, [&flag] {
        while (flag.load() == 0) seam::pause();
      });
    }
    world.thread("releaser", [&flag, released] {
      if (released) flag.store(1);
    });
  };
  const auto good = verify::explore({.name = "spin"}, [&](World& world) { spin(world, true); });
  CHECK(good.ok());
  CHECK(good.complete);
  const auto bad = verify::explore({.name = "spin", .steps = 200}, [&](World& world) { spin(world, false); });
  CHECK(bad.verdict == Verdict::livelock);
}

TEST_CASE("explorer: pct finds a bug of depth 2 from a seed, the same one each time") {
  auto scenario = [](World& world) {
    auto& stage = world.make<Word>("stage", 0u);
    auto& noise = world.make<Word>("noise", 0u);
    world.thread("writer", [&] {
      for (int i = 0; i < 10; ++i) noise.fetch_add(1);
      stage.store(1);
      noise.fetch_add(1);
      stage.store(2);
      for (int i = 0; i < 10; ++i) noise.fetch_add(1);
    });
    world.thread("reader", [&] {
      for (int i = 0; i < 10; ++i) noise.fetch_add(1);
      check(stage.load() != 1, "the reader saw the half-way state");
    });
  };
  const auto first = verify::explore({.name = "half", .mode = verify::Pct{.depth = 2, .seed = 7}}, scenario);
  CHECK(first.verdict == Verdict::assertion);
  CHECK(first.executions > 1);
  const auto second = verify::explore({.name = "half", .mode = verify::Pct{.depth = 2, .seed = 7}}, scenario);
  CHECK(second.schedule == first.schedule);
  CHECK(second.executions == first.executions);
  const auto walk = verify::explore({.name = "half", .mode = verify::RandomWalk{.seed = 3}}, scenario);
  CHECK(walk.verdict == Verdict::assertion);
  const auto replay = verify::explore({.name = "half", .mode = verify::Replay{walk.schedule}}, scenario);
  CHECK(replay.verdict == Verdict::assertion);
}

TEST_CASE("explorer: a scenario that depends on anything but the schedule is named as such") {
  int calls = 0;
  const auto values = verify::explore({.name = "values"}, [&](World& world) {
    auto& word = world.make<Word>("word", 0u);
    const int call = ++calls;
    world.thread("only", [&word, call] { word.store(static_cast<std::uint32_t>(call)); });
  });
  CHECK(values.verdict == Verdict::nondeterministic);
  CHECK(values.message.find("not deterministic at step 1") != std::string::npos);
  calls = 0;
  const auto shape = verify::explore({.name = "shape"}, [&](World& world) {
    auto& word = world.make<Word>("word", 0u);
    const int call = ++calls;
    world.thread("left", [&word, call] {
      for (int i = 0; i < (call % 3 == 0 ? 3 : 2); ++i) word.fetch_add(0);
    });
    world.thread("right", [&word] {
      word.fetch_add(0);
      word.fetch_add(0);
    });
  });
  CHECK(shape.verdict == Verdict::nondeterministic);
}

TEST_CASE("explorer: an order too weak to publish plain data is a race although memory is sequential") {
  auto publish = [](World& world, std::memory_order store, std::memory_order load) {
    auto& data = world.make<verify::Plain<int>>("data");
    auto& ready = world.make<Word>("ready", 0u);
    world.thread("writer", [&, store] {
      data.write(42);
      ready.store(1, store);
    });
    world.thread("reader", [&, load] {
      if (ready.load(load) == 1) check(data.read() == 42, "the data came late");
    });
  };
  const auto verdict = [&](std::memory_order store, std::memory_order load) {
    return verify::explore({.name = "publish"}, [&](World& world) { publish(world, store, load); }).verdict;
  };
  CHECK(verdict(std::memory_order_release, std::memory_order_acquire) == Verdict::passed);
  CHECK(verdict(std::memory_order_relaxed, std::memory_order_acquire) == Verdict::race);
  CHECK(verdict(std::memory_order_release, std::memory_order_relaxed) == Verdict::race);
}

TEST_CASE("explorer: making a plain object is a write, and its address may be used again") {
  auto hand_over = [](World& world, std::memory_order order) {
    auto& box = world.make<seam::Atomic<verify::Plain<int>*>>("box", nullptr);
    auto& room = world.make<std::array<std::byte, sizeof(verify::Plain<int>)>>("room");
    world.thread("maker", [&, order] {
      {
        verify::Plain<int> earlier(0);
      }
      box.store(new (&room) verify::Plain<int>(7), order);
    });
    world.thread("reader", [&] {
      if (auto* made = box.load(std::memory_order_acquire)) check(made->read() == 7, "not what was made");
    });
  };
  const auto good = verify::explore({.name = "make"}, [&](World& w) { hand_over(w, std::memory_order_release); });
  CHECK(good.ok());
  const auto bad = verify::explore({.name = "make"}, [&](World& w) { hand_over(w, std::memory_order_relaxed); });
  CHECK(bad.verdict == Verdict::race);
  const auto reused = verify::explore({.name = "reuse"}, [](World& world) {
    auto& room = world.make<std::array<std::byte, sizeof(verify::Plain<int>)>>("room");
    auto& turn = world.make<Word>("turn", 0u);
    world.thread("first", [&] {
      auto* mine = new (&room) verify::Plain<int>(1);
      mine->write(2);
      turn.store(1, std::memory_order_relaxed);  // orders nothing, but the object is gone by then
    });
    world.thread("second", [&] {
      while (turn.load(std::memory_order_relaxed) == 0) seam::pause();
      auto* mine = new (&room) verify::Plain<int>(3);
      check(mine->read() == 3, "not what was made");
    });
  });
  CHECK(reused.ok());
}

TEST_CASE("explorer: fences and release sequences order plain data as the language says") {
  auto run = [](bool release_fence, bool acquire_fence) {
    return verify::explore({.name = "fences"},
                           [=](World& world) {
                             auto& data = world.make<verify::Plain<int>>("data");
                             auto& ready = world.make<Word>("ready", 0u);
                             world.thread("writer", [&, release_fence] {
                               data.write(1);
                               if (release_fence) seam::fence(std::memory_order_release);
                               ready.store(1, std::memory_order_relaxed);
                             });
                             world.thread("middle", [&] { ready.fetch_add(2, std::memory_order_relaxed); });
                             world.thread("reader", [&, acquire_fence] {
                               const bool seen = (ready.load(std::memory_order_relaxed) & 1) != 0;
                               if (acquire_fence) seam::fence(std::memory_order_acquire);
                               if (seen) data.read();
                             });
                           })
        .verdict;
  };
  CHECK(run(true, true) == Verdict::passed);
  CHECK(run(false, true) == Verdict::race);
  CHECK(run(true, false) == Verdict::race);
}

TEST_CASE("explorer: with delayed stores two threads miss each other unless both fence") {
  auto run = [](int delays, auto left_fence, auto right_fence, bool asymmetric = false) {
    return verify::explore({.name = "dekker", .delays = delays, .asymmetric = asymmetric},
                           [=](World& world) {
                             auto& a = world.make<Word>("a", 0u);
                             auto& b = world.make<Word>("b", 0u);
                             auto& seen = world.make<std::array<std::uint32_t, 2>>("seen");
                             world.thread("left", [&, left_fence] {
                               a.store(1, std::memory_order_release);
                               left_fence();
                               seen[0] = b.load(std::memory_order_acquire);
                             });
                             world.thread("right", [&, right_fence] {
                               b.store(1, std::memory_order_release);
                               right_fence();
                               seen[1] = a.load(std::memory_order_acquire);
                             });
                             world.finally([&] { check(seen[0] + seen[1] > 0, "both missed the other's store"); });
                           })
        .verdict;
  };
  const auto none = [] {};
  const auto full = [] { seam::fence(std::memory_order_seq_cst); };
  CHECK(run(0, none, none) == Verdict::passed);  // sequential memory hides it
  CHECK(run(2, none, none) == Verdict::assertion);
  CHECK(run(2, full, none) == Verdict::assertion);
  CHECK(run(2, none, full) == Verdict::assertion);
  CHECK(run(2, full, full) == Verdict::passed);
  const auto light = [] { seam::light_fence(); };
  const auto heavy = [] { seam::heavy_fence(); };
  CHECK(run(2, light, light) == Verdict::passed);
  CHECK(run(2, light, heavy, true) == Verdict::passed);
  CHECK(run(2, light, light, true) == Verdict::assertion);
  CHECK(run(2, none, heavy) == Verdict::assertion);
}

TEST_CASE("explorer: spurious failures of weak operations are tried when asked for") {
  auto scenario = [](World& world) {
    auto& word = world.make<Word>("word", 0u);
    world.thread("only", [&] {
      std::uint32_t expected = 0;
      check(word.compare_exchange_weak(expected, 1), "a lone weak exchange failed");
    });
  };
  CHECK(verify::explore({.name = "weak"}, scenario).ok());
  CHECK(verify::explore({.name = "weak", .spurious = true}, scenario).verdict == Verdict::assertion);
}

TEST_CASE("explorer: threads start and join logical threads") {
  const auto result = verify::explore({.name = "start"}, [](World& world) {
    auto& data = world.make<verify::Plain<int>>("data");
    world.thread("parent", [&] {
      data.write(1);
      auto child = seam::Thread::start("child", [&] { data.write(data.read() + 1); });
      child.join();
      check(data.read() == 2, "the child's write is missing");
    });
  });
  CHECK(result.ok());
  CHECK(result.complete);
}

TEST_CASE("explorer: what finally does is watched too") {
  const auto loops = verify::explore({.name = "loops", .steps = 100}, [](World& world) {
    auto& word = world.make<Word>("word", 0u);
    world.thread("only", [&] { word.store(1); });
    world.finally([&] {
      while (word.load() == 1) continue;
    });
  });
  CHECK(loops.verdict == Verdict::livelock);
  CHECK(loops.message == "finally does not end");
  const auto blocks = verify::explore({.name = "blocks"}, [](World& world) {
    auto& lock = world.make<seam::Mutex>("lock");
    world.thread("keeper", [&] { lock.lock(); });
    world.finally([&] { lock.lock(); });
  });
  CHECK(blocks.verdict == Verdict::deadlock);
  CHECK(blocks.message == "nobody is left, and finally waits for lock lock, held by keeper");
}

#if !WEFT_ASAN
namespace {

[[gnu::noinline]] int deeper(int depth) {
  volatile char room[1024];
  room[0] = static_cast<char>(depth);
  return depth == 0 ? 0 : room[0] + deeper(depth + 1);
}

}  // namespace

TEST_CASE("explorer: a crash of the code under test is a failure with its schedule") {
  const auto access = verify::explore({.name = "access"}, [](World& world) {
    auto& pointer = world.make<seam::Atomic<int*>>("pointer", nullptr);
    auto& target = world.make<int>("target", 7);
    world.thread("reader", [&] { check(*pointer.load() == 7, "a wrong value"); });
    world.thread("writer", [&] { pointer.store(&target); });
  });
  CHECK(access.verdict == Verdict::crash);
  CHECK(access.message == "reader crashed: SIGSEGV");
  CHECK(access.schedule == "access@a");
  const auto overflow = verify::explore({.name = "overflow"}, [](World& world) {
    auto& word = world.make<Word>("word", 0u);
    world.thread("deep", [&] { word.store(static_cast<std::uint32_t>(deeper(1))); });
  });
  CHECK(overflow.verdict == Verdict::crash);
  const auto aborted =
      verify::explore({.name = "abort"}, [](World& world) { world.thread("quitter", [] { std::abort(); }); });
  CHECK(aborted.message == "quitter crashed: SIGABRT");
  const auto asserted = verify::explore({.name = "assert"}, [](World& world) {
    world.thread("wrong", [] { WEFT_ASSERT(1 + 1 == 3, "sums must be right"); });
  });
  CHECK(asserted.verdict == Verdict::assertion);
  CHECK(asserted.message == "assertion: sums must be right (1 + 1 == 3)");
}
#endif

TEST_CASE("explorer: an exception may be in flight while another thread handles its own") {
  const auto result = verify::explore({.name = "catch"}, [](World& world) {
    auto& word = world.make<Word>("word", 0u);
    for (int i = 0; i < 2; ++i) {
      world.thread("t" + std::to_string(i), [&word, i] {
        try {
          throw std::runtime_error(std::to_string(i));
        } catch (const std::runtime_error& error) {
          word.fetch_add(1);
          word.fetch_add(1);
          try {
            throw;
          } catch (const std::runtime_error& again) {
            check(again.what() == std::to_string(i), "rethrow threw the other thread's exception");
            check(std::string(error.what()) == again.what(), "not the same exception");
          }
        }
        check(std::uncaught_exceptions() == 0, "an exception is still in flight");
      });
    }
  });
  CHECK(result.ok());
  CHECK(result.complete);
}

TEST_CASE("explorer: exceptions, foreign unlocks and failing finals are failures with a schedule") {
  const auto thrown = verify::explore(
      {.name = "throws"}, [](World& world) { world.thread("thrower", [] { throw std::runtime_error("no luck"); }); });
  CHECK(thrown.verdict == Verdict::exception);
  CHECK(thrown.message == "thrower let an exception out: no luck");
  const auto foreign = verify::explore({.name = "unlock"}, [](World& world) {
    auto& lock = world.make<seam::SpinLock>("lock");
    world.thread("thief", [&] { lock.unlock(); });
  });
  CHECK(foreign.verdict == Verdict::misuse);
  CHECK(foreign.message == "thief unlocks lock, which it does not hold");
}
