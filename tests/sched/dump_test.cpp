// SPDX-License-Identifier: MIT
#include "weft/dump.hpp"

#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/peek.hpp"
#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/park.hpp"
#include "sched/runtime_help.hpp"
#include "sched/task_view.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The first line of a task with this name; empty if there is none.
std::string line_about(const std::string& text, const std::string& name) {
  for (const std::string& line : lines_of(text))
    if (line.find("task ") != std::string::npos && line.find("\"" + name + "\" ") != std::string::npos) return line;
  return "";
}

std::size_t depth_of(const std::string& line) {
  return line.find_first_not_of(' ');
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

bool is_parked(const TaskCore* task) {
  const TaskMoment now = task->word.look();
  return now.state() == TaskState::parking && now.left() && now.reason() == WakeReason::none;
}

}  // namespace

TEST_CASE("dump: each state appears under its name [W-017] [W-018] [W-019] [W-020] [W-021] [W-022] [W-023] [W-024]") {
  RuntimeOptions options = with_workers(1);
  options.in_place = false;
  options.sysmon = false;  // which would help a worker whose dump waits for the disk
  Runtime runtime(options);
  runtime.run(
      [&] {
        Task<void> done = go([] {}, {.name = "finished"});
        done.wait();
        Task<void> cancelled = go([] { sleep(1h); }, {.name = "stopped"});
        while (!is_parked(cancelled.core())) yield_now();
        CHECK(says(line_about(dump(), "stopped"), "PARKED sleep"));
        cancelled.cancel();
        cancelled.wait();
        std::atomic<bool> stop{false};  // outlives those who look at it
        with_nursery([&](Nursery& nursery) {
          auto yielder = nursery.spawn(
              [&] {
                while (!stop.load()) yield_now();
              },
              {.name = "yielder"});
          for (int i = 0; i < 3; ++i) yield_now();
          auto unborn = nursery.spawn([] {}, {.name = "unborn"});
          const std::string text = dump();
          CAPTURE(text);
          CHECK(says(line_about(text, "unborn"), "INIT"));
          CHECK(says(line_about(text, "yielder"), "RUNNABLE"));
          CHECK(says(line_about(text, "the one who asks"), "RUNNING on worker 0"));
          CHECK(says(line_about(text, "finished"), "DONE"));
          CHECK(says(line_about(text, "stopped"), "CANCELLED"));
          stop = true;
        });
        // A wait, stopped at each of its steps.
        TaskCore& self = *task_here();
        const WaitInfo info{"a test", nullptr, nullptr};
        begin_wait(self, info, seam::no_deadline, Raise::no);
        (void)self.word.begin_park();
        CHECK(says(line_about(dump(), "the one who asks"), "PARKING"));
        REQUIRE(self.word.claim_own(WakeReason::data) == TaskWord::Claimed::yes);
        CHECK(says(line_about(dump(), "the one who asks"), "WAKING by data"));
        REQUIRE(self.word.deliver() == TaskWord::Queue::not_you);
        REQUIRE(self.word.delivered());
        (void)self.word.stay();
        self.wait = nullptr;
        CHECK(says(line_about(dump(), "the one who asks"), "RUNNING"));
      },
      {.name = "the one who asks"});
}

TEST_CASE("dump: a state that is one by itself has the name that the task word gives it [W-017]") {
  for (const TaskState state : {TaskState::free, TaskState::fresh, TaskState::runnable, TaskState::running,
                                TaskState::suspended, TaskState::joining, TaskState::done, TaskState::cancelled})
    CHECK(std::string(state_name(TaskMoment(state, {7}, 1))) == to_string(state));
}

TEST_CASE("dump: a wake that has claimed and not delivered shows as WAKING, fused ones too [W-022]") {
  CHECK(std::string(state_name(TaskMoment(TaskState::parking, {7}, 1))) == "PARKING");
  TaskWord word;
  word.make_fresh();
  (void)word.run_on(1);
  const Ticket ticket = word.begin_park();
  CHECK(std::string(state_name(word.look())) == "PARKING");
  REQUIRE(word.leave() == TaskWord::Queue::not_you);
  CHECK(std::string(state_name(word.look())) == "PARKED");
  REQUIRE(word.wake(ticket, WakeReason::timeout) == TaskWord::Wake::queue_it);  // claim and delivery in one step
  CHECK(std::string(state_name(word.look())) == "WAKING");
  word.make_runnable();
  CHECK(std::string(state_name(word.look())) == "RUNNABLE");
}

namespace {

[[gnu::noinline]] void wait_deep_inside() {
  sleep(1h);
  asm volatile("");  // not a tail call: its frame is to be seen
}

}  // namespace

TEST_CASE(
    "dump: the tree of tasks and nurseries, with wait, duration, holder, spawn site and stack across fibers [N-070]") {
  for (const unsigned workers : worker_counts()) {
    CAPTURE(workers);
    RuntimeOptions options = with_workers(workers);
    options.in_place = false;  // the parent parks
    Runtime runtime(options);
    std::string text;
    runtime.run(
        [&] {
          with_nursery([&](Nursery& outer) {
            auto parent = outer.spawn(
                [&] {
                  with_nursery([&](Nursery& inner) {
                    auto child = inner.spawn(
                        [] {
                          Fiber fiber([] { wait_deep_inside(); }, {}, {.name = "inner fiber"});
                          (void)fiber.resume();
                        },
                        {.name = "child"});
                    child.wait();
                  });
                },
                {.name = "parent"});
            while (text.empty() || !says(line_about(text, "child"), "PARKED") ||
                   !says(line_about(text, "parent"), "PARKED")) {
              sleep(2ms);
              text = dump();
            }
            outer.cancel();
          });
        },
        {.name = "root"});
    CAPTURE(text);
    const std::string root = line_about(text, "root");
    const std::string parent = line_about(text, "parent");
    const std::string child = line_about(text, "child");
    CHECK(depth_of(root) + 4 == depth_of(parent));
    CHECK(depth_of(parent) + 4 == depth_of(child));
    CHECK(says(parent, "PARKED join "));
    CHECK(says(parent, "held by task "));
    CHECK(says(parent, "\"child\""));
    CHECK(says(child, "PARKED sleep "));
    CHECK((says(child, "ms, spawned at ") || says(child, "us, spawned at ") || says(child, "s, spawned at ")));
    CHECK(says(child, "dump_test.cpp:"));
    CHECK(says(text, "nursery of task "));
    // Both fibers of the child's chain, the inner one first.
    const std::size_t inner = text.find("\"inner fiber\"");
    REQUIRE(inner != std::string::npos);
    const std::size_t deep = text.find("wait_deep_inside", inner);
    CHECK(deep != std::string::npos);
    CHECK(text.find("in fiber ", deep) != std::string::npos);
    CHECK(says(text, "runtime 1: "));
    CHECK(says(text, "worker 0 "));
  }
}

TEST_CASE(
    "dump: who joins in place is JOINING, whether the child on its stack is a call or has been away; children that "
    "have not begun are counted [N-070] [N-011]") {
  RuntimeOptions options = with_workers(1);
  options.sysmon = false;
  Runtime runtime(options);
  if (!may_run_in_place()) return;
  std::string of_call;    // of one that has never left its joiner's stack [PLACE-1]
  std::string of_parked;  // while it waits there [PLACE-2]
  std::string of_both;    // a call over one that has waited
  runtime.run(
      [&] {
        with_nursery([&](Nursery& outer) {
          outer.spawn([&] { of_call = dump(); }).join();  // without a name: that alone would make it stand out
          auto parent = outer.spawn(
              [&] {
                auto watcher = go([&] { of_parked = dump(); });
                sleep(1ms);
                watcher.wait();
                with_nursery([&](Nursery& inner) {
                  inner
                      .spawn([&] {
                        with_nursery([&](Nursery& last) {
                          for (int i = 0; i < 3; ++i) last.start([] {});
                          of_both = dump();
                        });
                      })
                      .join();
                });
              },
              {.name = "parent"});
          parent.join();
        });
      },
      {.name = "root"});
  CHECK(runtime.stats().in_place == 6);
  CAPTURE(of_call);
  CHECK(says(line_about(of_call, "root"), " JOINING on worker 0"));
  CHECK(says(of_call, "\n      task "));
  CHECK(says(of_call, " RUNNING on worker 0"));
  CHECK_FALSE(says(of_call, "not begun"));
  CAPTURE(of_parked);
  CHECK(says(line_about(of_parked, "root"), " JOINING on worker 0"));
  CHECK(says(line_about(of_parked, "parent"), " PARKED sleep "));
  CAPTURE(of_both);
  CHECK(says(line_about(of_both, "root"), " JOINING on worker 0"));
  CHECK(says(line_about(of_both, "parent"), " JOINING on worker 0"));
  CHECK(says(of_both, " RUNNING on worker 0"));
  CHECK(depth_of(line_about(of_both, "root")) + 4 == depth_of(line_about(of_both, "parent")));
  CHECK(says(of_both, ": 0 children, 3 not begun"));
}

TEST_CASE("dump: a task that runs elsewhere is shown with its stack, taken where it runs") {
  if (WEFT_TSAN) return;  // delays signals
  Runtime runtime(with_workers(2));
  std::atomic<bool> stop{false};
  std::atomic<bool> runs{false};
  std::string text;
  runtime.run([&] {
    auto busy = go(
        [&] {
          runs = true;
          while (!stop.load()) compute_for(1us);
        },
        {.name = "busy"});
    while (!runs.load()) yield_now();
    // A thread that waits for a processor may not answer in time.
    CHECK(eventually([&] { return says(text = dump(), "compute_for"); }));
    stop = true;
    busy.wait();
  });
  CAPTURE(text);
  CHECK(says(line_about(text, "busy"), "RUNNING on worker "));
}

TEST_CASE("dump: tasks that start, park and end meanwhile do not disturb it") {
  for (const unsigned workers : worker_counts()) {
    CAPTURE(workers);
    Runtime runtime(with_workers(workers));
    std::atomic<bool> stop{false};
    std::atomic<unsigned> dumps{0};
    std::thread outside([&] {
      while (!stop.load()) {
        CHECK(says(dump(), "weft: "));
        ++dumps;
      }
    });
    runtime.run([&] {
      const unsigned wanted = full_run() ? 200 : 20;
      while (dumps.load() < wanted) {
        with_nursery([&](Nursery& nursery) {
          for (int i = 0; i < 30; ++i) {
            (void)nursery.spawn(
                [i] {
                  if (i % 3 == 0) sleep(std::chrono::microseconds(10 * i));
                  yield_now();
                },
                {.name = "short-lived task with a name that is on the heap"});
          }
          for (int i = 0; i < 20; ++i) nursery.start([] { yield_now(); });
        });
      }
    });
    stop = true;
    outside.join();
  }
}

TEST_CASE("dump: a hundred tasks at one place have their stack told once") {
  Runtime runtime(with_workers(2));
  std::string text;
  runtime.run([&] {
    with_nursery([&](Nursery& nursery) {
      std::vector<Task<void>> tasks;
      for (int i = 0; i < 100; ++i) tasks.push_back(nursery.spawn([] { wait_deep_inside(); }));
      for (const Task<void>& task : tasks)
        while (!is_parked(task.core())) yield_now();
      text = dump();
      nursery.cancel();
    });
  });
  std::size_t same = 0;
  for (const std::string& line : lines_of(text)) same += says(line, "at the same place as task ");
  CHECK(same >= 98);
}

TEST_CASE("dump: memory that is not there is an answer, not a fault") {
  int number = 7;
  int copy = 0;
  CHECK(peek(copy, &number));
  CHECK(copy == 7);
  if (emulated()) return;
  CHECK_FALSE(peek(&copy, reinterpret_cast<const void*>(std::uintptr_t{64}), sizeof copy));
}

TEST_CASE("dump: SIGQUIT on a busy server writes the tree of all its tasks [N-070]") {
  const Outcome outcome = run_program("dumping", {}, {"WEFT_DUMP_SIGNAL=1", "WEFT_STALL_REPORT=0"});
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  std::size_t daemons = 0;
  std::size_t requests = 0;
  std::size_t server_depth = 0;
  std::size_t request_depth = 0;
  for (const std::string& line : lines_of(outcome.output)) {
    if (says(line, "\"daemon\" PARKED sleep")) ++daemons;
    if (says(line, "\"server\" PARKED ")) server_depth = depth_of(line);
    if (says(line, "\"request\" PARKED sleep")) {
      ++requests;
      request_depth = depth_of(line);
    }
  }
  CHECK(daemons == 3);
  CHECK(requests == 4);
  CHECK(request_depth == server_depth + 4);
  CHECK(outcome.says("dumping.cpp:"));
  CHECK(outcome.says("worker 0 "));
}

TEST_CASE("dump: without being asked SIGQUIT does what it always does") {
  const Outcome outcome = run_program("dumping", {}, {"WEFT_DUMP_SIGNAL=0"});
  CHECK(outcome.exit_code != 0);
}

TEST_CASE("shutdown: with a deadline it names the task that refuses, with its stack and spawn site [N-025] [N-075]") {
  Outcome outcome = run_program("dumping", {"refuse"});
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  // What was told when everybody had had the time to end.
  const std::size_t again = outcome.output.find("shutdown again\n");
  REQUIRE(again != std::string::npos);
  outcome.output.erase(0, again);
  CHECK(outcome.says("shutdown said no"));
  CHECK(outcome.says("1 task has not ended in time"));
  CHECK(outcome.says("\"stubborn\" PARKED sleep"));
  CHECK(outcome.says("stubborn_work"));
  CHECK(outcome.says("dumping.cpp:"));
  CHECK_FALSE(outcome.says("\"obedient\""));
}

TEST_CASE("shutdown: a task that nobody waits for is named with its spawn site when that is asked for [N-075]") {
  const Outcome outcome = run_program("dumping", {"leak"}, {"WEFT_LEAK_REPORT=1"});
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.says("1 task is left and asked to stop"));
  CHECK(outcome.says("\"forgotten\" PARKED sleep"));
  CHECK(outcome.says("dumping.cpp:"));
  CHECK_FALSE(run_program("dumping", {"leak"}).says("forgotten"));
}
