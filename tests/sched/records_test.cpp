// SPDX-License-Identifier: MIT
// Task records: who may take one, when it is free again, that they stay, and what they cost.
#include "sched/records.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/runtime_core.hpp"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using weft::detail::TaskCore;
using weft::detail::TaskState;

namespace {

std::set<const TaskCore*> all_records() {
  std::set<const TaskCore*> all;
  weft::detail::for_each_record(
      [](TaskCore* task, void* context) { static_cast<std::set<const TaskCore*>*>(context)->insert(task); }, &all);
  return all;
}

}  // namespace

// The pool's records are FREE, or over and not yet cleaned: both may be assigned, nothing else may.
TEST_CASE("records: IDLE is 0, what is pooled is idle, and only that can be assigned [V-012]") {
  static_assert(static_cast<int>(TaskState::free) == 0);
  CHECK(weft::detail::TaskWord().look().state() == TaskState::free);
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<void>> tasks;
      for (int i = 0; i < 100; ++i)
        tasks.push_back(u.spawn(n, [i] {
          if (i % 3 == 0) weft::yield_now();
        }));
      for (auto& task : tasks) task.join();
    });
  });
  // Nothing runs any more: whatever is not a thread's is idle.
  weft::detail::for_each_record(
      [](TaskCore* task, void*) {
        if (task->flags & weft::detail::task_thread) return;
        const TaskState state = task->word.look().state();
        CHECK((state == TaskState::free || state == TaskState::done || state == TaskState::cancelled));
      },
      nullptr);
}

TEST_CASE("records: from its spawn to its start a task is NEW, and no other spawn gets its record [V-013]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<int>> tasks;
      std::set<const TaskCore*> taken;
      constexpr int count = 2000;
      for (int i = 0; i < count; ++i) {
        tasks.push_back(n.spawn([i] { return i; }));
        taken.insert(tasks.back().core());
      }
      CHECK(taken.size() == count);
      for (const auto& task : tasks) REQUIRE(task.core()->word.look().state() == TaskState::fresh);
      for (int i = 0; i < count; ++i) CHECK(tasks[static_cast<std::size_t>(i)].join() == i);
    });
  });
}

// Here a core runs task after task: what is left at DONE is the task's own part of the stack.
TEST_CASE("records: who sees DONE sees that the body has left its frames, closure and locals included [V-015]") {
  struct Late {
    explicit Late(std::atomic<int>& count) : left(&count) {}
    Late(Late&& other) noexcept : left(std::exchange(other.left, nullptr)) {}
    Late& operator=(Late&&) = delete;
    ~Late() {
      if (left == nullptr) return;
      compute_for(20us);
      ++*left;
    }
    std::atomic<int>* left;
  };
  in_each_universe([](const Universe& u) {
    for (int round = 0; round < 5; ++round) {
      std::atomic<int> left = 0;
      weft::with_nursery([&](weft::Nursery& n) {
        auto task = u.spawn(n, [&left, captured = Late(left)] {
          const Late local(left);
          const Late another(left);
          if (captured.left == nullptr) throw std::logic_error("moved away");
          weft::yield_now();
        });
        if (u.mode == Mode::stolen) {
          while (!task.done()) weft::seam::pause();
        } else {
          task.wait();
        }
        CHECK(left == 3);
      });
    }
  });
}

TEST_CASE("records: a spawn with no idle record, stack or worker returns without a wait [V-038]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      const weft::RuntimeStats before = runtime.stats();
      std::size_t ran = 0;
      constexpr std::size_t count = 20'000;  // more than any pool holds
      for (std::size_t i = 0; i < count; ++i) n.start([&ran] { ++ran; });
      const weft::RuntimeStats after = runtime.stats();
      CHECK(ran == 0);
      CHECK(after.parks == before.parks);
      CHECK(after.switches == before.switches);
      CHECK(after.sleeps == before.sleeps);
      CHECK(after.cores_made == before.cores_made);
      weft::sleep(0ns);
      while (ran != count) weft::yield_now();
    });
  });
}

TEST_CASE("records: pooled per worker and shared between them: waves of tasks make no more [W-008]") {
  weft::Runtime runtime(workers(2));
  const auto wave = [&] {
    runtime.run([] {
      for (int round = 0; round < 20; ++round) {
        std::atomic<bool> all = false;  // live at once, however many are stolen meanwhile
        weft::with_nursery([&](weft::Nursery& n) {
          for (int i = 0; i < 1000; ++i)
            n.start([&] {
              while (!all) weft::yield_now();
            });
          all = true;
        });
      }
    });
  };
  wave();
  const std::uint64_t made = runtime.stats().records;
  for (int i = 0; i < 5; ++i) wave();
  CHECK(runtime.stats().records <= made + 1024);  // 100,000 tasks
  // What plain threads take and give back comes from the shared pool.
  const std::uint64_t before = runtime.stats().records;
  for (int i = 0; i < 5000; ++i) runtime.go([] {}).join();
  CHECK(runtime.stats().records <= before + 1024);
}

TEST_CASE("records: they are never given back to the system: the set of addresses only grows [W-009]") {
  std::vector<weft::Unparker> stale;
  std::set<const TaskCore*> before = all_records();
  for (int round = 0; round < 4; ++round) {
    weft::run(workers(2), [&] {
      std::atomic<int> waiting = 0;
      weft::with_nursery([&](weft::Nursery& n) {
        for (int i = 0; i < 200; ++i)
          n.start([&] {
            ++waiting;
            weft::sleep(50us);
          });
        n.start([&] { stale.push_back(weft::unparker()); });
      });
      CHECK(waiting == 200);
    });
    const std::set<const TaskCore*> after = all_records();
    std::size_t kept = 0;
    for (const TaskCore* record : before) kept += after.count(record);
    CHECK(kept == before.size());
    before = after;
    // Tokens of tasks, and of whole runtimes, that are long gone: harmless, whoever has the record now.
    for (const weft::Unparker& token : stale) token.unpark();
  }
  CHECK(stale.size() == 4);
}
