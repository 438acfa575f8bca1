// SPDX-License-Identifier: MIT
// Failures in a nursery: the first stops the others and is the one that is thrown, the others stand beside it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/scope.hpp"
#include "weft/trace.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "?";
  }
}

}  // namespace

TEST_CASE("nursery: the first failure stops the siblings, and comes out as the original [N-021] [W-014]") {
  struct Mine : std::runtime_error {
    using std::runtime_error::runtime_error;
    int extra = 17;
  };
  in_each_universe([](const Universe& u) {
    std::atomic<int> begun = 0;
    std::atomic<int> stopped = 0;
    try {
      weft::with_nursery([&](weft::Nursery& n) {
        for (int i = 0; i < 5; ++i) {
          auto waits = u.spawn(n, [&] {
            ++begun;
            try {
              weft::sleep(1h);
            } catch (const weft::Cancelled& cancelled) {
              if (cancelled.reason() == weft::CancelReason::sibling) ++stopped;
              throw;
            }
          });
        }
        until([&] { return begun == 5; });
        auto fails = u.spawn(n, [] { throw Mine("first"); });
      });
      FAIL("nothing came out");
    } catch (const Mine& mine) {
      CHECK(std::string(mine.what()) == "first");
      CHECK(mine.extra == 17);
      CHECK(weft::other_errors().empty());
    }
    CHECK(stopped == 5);
  });
}

TEST_CASE("nursery: three failures: the first is thrown, the two others are beside it [N-021]") {
  in_each_universe([](const Universe& u) {
    std::atomic<int> begun = 0;
    try {
      weft::with_nursery([&](weft::Nursery& n) {
        for (const char* name : {"b", "c"}) {
          auto fails = u.spawn(n, [name, &begun] {
            ++begun;
            try {
              weft::sleep(1h);
            } catch (const weft::Cancelled&) {
              throw std::runtime_error(name);
            }
          });
        }
        until([&] { return begun == 2; });
        auto first = u.spawn(n, [] { throw std::runtime_error("a"); });
      });
      FAIL("nothing came out");
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "a");
      std::vector<std::string> others;
      for (const auto& other : weft::other_errors()) others.push_back(text_of(other));
      std::sort(others.begin(), others.end());
      CHECK(others == std::vector<std::string>{"b", "c"});
    }
  });
}

TEST_CASE("nursery: a failure that the body joins again is not attached twice [N-021]") {
  in_each_universe([](const Universe& u) {
    try {
      weft::with_nursery([&](weft::Nursery& n) {
        auto second = u.spawn(n, [] {
          try {
            weft::sleep(1h);
          } catch (const weft::Cancelled&) {
            throw std::runtime_error("second");
          }
        });
        until_parked(second);
        auto first = u.spawn(n, [] { throw std::runtime_error("first"); });
        weft::shield([&] { second.wait(); });
        second.join();
      });
      FAIL("nothing came out");
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "first");
      CHECK(weft::other_errors().size() == 1);
    }
  });
}

TEST_CASE("nursery: what stands beside a failure stays while its handler waits [N-021]") {
  in_each_universe([](const Universe& u) {
    try {
      weft::with_nursery([&](weft::Nursery& n) {
        auto second = u.spawn(n, [] {
          try {
            weft::sleep(1h);
          } catch (const weft::Cancelled&) {
            throw std::runtime_error("second");
          }
        });
        until_parked(second);
        auto first = u.spawn(n, [] { throw std::runtime_error("first"); });
      });
    } catch (const std::runtime_error&) {
      auto failing = weft::go([] { throw std::runtime_error("another task's"); });
      failing.wait();
      weft::sleep(100us);
      CHECK(weft::other_errors().size() == 1);
      CHECK_THROWS(failing.join());
      CHECK(weft::other_errors().size() == 1);
    }
  });
}

TEST_CASE("nursery: what stands beside a failure goes with it to whoever joins, and adds up [N-021]") {
  in_each_universe([](const Universe& u) {
    const auto fails_late = [](const char* text) {
      return [text] {
        try {
          weft::sleep(1h);
        } catch (const weft::Cancelled&) {
          throw std::runtime_error(text);
        }
      };
    };
    auto task = weft::go([&] {
      weft::with_nursery([&](weft::Nursery& outer) {
        auto third = u.spawn(outer, fails_late("third"));
        until_parked(third);
        weft::with_nursery([&](weft::Nursery& n) {
          auto second = u.spawn(n, fails_late("second"));
          until_parked(second);
          throw std::runtime_error("first");
        });
      });
    });
    try {
      task.join();
      FAIL("nothing came out");
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "first");
      std::vector<std::string> others;
      for (const auto& other : weft::other_errors()) others.push_back(text_of(other));
      CHECK(others == std::vector<std::string>{"second", "third"});
    }
    CHECK(weft::other_errors().empty());
  });
}

TEST_CASE("nursery: the joiner of a task that was cancelled has failed: nobody asked it to stop [N-020] [N-021]") {
  in_each_universe([](const Universe& u) {
    // In a nursery: its failure stops the siblings and comes out.
    bool sibling_stopped = false;
    const void* named = nullptr;
    const void* record = nullptr;
    weft::TaskStatus joiner_ended = weft::TaskStatus::created;
    try {
      weft::with_nursery([&](weft::Nursery& n) {
        auto sleeper = u.spawn(n, [] { weft::sleep(1h); });
        auto sibling = u.spawn(n, [&] {
          try {
            weft::sleep(1h);
          } catch (const weft::Cancelled& cancelled) {
            sibling_stopped = cancelled.reason() == weft::CancelReason::sibling;
            throw;
          }
        });
        until_parked(sleeper);
        until_parked(sibling);
        record = sleeper.core();
        auto joiner = u.spawn(n, [&] { sleeper.join(); });
        until_parked(joiner);
        sleeper.cancel();
        weft::shield([&] { joiner.wait(); });
        joiner_ended = joiner.status();
        CHECK(sleeper.status() == weft::TaskStatus::cancelled);
      });
      FAIL("nothing came out");
    } catch (const weft::Cancelled& cancelled) {
      named = cancelled.scope();
    }
    CHECK(joiner_ended == weft::TaskStatus::failed);
    CHECK(named == record);
    CHECK(sibling_stopped);
    // In the body.
    CHECK_THROWS_AS(weft::with_nursery([&](weft::Nursery& n) {
                      auto sleeper = u.spawn(n, [] { weft::sleep(1h); });
                      until_parked(sleeper);
                      sleeper.cancel();
                      sleeper.join();
                    }),
                    weft::Cancelled);
    // A joiner that was asked itself is cancelled, and so is one that the same scope asked.
    weft::with_nursery([&](weft::Nursery& n) {
      auto sleeper = u.spawn(n, [] { weft::sleep(1h); });
      auto joiner = u.spawn(n, [&] { sleeper.join(); });
      until_parked(joiner);
      joiner.cancel();
      joiner.wait();
      CHECK(joiner.status() == weft::TaskStatus::cancelled);
      auto other = u.spawn(n, [&] { sleeper.join(); });
      until_parked(other);
      n.cancel();
      weft::shield([&] { other.wait(); });
      CHECK(other.status() == weft::TaskStatus::cancelled);
    });
  });
}

TEST_CASE("nursery: the body's own failure stops the children and is the one that is thrown [N-021]") {
  in_each_universe([](const Universe& u) {
    bool stopped = false;
    CHECK_THROWS_WITH_AS(weft::with_nursery([&](weft::Nursery& n) {
                           auto child = u.spawn(n, [&] {
                             try {
                               weft::sleep(1h);
                             } catch (const weft::Cancelled&) {
                               stopped = true;
                               throw;
                             }
                           });
                           until_parked(child);
                           throw std::logic_error("the body");
                         }),
                         "the body", std::logic_error);
    CHECK(stopped);
  });
}
