// SPDX-License-Identifier: MIT
// Pool: an owned channel [V-063].
#include "weft/pool.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

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

}  // namespace
