// SPDX-License-Identifier: MIT
// Once and Lazy; the interleavings are in verify/scenarios/once.cpp.
#include "weft/once.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

TEST_CASE("once: one does it, the others wait and see it done, in every universe [N-043]") {
  in_each_universe([](const Universe& universe) {
    weft::Once once;
    int made = 0;
    std::atomic<bool> early{false};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 12; ++k)
        (void)universe.spawn(n, [&] {
          once.call([&] {
            weft::sleep(200us);
            ++made;
          });
          if (made != 1) early = true;
        });
    });
    CHECK(made == 1);
    CHECK_FALSE(early);
    CHECK(once.is_done());
  });
}

TEST_CASE("lazy: an initialiser that parks blocks no worker [N-043]") {
  weft::Runtime runtime(workers(1));
  runtime.run([] {
    int others = 0;
    weft::Lazy<std::string> text([&] {
      while (others < 10) weft::sleep(20us);
      return std::string("made");
    });
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 3; ++k) n.start([&] { CHECK(text.get() == "made"); });
      n.start([&] {
        for (; others < 10; ++others) weft::yield_now();
      });
    });
    CHECK(*text == "made");
    CHECK(text->size() == 4);
    CHECK(text.try_get() != nullptr);
  });
}

TEST_CASE("once: if it throws, whoever did it gets that, and the next in line tries [N-043]") {
  in_each_universe([](const Universe& universe) {
    weft::Once once;
    std::atomic<int> tries{0};
    std::atomic<int> failures{0};
    weft::with_nursery([&](weft::Nursery& n) {
      for (int k = 0; k < 8; ++k)
        (void)universe.spawn(n, [&] {
          try {
            once.call([&] {
              weft::yield_now();
              if (++tries < 4) throw std::runtime_error("not yet");
            });
          } catch (const std::runtime_error&) {
            ++failures;
          }
        });
    });
    CHECK(tries == 4);
    CHECK(failures == 3);
    CHECK(once.is_done());
  });
}

TEST_CASE("once: a turn that a cancelled waiter would have had goes to the next [B13]") {
  in_each_universe([](const Universe&) {
    weft::Once once;
    std::atomic<bool> began{false};
    std::atomic<bool> fail{false};
    std::atomic<int> made{0};
    weft::with_nursery([&](weft::Nursery& n) {
      auto first = n.spawn([&] {
        CHECK_THROWS_AS(once.call([&] {
          began = true;
          while (!fail) weft::sleep(20us);
          throw std::runtime_error("no");
        }),
                        std::runtime_error);
      });
      until([&] { return began.load(); });
      auto second = n.spawn([&] { once.call([&] { ++made; }); });
      until_parked(second);
      auto third = n.spawn([&] { once.call([&] { made += 10; }); });
      until_parked(third);
      second.cancel();
      fail = true;
    });
    CHECK((made == 10 || made == 1));  // the second may have had its turn before it was asked to stop
    CHECK(once.is_done());
  });
}

TEST_CASE("once: every form has its time [N-033]") {
  in_each_universe([](const Universe&) {
    weft::Once once;
    std::atomic<bool> stop{false};
    std::atomic<bool> begun{false};
    const auto soon = [] { return std::chrono::steady_clock::now() + 200us; };
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        once.call([&] {
          begun = true;
          while (!stop) weft::sleep(50us);
        });
      });
      until([&] { return begun.load(); });
      const auto nothing = [] {};
      CHECK_FALSE(once.call_for(200us, nothing));
      CHECK_FALSE(once.call_until(soon(), nothing));
      CHECK(once.call_result(nothing, soon()) == weft::WaitResult::timed_out);
      stop = true;
    });
    weft::Lazy<int> lazy([] { return 7; });
    CHECK(lazy.try_get() == nullptr);
    CHECK(*lazy.get_for(1s) == 7);
    CHECK(*lazy.get_until(soon()) == 7);
  });
}

TEST_CASE("lazy: plain threads make it and wait for it [N-043]") {
  std::atomic<int> made{0};
  weft::Lazy lazy([&] {
    weft::sleep(1ms);
    return ++made;
  });
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k) threads.emplace_back([&] { CHECK(lazy.get() == 1); });
  weft::run([&] { CHECK(lazy.get() == 1); });
  for (auto& thread : threads) thread.join();
  CHECK(made == 1);
}

TEST_CASE("lazy: get_result gives the value, or says why not, and throws what making it throws only [N-028]") {
  in_each_universe([](const Universe&) {
    bool works = false;
    weft::SyncEvent go;
    weft::Lazy<int> lazy([&]() -> int {
      if (!works) throw std::runtime_error("not yet");
      go.wait();
      return 4;
    });
    CHECK_THROWS_WITH((void)lazy.get_result(), "not yet");
    works = true;
    weft::with_nursery([&](weft::Nursery& n) {
      auto maker = n.spawn([&] { return **lazy.get_result(); });
      until_parked(maker);
      CHECK(lazy.get_result(std::chrono::steady_clock::now() + 200us).error() == weft::WaitResult::timed_out);
      auto stopped = n.spawn([&]() noexcept { return lazy.get_result().error(); });
      until_parked(stopped);
      stopped.cancel();
      CHECK(stopped.join() == weft::WaitResult::cancelled);
      go.set();
      CHECK(maker.join() == 4);
    });
    CHECK(*lazy.get_result() == &lazy.get());
  });
}

}  // namespace
