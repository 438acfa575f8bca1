// SPDX-License-Identifier: MIT
// Readers and writers; the interleavings are in verify/scenarios/rw_mutex.cpp.
#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

TEST_CASE("rw_mutex: a writer is alone, in every universe [W-015]") {
  in_each_universe([](const Universe& universe) {
    weft::RwMutex mutex;
    std::atomic<int> readers{0};
    std::atomic<int> writers{0};
    std::atomic<bool> wrong{false};
    int written = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 12; ++k)
        (void)universe.spawn(n, [&, k] {
          for (int i = 0; i < 60; ++i) {
            if ((i + k) % 5 == 0) {
              const std::lock_guard guard(mutex);
              if (++writers != 1 || readers != 0) wrong = true;
              ++written;
              weft::yield_now();
              --writers;
            } else {
              const std::shared_lock guard(mutex);
              ++readers;
              if (writers != 0) wrong = true;
              weft::yield_now();
              --readers;
            }
          }
        });
    });
    CHECK_FALSE(wrong);
    CHECK(written == 144);
    CHECK(mutex.try_lock());
    CHECK_FALSE(mutex.try_lock_shared());
    mutex.unlock();
    CHECK(mutex.try_lock_shared());
    CHECK(mutex.try_lock_shared());
    CHECK_FALSE(mutex.try_lock());
    mutex.unlock_shared();
    mutex.unlock_shared();
  });
}

TEST_CASE("rw_mutex: readers behind a writer that is cancelled go in at once [HB10]") {
  in_each_universe([](const Universe&) {
    weft::RwMutex mutex;
    mutex.lock_shared();
    std::atomic<int> inside{0};
    weft::with_nursery([&](weft::Nursery& n) {
      auto writer = n.spawn([&] { mutex.lock(); });
      until_parked(writer);
      std::vector<weft::Task<void>> readers;
      for (int i = 0; i < 3; ++i) {
        readers.push_back(n.spawn([&] {
          mutex.lock_shared();
          ++inside;
          mutex.unlock_shared();
        }));
        until_parked(readers.back());
      }
      CHECK_FALSE(mutex.try_lock_shared());  // not past the writer
      writer.cancel();
      for (auto& reader : readers) reader.join();  // while the first reader is inside still
    });
    CHECK(inside == 3);
    mutex.unlock_shared();
  });
}

TEST_CASE("rw_mutex: readers behind a writer whose time runs out go in at once [HB10] [N-033]") {
  weft::run([] {
    weft::RwMutex mutex;
    mutex.lock_shared();
    // Until the reader was seen to wait behind the writer: on a busy machine the writer's time may be over before.
    for (bool met = false; !met;) {
      weft::with_nursery([&](weft::Nursery& n) {
        auto writer = n.spawn([&] { CHECK_FALSE(mutex.lock_for(2ms)); });
        while (!is_parked(writer.core()) && !writer.done()) weft::yield_now();
        auto reader = n.spawn([&] {
          mutex.lock_shared();
          mutex.unlock_shared();
        });
        while (!met && !reader.done()) {
          met = is_parked(reader.core());
          weft::yield_now();
        }
        reader.join();
      });
    }
    mutex.unlock_shared();
  });
}

TEST_CASE("rw_mutex: writers are not starved by readers that keep coming [W-015]") {
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    weft::RwMutex mutex;
    std::atomic<bool> wrote{false};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 4; ++k)
        n.start([&] {
          while (!wrote) {
            const std::shared_lock guard(mutex);
            weft::yield_now();
          }
        });
      n.start([&] {
        weft::sleep(1ms);
        mutex.lock();
        wrote = true;
        mutex.unlock();
      });
    });
    CHECK(wrote);
  });
}

TEST_CASE("rw_mutex: every form has its time, and leaves nothing behind [N-033]") {
  in_each_universe([](const Universe&) {
    const auto soon = [] { return std::chrono::steady_clock::now() + 200us; };
    weft::RwMutex mutex;
    mutex.lock();
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] { CHECK_FALSE(mutex.lock_for(200us)); });
      n.start([&] { CHECK_FALSE(mutex.lock_until(soon())); });
      n.start([&] { CHECK_FALSE(mutex.try_lock_for(200us)); });
      n.start([&] { CHECK_FALSE(mutex.try_lock_until(soon())); });
      n.start([&] { CHECK(mutex.lock_result(soon()) == weft::WaitResult::timed_out); });
      n.start([&] { CHECK_FALSE(mutex.lock_shared_for(200us)); });
      n.start([&] { CHECK_FALSE(mutex.lock_shared_until(soon())); });
      n.start([&] { CHECK_FALSE(mutex.try_lock_shared_for(200us)); });
      n.start([&] { CHECK_FALSE(mutex.try_lock_shared_until(soon())); });
      n.start([&] { CHECK(mutex.lock_shared_result(soon()) == weft::WaitResult::timed_out); });
    });
    mutex.unlock();
    CHECK(mutex.try_lock());
    mutex.unlock();
  });
}

TEST_CASE("rw_mutex: plain threads and tasks share one [W-015]") {
  weft::RwMutex mutex;
  int count = 0;
  std::atomic<bool> wrong{false};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&, k] {
      for (int i = 0; i < 1000; ++i) {
        if (k == 0) {
          const std::lock_guard guard(mutex);
          ++count;
        } else {
          const std::shared_lock guard(mutex);
          const int first = count;
          if (count != first) wrong = true;
        }
      }
    });
  weft::Runtime runtime(workers(2));
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 4; ++k)
        n.start([&] {
          for (int i = 0; i < 500; ++i) {
            const std::lock_guard guard(mutex);
            ++count;
            if (i % 20 == 0) weft::yield_now();
          }
        });
    });
  });
  for (auto& thread : threads) thread.join();
  CHECK(count == 3000);
  CHECK_FALSE(wrong);
}

}  // namespace
