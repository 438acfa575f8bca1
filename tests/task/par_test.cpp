// SPDX-License-Identifier: MIT
// Fork-join: results, failures, cancel and deadline as in a nursery, whoever runs the pieces.
#include "weft/par.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/stress.hpp"
#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/dyn.hpp"
#include "weft/runtime.hpp"
#include "weft/trace.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

std::uint64_t fib(std::uint64_t n) {
  if (n < 2) return n;
  auto [a, b] = weft::par([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

// Holds its worker until the other piece has begun elsewhere, where there is another worker that may.
void until_begun(const Universe& u, const std::atomic<bool>& begun) {
  if (u.mode == Mode::stolen && u.policy == weft::RuntimeOptions::Policy::steal)
    while (!begun) weft::seam::pause();
}

}  // namespace

TEST_CASE("par: results in order, void as monostate, move-only and large ones, in every universe [N-016]") {
  in_each_universe([](const Universe& u) {
    std::atomic<bool> begun = false;
    auto [a, b, c] = weft::par(
        [&] {
          begun = true;
          return 1;
        },
        [] { return std::string(200, 'b'); },
        [&] {
          until_begun(u, begun);
          return std::make_unique<int>(3);
        });
    CHECK(a == 1);
    CHECK(b == std::string(200, 'b'));
    CHECK(*c == 3);
    int side = 0;
    auto [nothing, one] = weft::par([&] { side = 1; }, [] { return 1; });
    CHECK(side == 1);
    CHECK(one == 1);
    static_assert(std::is_same_v<decltype(nothing), std::monostate>);
    CHECK(std::get<0>(weft::par([] { return 9; })) == 9);
    CHECK(fib(15) == 610);
  });
  CHECK(fib(15) == 610);  // on a plain thread
}

TEST_CASE("par: pieces may wait, on every side [N-016]") {
  in_each_universe([](const Universe& u) {
    std::atomic<bool> begun = false;
    auto [a, b] = weft::par(
        [&] {
          begun = true;
          weft::sleep(300us);
          return 1;
        },
        [&] {
          until_begun(u, begun);
          weft::sleep(100us);
          auto [x, y] = weft::par(
              [] {
                weft::yield_now();
                return 20;
              },
              [] {
                weft::sleep(50us);
                return 2;
              });
          return x + y;
        });
    CHECK(a == 1);
    CHECK(b == 22);
  });
}

TEST_CASE("par: the first failure stops the other piece and comes out, the other's beside it [N-016]") {
  in_each_universe([](const Universe& u) {
    for (const bool forked : {true, false}) {
      std::atomic<bool> begun = false;
      const auto fails = [&]() -> int {
        if (!forked) until_begun(u, begun);
        begun = true;
        throw std::runtime_error("piece");
      };
      const auto waits = [&]() -> int {
        if (forked) until_begun(u, begun);
        begun = true;
        weft::sleep(1h);
        return 1;
      };
      std::string text;
      try {
        if (forked && u.mode != Mode::stolen) continue;  // the direct call would wait first, for an hour
        if (forked) {
          (void)weft::par(fails, waits);
        } else {
          (void)weft::par(waits, fails);
        }
      } catch (const std::runtime_error& error) {
        text = error.what();
      }
      CHECK(text == "piece");
    }
  });
}

TEST_CASE("par: when both pieces fail the second error stands beside the first, under both policies [N-016]") {
  for (const auto policy : {weft::RuntimeOptions::Policy::steal, weft::RuntimeOptions::Policy::global}) {
    weft::RuntimeOptions options = workers(2);
    options.policy = policy;
    weft::Runtime runtime(options);
    runtime.run([] {
      for (int round = 0; round < 20; ++round) {
        std::atomic<int> begun = 0;
        // Both have begun before either fails, and neither is stopped before it does.
        const auto piece = [&](const char* name) {
          return [&begun, name]() -> int {
            ++begun;
            weft::shield([&] {
              while (begun != 2) weft::yield_now();
            });
            throw std::runtime_error(name);
          };
        };
        std::vector<std::string> told;
        try {
          (void)weft::par(piece("one"), piece("two"));
        } catch (const std::runtime_error& error) {
          told.emplace_back(error.what());
          for (const std::exception_ptr& other : weft::other_errors()) {
            try {
              std::rethrow_exception(other);
            } catch (const std::runtime_error& beside) {
              told.emplace_back(beside.what());
            }
          }
        }
        std::sort(told.begin(), told.end());
        CHECK(told == std::vector<std::string>{"one", "two"});
      }
    });
  }
}

TEST_CASE("par: a piece that is stopped because the other has failed is no error beside that one [N-016] [N-021]") {
  in_each_universe([](const Universe&) {
    for (const bool first_fails : {true, false}) {
      std::atomic<bool> waits = false;
      const auto fails = [&]() -> int {
        until([&] { return waits.load(); });
        throw std::runtime_error("piece");
      };
      const auto stops = [&]() -> int {
        waits = true;
        weft::sleep(1h);
        return 1;
      };
      std::size_t beside = 99;
      try {
        if (first_fails) {
          (void)weft::par(fails, stops);
        } else {
          (void)weft::par(stops, fails);
        }
      } catch (const std::runtime_error&) {
        beside = weft::other_errors().size();
      }
      CHECK(beside == 0);
    }
  });
}

TEST_CASE("par: pieces that wait for one another end under both policies [N-016] [N-018]") {
  in_each_universe([](const Universe&) {
    std::atomic<bool> told = false;
    (void)weft::par([&] { until([&] { return told.load(); }); }, [&] { told = true; });
    CHECK(told);
    told = false;
    (void)weft::par([&] { told = true; }, [&] { until([&] { return told.load(); }); });
    CHECK(told);
    // Three in a ring: each waits for the one before.
    std::atomic<int> turn = 0;
    (void)weft::par([&] { until([&] { return turn == 1; }), turn = 2; },
                    [&] { until([&] { return turn == 2; }), turn = 3; }, [&] { turn = 1; });
    CHECK(turn == 3);
  });
}

namespace {

int leaves(int depth) {
  if (depth == 0) return 1;
  const auto [a, b] = weft::par([&] { return leaves(depth - 1); }, [&] { return leaves(depth - 1); });
  return a + b;
}

}  // namespace

TEST_CASE("par: under the global policy a deep recursion does not park its whole breadth [N-016]") {
  for (const unsigned count : worker_counts()) {
    weft::RuntimeOptions options = workers(count);
    options.policy = weft::RuntimeOptions::Policy::global;
    weft::Runtime runtime(options);
    CHECK(runtime.run([] { return leaves(14); }) == 1 << 14);
    CHECK(runtime.stats().cores_made < 1000);
  }
}

TEST_CASE("par: a stolen piece that is cancelled does not come back as an empty result [N-016] [N-018]") {
  if (!may_steal()) return;
  weft::RuntimeOptions options = workers(2);
  weft::run(options, [] {
    for (int round = 0; round < 20; ++round) {
      bool returned = false;
      const bool in_time = weft::timeout(1ms, [&] {
        std::atomic<bool> begun = false;
        auto [a, b] = weft::par(
            [&]() -> std::string {
              begun = true;
              weft::sleep(1h);
              return std::string(100, 'x');
            },
            [&]() -> int {
              while (!begun) weft::seam::pause();
              compute_for(2ms);  // no suspension point: only the stolen piece learns of the deadline
              return 1;
            });
        returned = a.size() == 100 && b == 1;
      });
      CHECK_FALSE(in_time);
      CHECK_FALSE(returned);
    }
  });
}

TEST_CASE("par: a piece that is stolen after a cancel never runs, and par raises it [N-016] [B20]") {
  weft::run(workers(2), [] {
    bool ran = false;
    bool raised = false;
    weft::with_nursery([&](weft::Nursery& n) {
      try {
        (void)weft::par([&] { ran = true; },
                        [&] {
                          n.cancel();
                          compute_for(3ms);  // time to be stolen
                        });
        weft::yield_now();
      } catch (const weft::Cancelled&) {
        raised = true;
        throw;
      }
    });
    CHECK(raised);
  });
}

TEST_CASE("par: bindings of the forker are those of a stolen piece [N-016]") {
  static const weft::Dyn<int> level{"level"};
  in_each_universe([](const Universe& u) {
    level.set(7);
    std::atomic<bool> begun = false;
    auto [a, b] = weft::par(
        [&] {
          begun = true;
          return level.get_or(0);
        },
        [&] {
          until_begun(u, begun);
          return level.get_or(0);
        });
    CHECK(a == 7);
    CHECK(b == 7);
    level.unset();
  });
}

TEST_CASE("par: parallel_for, reduce, sort and map_limited agree with their plain twins [N-016]") {
  WEFT_LOG_SEED();
  Dice dice(5);
  std::vector<std::uint64_t> values(20'000);
  for (std::uint64_t& value : values) value = dice.below(1000);
  const std::uint64_t sum = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  std::vector<std::uint64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  in_each_universe([&](const Universe&) {
    std::vector<std::uint64_t> doubled = values;
    weft::parallel_for(doubled, [](std::uint64_t& x) { x *= 2; });
    bool right = true;
    for (std::size_t i = 0; i < values.size(); ++i) right = right && doubled[i] == 2 * values[i];
    CHECK(right);
    CHECK(weft::reduce(values, std::uint64_t{0}) == sum);
    // Not commutative: the order of the pieces counts.
    const std::vector<std::string> words{"a", "b", "c", "d", "e", "f", "g"};
    CHECK(weft::reduce(words, std::string(), std::plus<>(), std::identity(), 1) == "abcdefg");
    std::vector<std::uint64_t> mine = values;
    weft::sort(mine, std::less<>(), 64);
    CHECK(mine == sorted);
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    const std::vector<int> few{1, 2, 3, 4, 5, 6, 7, 8, 9};
    const auto squares = weft::map_limited(few, 3, [&](int x) {
      const int now = ++inside;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      weft::sleep(20us);
      --inside;
      return x * x;
    });
    CHECK(squares == std::vector<int>{1, 4, 9, 16, 25, 36, 49, 64, 81});
    CHECK(most <= 3);
    weft::parallel_for(std::vector<int>{}, [](int) { FAIL("nothing to do"); });
  });
}

TEST_CASE("par: a failure in the middle of parallel_for comes out once, and all pieces have ended [N-016]") {
  in_each_universe([](const Universe&) {
    std::vector<int> values(1000);
    std::iota(values.begin(), values.end(), 0);
    std::atomic<int> inside = 0;
    CHECK_THROWS_WITH_AS(weft::parallel_for(
                             values,
                             [&](int x) {
                               ++inside;
                               struct Leave {
                                 std::atomic<int>& count;
                                 ~Leave() { --count; }
                               } leave{inside};
                               if (x == 500) throw std::runtime_error("500");
                             },
                             10),
                         "500", std::runtime_error);
    CHECK(inside == 0);
  });
}

TEST_CASE(
    "par: parallel_for, reduce, sort and map_limited end by a cancel and by a deadline around them, when all of their "
    "pieces have [N-016]") {
  using Touch = std::function<void()>;  // called for each element, or pair of them
  const std::vector<std::pair<std::string, std::function<void(const Touch&)>>> ways{
      {"parallel_for", [](const Touch& touch) { weft::parallel_for(std::vector<int>(64), [&](int) { touch(); }, 1); }},
      {"reduce",
       [](const Touch& touch) {
         const std::vector<int> values(64);
         (void)weft::reduce(values, 0, std::plus<>(), [&](int x) { return touch(), x; }, 1);
       }},
      {"sort",
       [](const Touch& touch) {
         std::vector<int> values(64);
         weft::sort(values, [&](int a, int b) { return touch(), a < b; }, 4);
       }},
      {"map_limited",
       [](const Touch& touch) {
         const std::vector<int> values(64);
         (void)weft::map_limited(values, 3, [&](int x) { return touch(), x; });
       }},
  };
  for (const auto& [name, way] : ways) {
    CAPTURE(name);  // out here: it belongs to the thread
    in_each_universe([&, &run = way](const Universe& u) {
      std::atomic<int> inside = 0;
      std::atomic<int> ended = 0;
      const Touch touch = [&] {
        ++inside;
        struct Leave {
          std::atomic<int>& count;
          ~Leave() { --count; }
        } leave{inside};
        weft::sleep(1h);
        ++ended;
      };
      CHECK_FALSE(weft::timeout(1ms, [&] { run(touch); }));
      CHECK(inside == 0);
      weft::with_nursery([&](weft::Nursery& n) {
        auto task = u.spawn(n, [&] { run(touch); });
        until([&] { return inside > 0; });
        task.cancel();
        task.wait();
        CHECK(task.status() == weft::TaskStatus::cancelled);
        CHECK(inside == 0);
      });
      CHECK(ended == 0);
    });
  }
}
