// SPDX-License-Identifier: MIT
// Who uses which core: heavy work spreads, a hand-off stays. Shown by rendezvous, not by clocks: each side computes
// until it sees the other, which one core alone can never do.
#include <atomic>
#include <chrono>
#include <cstdint>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;

namespace {

weft::RuntimeOptions workers(unsigned count) {
  weft::RuntimeOptions options;
  options.workers = count;
  return options;
}

// Computes, without a call into the runtime, until the flag is up. False: a minute has passed.
bool compute_until(const std::atomic<std::uint32_t>& flag) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (flag.load() == 0)
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

}  // namespace

TEST_CASE("cores: a lone child runs beside the owner that computes [N-017] [HA9]") {
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    for (int round = 0; round < 20; ++round) {
      std::atomic<std::uint32_t> child{0};
      std::atomic<std::uint32_t> owner{0};
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] {
          child.store(1);
          CHECK(compute_until(owner));
        });
        owner.store(1);
        REQUIRE(compute_until(child));
      });
    }
  });
}

TEST_CASE("cores: a woken task in the slot of a worker that computes is run by another [N-017] [B23]") {
  weft::Runtime runtime(workers(2));
  runtime.run([] {
    for (int round = 0; round < 20; ++round) {
      std::atomic<std::uint32_t> go{0};
      std::atomic<std::uint32_t> ran{0};
      std::atomic<std::uint32_t> parked{0};
      weft::Unparker wake;
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] {
          wake = weft::unparker();
          parked.store(1);
          while (go.load() == 0) weft::park_if(go, 0);
          ran.store(1);
        });
        while (parked.load() == 0) weft::yield_now();
        go.store(1);
        wake.unpark();  // into the slot of this worker, which now makes no call any more
        REQUIRE(compute_until(ran));
      });
    }
  });
}

TEST_CASE("cores: the first request to an idle runtime leaves somebody who looks [HA9] [B2]") {
  weft::Runtime runtime(workers(3));
  runtime.run([&] {
    for (int round = 0; round < 5; ++round) {
      weft::sleep(5ms);  // everybody else sleeps
      std::atomic<std::uint32_t> inner{0};
      std::atomic<std::uint32_t> outer{0};
      weft::with_nursery([&](weft::Nursery& n) {
        n.start([&] {
          weft::with_nursery([&](weft::Nursery& deeper) {
            deeper.start([&] { inner.store(1); });
            CHECK(compute_until(inner));
          });
          outer.store(1);
        });
        REQUIRE(compute_until(outer));
      });
    }
  });
}

TEST_CASE("cores: a ping-pong stays on one core, without a futex wake per hop [N-017] [HB17]") {
  constexpr std::uint32_t hops = 20'000;
  weft::Runtime runtime(workers(2));
  std::uint64_t wakes = 0;
  std::uint64_t parks = 0;
  std::uint64_t thefts = 0;
  const auto began = std::chrono::steady_clock::now();
  runtime.run([&] {
    std::atomic<std::uint32_t> turn{0};
    weft::Unparker ping;
    weft::Unparker pong;
    std::atomic<std::uint32_t> ready{0};
    const weft::RuntimeStats before = runtime.stats();
    weft::with_nursery([&](weft::Nursery& n) {
      const auto player = [&](std::uint32_t mine, weft::Unparker& me, const weft::Unparker& other) {
        return [&, mine] {
          me = weft::unparker();
          ready.fetch_add(1);
          while (ready.load() != 2) weft::yield_now();
          for (std::uint32_t i = mine; i < hops; i += 2) {
            for (std::uint32_t now; (now = turn.load()) != i;) weft::park_if(turn, now);
            turn.store(i + 1);
            other.unpark();
          }
        };
      };
      n.start(player(0, ping, pong));
      n.start(player(1, pong, ping));
    });
    const weft::RuntimeStats after = runtime.stats();
    wakes = after.futex_wakes - before.futex_wakes;
    parks = after.parks - before.parks;
    thefts = after.steals + after.ready_steals - before.steals - before.ready_steals;
  });
  const auto took = std::chrono::steady_clock::now() - began;
  CAPTURE(wakes);
  CAPTURE(parks);
  CAPTURE(thefts);
  CHECK(parks > hops / 2);
  // No hop wakes anybody by itself: whoever has stolen wakes the next who looks. A task is stolen when it has waited
  // 10 us or more, which is seldom as long as the machine lets the players run.
  CHECK(wakes <= thefts + 8);
  CHECK(thefts <= 2 * static_cast<std::uint64_t>(took / 10us) + 8);
  if (weft_test::full_run()) CHECK(wakes < hops / 100);  // a machine of its own
}
