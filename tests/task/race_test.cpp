// SPDX-License-Identifier: MIT
// Several futures at once: race, by position and by label, join_all, any, as_completed.
#include "weft/race.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "doctest/doctest.h"
#include "sched/runtime_core.hpp"
#include "sched/universe.hpp"
#include "weft/blocking_io.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/scope.hpp"
#include "weft/sync_event.hpp"
#include "weft/trace.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

std::vector<std::string> texts(const std::vector<std::exception_ptr>& errors) {
  std::vector<std::string> all;
  for (const auto& error : errors) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      all.emplace_back(e.what());
    }
  }
  return all;
}

}  // namespace

TEST_CASE("race: the first wins, at its position; losers are stopped and joined, not merely asked [X-027] [X-030]") {
  in_each_universe([](const Universe&) {
    std::atomic<int> alive{0};
    std::atomic<bool> after{false};
    std::atomic<weft::CancelReason> why{weft::CancelReason::none};
    weft::SyncEvent begun;
    auto first = weft::race(
        [&] {
          begun.wait();
          return 7;
        },
        [&]() -> std::string {
          ++alive;
          begun.set();
          try {
            weft::sleep(1h);
          } catch (const weft::Cancelled& cancelled) {
            why = cancelled.reason();
            weft::shield([] { weft::sleep(200us); });  // unwinding may wait
            --alive;
            throw;
          }
          after = true;
          return "late";
        });
    static_assert(std::is_same_v<decltype(first), std::variant<int, std::string>>);
    CHECK(alive == 0);
    CHECK_FALSE(after);
    CHECK(why == weft::CancelReason::race_lost);
    REQUIRE(first.index() == 0);
    CHECK(std::get<0>(first) == 7);
  });
}

TEST_CASE("race: over futures and functions, void and things that cannot be copied [X-028] [X-034]") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent never;
    weft::Future<std::unique_ptr<int>> future = weft::async([] { return std::make_unique<int>(3); });
    auto first = weft::race([&] { never.wait(); }, std::move(future));
    static_assert(std::is_same_v<decltype(first), std::variant<std::monostate, std::unique_ptr<int>>>);
    REQUIRE(first.index() == 1);
    CHECK(*std::get<1>(first) == 3);
    CHECK(weft::race([] {}, [&] { never.wait(); }).index() == 0);
    CHECK_FALSE(future);
  });
}

TEST_CASE("race: by label, the winner tells its name [X-027] [X-028]") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent never;
    auto result = weft::race(weft::label<"slow">([&] {
                               never.wait();
                               return 1;
                             }),
                             weft::label<"fast">(weft::async([] { return std::string("here"); })),
                             weft::label<"idle">([&] { never.wait(); }));
    CHECK(result.label() == "fast");
    CHECK(result.is<"fast">());
    CHECK_FALSE(result.is<"slow">());
    CHECK(result.get<"fast">() == "here");
    CHECK_THROWS_AS(result.get<"slow">(), std::bad_variant_access);
    CHECK(result.index() == 1);
  });
}

TEST_CASE("race: one that fails does not win; if all fail the first is thrown, the others beside it [X-027]") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent failed;
    auto winner = weft::race(
        [&]() -> int {
          failed.set();
          throw std::runtime_error("early");
        },
        [&] {
          failed.wait();
          weft::sleep(100us);
          return 2;
        });
    CHECK(winner.index() == 1);

    // The race waits for all of them before the first ends, and each of the others until the one before has ended.
    const weft::detail::TaskCore* caller = weft::detail::this_task();
    const auto& live = weft::detail::this_worker()->runtime->live;
    until([&] { return live.started_total() - live.finished_total() == 1; });  // the racers of before
    const std::uint64_t before = live.finished_total();
    try {
      (void)weft::race(
          [&]() -> int {
            until([&] { return live.finished_total() >= before + 2; });
            throw std::runtime_error("third");
          },
          [&]() -> int {
            until([&] { return is_parked(caller); });
            throw std::runtime_error("first");
          },
          [&]() -> int {
            until([&] { return live.finished_total() >= before + 1; });
            throw std::runtime_error("second");
          });
      FAIL("somebody won");
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "first");
      CHECK(texts(weft::other_errors()) == std::vector<std::string>{"second", "third"});
    }
  });
}

TEST_CASE("race: a caller that is cancelled takes all racers with it [X-026]") {
  in_each_universe([](const Universe&) {
    std::atomic<int> alive{0};
    const auto racer = [&] {
      ++alive;
      try {
        weft::sleep(1h);
      } catch (...) {
        --alive;
        throw;
      }
    };
    CHECK_FALSE(weft::timeout(3ms, [&] { (void)weft::race(racer, racer, racer); }));
    CHECK(alive == 0);
    auto task = weft::go([&] { (void)weft::race(racer, racer); });
    while (alive != 2) weft::sleep(50us);
    task.cancel();
    CHECK_THROWS_AS(task.join(), weft::Cancelled);
    CHECK(alive == 0);
  });
}

TEST_CASE("race: a loser that succeeds at the same time is no trouble, whoever wins [X-021] [X-040]") {
  in_each_universe([](const Universe&) {
    for (int round = 0; round < 100; ++round) {
      auto first = weft::race([] { return std::make_unique<int>(1); }, [] { return std::make_unique<int>(2); },
                              [] { return std::make_unique<int>(3); });
      const int value = std::visit([](const auto& v) { return *v; }, first);
      CHECK(value == static_cast<int>(first.index()) + 1);
    }
  });
}

TEST_CASE("race: under a BlockingIo the first argument that succeeds wins, and those after it do not begin [HB14]") {
  weft::BlockingIo io;
  weft::with_io(io, [] {
    bool ran = false;
    auto first = weft::race([]() -> int { throw std::runtime_error("no"); },
                            [] {
                              weft::sleep(1ms);
                              return 2;
                            },
                            [&] {
                              ran = true;
                              return 3;
                            });
    CHECK(first.index() == 1);
    CHECK_FALSE(ran);
    CHECK_THROWS_WITH((void)weft::race([]() -> int { throw std::runtime_error("a"); },
                                       []() -> int { throw std::runtime_error("b"); }),
                      "a");
  });
}

TEST_CASE("join_all: all results in the order as written; the first failure stops the others") {
  in_each_universe([](const Universe&) {
    auto [a, b, c] = weft::join_all(
        [] {
          weft::sleep(100us);
          return 1;
        },
        [] { return std::string("two"); }, weft::async([] {}));
    CHECK(a == 1);
    CHECK(b == "two");
    CHECK(c == std::monostate{});

    std::vector<weft::Future<int>> futures;
    for (int i = 0; i < 20; ++i) futures.push_back(weft::async([i] { return i * i; }));
    const std::vector<int> squares = weft::join_all(std::move(futures));
    CHECK(squares.size() == 20);
    CHECK(squares[7] == 49);
    CHECK(weft::join_all(std::vector<weft::Future<int>>()).empty());

    std::atomic<int> alive{0};
    std::atomic<weft::CancelReason> why{weft::CancelReason::none};
    weft::SyncEvent begun;
    try {
      weft::join_all(
          [&] {
            ++alive;
            begun.set();
            try {
              weft::sleep(1h);
            } catch (const weft::Cancelled& cancelled) {
              why = cancelled.reason();
              --alive;
              throw std::runtime_error("beside");
            }
          },
          [&] {
            begun.wait();
            throw std::runtime_error("first");
          });
      FAIL("nothing was thrown");
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "first");
      CHECK(texts(weft::other_errors()) == std::vector<std::string>{"beside"});
    }
    CHECK(alive == 0);
    CHECK(why == weft::CancelReason::sibling);
  });
}

TEST_CASE("any: the first success of many") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent never;
    std::vector<weft::Future<int>> futures;
    futures.push_back(weft::async([]() -> int { throw std::runtime_error("no"); }));
    futures.push_back(weft::async([&]() -> int {
      never.wait();
      return 1;
    }));
    futures.push_back(weft::async([] { return 2; }));
    const auto first = weft::any(std::move(futures));
    CHECK(first.index == 2);
    CHECK(first.value == 2);
    CHECK_THROWS_AS((void)weft::any(std::vector<weft::Future<int>>()), std::invalid_argument);
  });
}

TEST_CASE("as_completed: in the order of their ends, failed ones as well; what is left is stopped") {
  in_each_universe([](const Universe&) {
    weft::SyncEvent turns[4];
    std::vector<weft::Future<int>> futures;
    for (int i = 0; i < 4; ++i)
      futures.push_back(weft::async([&turns, i] {
        turns[i].wait();
        if (i == 1) throw std::runtime_error("one");
        return i;
      }));
    std::string order;
    turns[2].set();
    for (weft::Future<int>& done : weft::as_completed(std::move(futures))) {
      CHECK(done.done());
      try {
        const int value = done.await();
        order += std::to_string(value);
        if (value == 2) turns[1].set();
        if (value == 3) break;
      } catch (const std::runtime_error& error) {
        order += error.what();
        turns[3].set();
      }
    }
    CHECK(order == "2one3");  // number 0 was still waiting, and is not any more
  });
}

TEST_CASE("timeout: a function with a value gives it, or nothing") {
  in_each_universe([](const Universe&) {
    const std::optional<int> in_time = weft::timeout(1h, [] { return 3; });
    CHECK(in_time == 3);
    const std::optional<int> late = weft::timeout(1ms, []() -> int {
      weft::sleep(1h);
      return 1;
    });
    CHECK_FALSE(late.has_value());
    CHECK(weft::timeout(1h, [] {}));
  });
}
