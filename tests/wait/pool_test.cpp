// SPDX-License-Identifier: MIT
// Pool: an owned channel [V-063].
#include "weft/pool.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/time.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using weft::Pool;

namespace {

struct Counts {
  std::atomic<int> created{0}, reset{0}, destroyed{0};
  weft::PoolHooks<std::unique_ptr<int>> hooks() {
    return {.on_create = [this] { return std::make_unique<int>(++created); },
            .on_reset = [this](auto&) { ++reset; },
            .on_destroy = [this](auto&) { ++destroyed; }};
  }
};

TEST_CASE("pool: at most `limit` are made, each return resets, its end destroys [V-063]") {
  in_each_universe([](const Universe& universe) {
    Counts counts;
    {
      Pool<std::unique_ptr<int>> pool(3, counts.hooks());
      std::atomic<int> out{0}, most{0}, uses{0};
      weft::with_nursery([&](weft::Nursery& n) {
        for (int t = 0; t < 8; ++t)
          (void)universe.spawn(n, [&] {
            for (int i = 0; i < 20; ++i) {
              auto one = pool.take();
              CHECK(**one <= 3);
              const int now = ++out;
              int seen = most;
              while (seen < now && !most.compare_exchange_weak(seen, now)) {
              }
              ++uses;
              weft::yield_now();
              --out;
            }
          });
      });
      CHECK(most <= 3);
      CHECK(uses == 160);
      CHECK(counts.created <= 3);
      CHECK(counts.reset == 160);
      CHECK(counts.destroyed == 0);
      CHECK(pool.idle() == static_cast<std::size_t>(counts.created));
    }
    CHECK(counts.destroyed == counts.created);
  });
}

TEST_CASE("pool: an idle one is used again before a new one is made; a discarded one makes place") {
  weft::run([] {
    Counts counts;
    Pool<std::unique_ptr<int>> pool(2, counts.hooks());
    for (int i = 0; i < 5; ++i) (void)pool.take();
    CHECK(counts.created == 1);
    pool.take().discard();
    CHECK(counts.destroyed == 1);
    auto a = pool.take();
    auto b = pool.take();
    CHECK(counts.created == 3);
    CHECK_FALSE(pool.try_take().has_value());
    CHECK_FALSE(pool.take_for(1ms).has_value());
    CHECK_FALSE(pool.take_until(std::chrono::steady_clock::now() + 1ms).has_value());
  });
}

TEST_CASE("pool: who cannot make one leaves the place to another; a reset that throws destroys [V-063]") {
  in_each_universe([](const Universe&) {
    int tries = 0;
    std::atomic<int> destroyed{0};
    Pool<int> pool(1, {.on_create =
                           [&] {
                             if (++tries == 1) {
                               weft::yield_now();
                               throw std::runtime_error("not yet");
                             }
                             return tries;
                           },
                       .on_reset = [](int&) { throw std::runtime_error("worn out"); },
                       .on_destroy = [&](int&) { ++destroyed; }});
    weft::with_nursery([&](weft::Nursery& n) {
      auto first = n.spawn([&] { CHECK_THROWS_WITH((void)pool.take(), "not yet"); });
      first.join();
      auto second = n.spawn([&] { return *pool.take(); });
      CHECK(second.join() == 2);
    });
    CHECK(destroyed == 1);
    CHECK(pool.idle() == 0);
    CHECK(*pool.take() == 3);
  });
}

TEST_CASE("pool: close tells those who wait") {
  in_each_universe([](const Universe&) {
    Pool<int> pool(1);
    weft::with_nursery([&](weft::Nursery& n) {
      auto out = pool.take();
      auto waiting = n.spawn([&] {
        try {
          (void)pool.take();
        } catch (const weft::ChannelClosed& error) {
          return error.reason();
        }
        return std::string("?");
      });
      until_parked(waiting);
      pool.close("shop is shut");
      CHECK(waiting.join() == "shop is shut");
    });
    CHECK_THROWS_AS((void)pool.take(), weft::ChannelClosed);
  });
}

TEST_CASE("pool: take_result tells closed, timed_out and cancelled, and throws what on_create throws only [N-028]") {
  in_each_universe([](const Universe&) {
    bool works = false;
    Pool<int> pool(1, {.on_create = [&] { return works ? 7 : throw std::runtime_error("not yet"); }});
    CHECK_THROWS_WITH((void)pool.take_result(), "not yet");
    works = true;
    weft::with_nursery([&](weft::Nursery& n) {
      auto out = pool.take_result();
      CHECK(**out == 7);
      CHECK(pool.take_result(weft::now() + 100us).error() == weft::RecvStatus::timed_out);
      auto stopped = n.spawn([&]() noexcept { return pool.take_result().error(); });
      until_parked(stopped);
      stopped.cancel();
      CHECK(stopped.join() == weft::RecvStatus::cancelled);
      auto told = n.spawn([&]() noexcept { return pool.take_result().error(); });
      until_parked(told);
      pool.close("over");
      CHECK(told.join() == weft::RecvStatus::closed);
    });
    CHECK(pool.take_result().error() == weft::RecvStatus::closed);
  });
}

TEST_CASE("pool: plain threads take and give back beside tasks [N-013]") {
  Counts counts;
  {
    Pool<std::unique_ptr<int>> pool(2, counts.hooks());
    std::atomic<int> out{0}, most{0}, uses{0};
    const auto use = [&](auto&& taken) {
      CHECK(**taken <= 2);
      const int now = ++out;
      int seen = most;
      while (seen < now && !most.compare_exchange_weak(seen, now)) {
      }
      ++uses;
      weft::yield_now();
      --out;
    };
    const auto worker = [&] {
      for (int i = 0; i < 100; ++i) {
        if (i % 2 == 0) {
          use(pool.take());
        } else if (auto taken = pool.take_for(1h)) {
          use(*taken);
        }
      }
    };
    weft::Runtime runtime(workers(2));
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back(worker);
    runtime.run([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        for (int t = 0; t < 3; ++t) n.start(worker);
      });
    });
    for (auto& thread : threads) thread.join();
    CHECK(uses == 600);
    CHECK(most <= 2);
    CHECK(counts.created <= 2);
    CHECK(counts.reset == 600);
    // One that waits while a task holds all of them gets what that gives back.
    std::thread waiting;
    runtime.run([&] {
      auto one = pool.take();
      auto other = pool.take();
      std::atomic<bool> in_vain{false}, got{false};
      waiting = std::thread([&] {
        CHECK(pool.take_result(weft::now() + 200us).error() == weft::RecvStatus::timed_out);
        in_vain = true;
        auto taken = pool.take();
        got = true;
      });
      until([&] { return in_vain.load(); });
      weft::sleep(1ms);
      CHECK_FALSE(got);
      {
        auto gone = std::move(one);
      }
      until([&] { return got.load(); });
      waiting.join();
    });
    CHECK(counts.destroyed == 0);
  }
  CHECK(counts.destroyed == counts.created);
}

}  // namespace
