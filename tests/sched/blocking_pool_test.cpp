// SPDX-License-Identifier: MIT
#include "sched/blocking_pool.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/patience.hpp"

using namespace weft;
using namespace weft::detail;
using namespace std::chrono_literals;

namespace {

// What the jobs of one test share.
struct Hall {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int inside = 0;
  int done = 0;
  std::vector<int> order;
  std::set<std::thread::id> workers;

  void release() {
    const std::lock_guard guard(mutex);
    open = true;
    changed.notify_all();
  }
  void await(auto condition) {
    std::unique_lock lock(mutex);
    changed.wait(lock, condition);
  }
  void await_done(int count) {
    await([&] { return done >= count; });
  }
};

// Waits until the hall opens.
struct Visit : BlockingPool::Job {
  Hall* hall = nullptr;
  int number = 0;
  int runs = 0;

  static void enter(BlockingPool::Job* job) {
    Visit& visit = static_cast<Visit&>(*job);
    Hall& hall = *visit.hall;
    std::unique_lock lock(hall.mutex);
    ++visit.runs;
    ++hall.inside;
    hall.order.push_back(visit.number);
    hall.workers.insert(std::this_thread::get_id());
    hall.changed.notify_all();
    hall.changed.wait(lock, [&] { return hall.open; });
    --hall.inside;
    ++hall.done;
    hall.changed.notify_all();
  }
};

std::vector<Visit> visits(Hall& hall, int count) {
  std::vector<Visit> all(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    Visit& visit = all[static_cast<std::size_t>(i)];
    visit.run = Visit::enter;
    visit.hall = &hall;
    visit.number = i;
  }
  return all;
}

std::vector<int> numbers(int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(i);
  return all;
}

}  // namespace

TEST_CASE("blocking pool: ten thousand jobs run, each once, on no more threads than allowed") {
  Hall hall;
  hall.open = true;
  std::vector<Visit> all = visits(hall, 10'000);
  BlockingPool pool(4);
  for (Visit& visit : all) REQUIRE(pool.submit(visit));
  hall.await_done(10'000);
  int once = 0;
  for (const Visit& visit : all) once += visit.runs == 1 ? 1 : 0;
  CHECK(once == 10'000);
  CHECK(hall.workers.size() <= 4);
}

TEST_CASE("blocking pool: as many block at once as there may be threads, the rest waits in order") {
  Hall hall;
  std::vector<Visit> all = visits(hall, 10);
  BlockingPool pool(4);
  for (Visit& visit : all) CHECK(pool.submit(visit));
  hall.await([&] { return hall.inside == 4; });
  CHECK(pool.threads() == 4);
  CHECK(pool.idle() == 0);
  hall.release();
  hall.await_done(10);
  CHECK(weft_test::eventually([&] { return pool.idle() == 4; }));
  CHECK(pool.threads() == 4);
}

TEST_CASE("blocking pool: one thread runs the jobs in the order in which they came") {
  Hall hall;
  std::vector<Visit> all = visits(hall, 1'000);
  BlockingPool pool(1);
  for (Visit& visit : all) CHECK(pool.submit(visit));
  hall.release();
  hall.await_done(1'000);
  CHECK(hall.order == numbers(1'000));
}

TEST_CASE("blocking pool: a job takes an idle thread before a new one is made") {
  Hall hall;
  hall.open = true;
  std::vector<Visit> all = visits(hall, 100);
  BlockingPool pool(8);
  CHECK(pool.threads() == 0);
  for (int i = 0; i < 100; ++i) {
    CHECK(pool.submit(all[static_cast<std::size_t>(i)]));
    hall.await_done(i + 1);
    REQUIRE(weft_test::eventually([&] { return pool.idle() == 1; }));
  }
  CHECK(pool.threads() == 1);
  CHECK(hall.workers.size() == 1);
}

TEST_CASE("blocking pool: idle threads end after the timeout, and new ones are made when needed") {
  Hall hall;
  hall.open = true;
  BlockingPool pool(3, 1ms);
  for (int round = 0; round < 20; ++round) {
    std::vector<Visit> all = visits(hall, 6);
    hall.done = 0;
    for (Visit& visit : all) CHECK(pool.submit(visit));
    hall.await_done(6);
    CHECK(weft_test::eventually([&] { return pool.threads() == 0; }));
    CHECK(pool.idle() == 0);
  }
}

TEST_CASE("blocking pool: a thread that waits less than the timeout stays") {
  Hall hall;
  hall.open = true;
  std::vector<Visit> all = visits(hall, 1);
  BlockingPool pool(3, 1h);
  CHECK(pool.submit(all[0]));
  CHECK(weft_test::eventually([&] { return pool.idle() == 1; }));
  CHECK(pool.threads() == 1);
}

TEST_CASE("blocking pool: stop runs what was accepted and refuses what comes later") {
  Hall hall;
  std::deque<Visit> all;
  const auto next = [&]() -> Visit& {
    Visit& visit = all.emplace_back();
    visit.run = Visit::enter;
    visit.hall = &hall;
    visit.number = static_cast<int>(all.size()) - 1;
    return visit;
  };
  BlockingPool pool(1);
  for (std::size_t i = 0; i < 7; ++i) CHECK(pool.submit(next()));
  hall.await([&] { return hall.inside == 1; });
  std::thread stopper([&] { pool.stop(); });
  std::size_t accepted = 7;
  std::error_code reason;
  for (; pool.submit(next(), &reason); ++accepted) std::this_thread::yield();
  CHECK(reason == std::errc::operation_canceled);
  hall.release();
  stopper.join();
  CHECK(hall.order == numbers(static_cast<int>(accepted)));
  CHECK(pool.threads() == 0);
  CHECK_FALSE(pool.submit(all[accepted]));
  pool.stop();
  CHECK(all[accepted].runs == 0);
}

TEST_CASE("blocking pool: an empty one, and one with idle threads, stop at once") {
  BlockingPool empty(4);
  empty.stop();
  Hall hall;
  hall.open = true;
  std::vector<Visit> all = visits(hall, 4);
  BlockingPool idle(4, 1h);
  for (Visit& visit : all) CHECK(idle.submit(visit));
  hall.await_done(4);
  CHECK(weft_test::eventually([&] { return idle.idle() == idle.threads(); }));
  idle.stop();
  CHECK(idle.threads() == 0);
}

namespace {

// A starter that follows a plan: how many threads it still gives.
std::atomic<int> threads_left{0};

seam::Thread planned(BlockingPool& pool, unsigned slot) {
  if (threads_left.fetch_sub(1) <= 0) {
    threads_left.store(0);
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  return BlockingPool::start_thread(pool, slot);
}

}  // namespace

TEST_CASE(
    "blocking pool: without any thread a job is refused with the system's reason, and accepted once one can be made") {
  Hall hall;
  hall.open = true;
  std::vector<Visit> all = visits(hall, 1);
  BlockingPool pool(4, 1h, planned);
  threads_left = 0;
  std::error_code reason;
  CHECK_FALSE(pool.submit(all[0], &reason));
  CHECK(reason == std::errc::resource_unavailable_try_again);
  CHECK(pool.threads() == 0);
  CHECK(all[0].runs == 0);
  threads_left = 1;
  CHECK(pool.submit(all[0], &reason));
  CHECK(!reason);
  hall.await_done(1);
  CHECK(all[0].runs == 1);
}

TEST_CASE("blocking pool: with one thread a refused second one only means waiting") {
  Hall hall;
  std::vector<Visit> all = visits(hall, 5);
  BlockingPool pool(4, 1h, planned);
  threads_left = 1;
  for (Visit& visit : all) CHECK(pool.submit(visit));
  CHECK(pool.threads() == 1);
  CHECK(pool.refused_threads() == 4);
  hall.release();
  hall.await_done(5);
  CHECK(hall.order == numbers(5));
}

TEST_CASE("blocking pool: no memory for a thread is survived like no thread") {
  Hall hall;
  std::vector<Visit> all = visits(hall, 1);
  BlockingPool pool(4, 1h, [](BlockingPool&, unsigned) -> seam::Thread { throw std::bad_alloc(); });
  std::error_code reason;
  CHECK_FALSE(pool.submit(all[0], &reason));
  CHECK(reason == std::errc::not_enough_memory);
}

TEST_CASE("blocking pool: threads that end while jobs come lose none of them") {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> ran{0};
    struct Count : BlockingPool::Job {
      std::atomic<int>* ran = nullptr;
    };
    constexpr int each = 500;
    std::vector<Count> jobs(4 * each);
    for (Count& job : jobs) {
      job.ran = &ran;
      job.run = [](BlockingPool::Job* one) { static_cast<Count*>(one)->ran->fetch_add(1); };
    }
    BlockingPool pool(3, 0ns);
    std::vector<std::thread> submitters;
    for (int s = 0; s < 4; ++s) {
      submitters.emplace_back([&, s] {
        for (int i = 0; i < each; ++i) {
          if (!pool.submit(jobs[static_cast<std::size_t>(s * each + i)])) std::abort();
          if (i % 8 == 0) std::this_thread::yield();
        }
      });
    }
    for (std::thread& submitter : submitters) submitter.join();
    REQUIRE(weft_test::eventually([&] { return ran.load() == 4 * each; }));
  }
}

TEST_CASE("blocking pool: a process that may have no more threads says so, or goes on with those it has") {
  if (weft_test::emulated()) return;  // the emulator's own threads would count
  const weft_test::Outcome none = weft_test::run_program("thread_limit", {"none"});
  CAPTURE(none.output);
  CHECK(none.exit_code == 0);
  CHECK(none.says("refused: Resource temporarily unavailable"));
  const weft_test::Outcome one = weft_test::run_program("thread_limit", {"one"});
  CAPTURE(one.output);
  CHECK(one.exit_code == 0);
  CHECK(one.says("ran 5 on 1 threads, 4 refused"));
}
