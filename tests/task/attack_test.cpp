// SPDX-License-Identifier: MIT
// What somebody hostile tried against tasks, nurseries and scopes. Each case was a bug.
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/dyn.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"
#include "weft/par.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

weft::Dyn<int> level("level");

// Says when it dies, and may wait meanwhile.
struct Leaver {
  std::atomic<int>* left;
  bool waits;
  std::uint64_t* who = nullptr;
  Leaver(std::atomic<int>* l, bool w, std::uint64_t* id = nullptr) : left(l), waits(w), who(id) {}
  Leaver(Leaver&& other) noexcept : left(std::exchange(other.left, nullptr)), waits(other.waits), who(other.who) {}
  ~Leaver() {
    if (left == nullptr) return;
    if (who != nullptr) *who = weft::current_task_id();
    if (waits) weft::sleep(200us);
    left->fetch_add(1);
  }
};
weft::Dyn<Leaver> leaver("leaver");

}  // namespace

TEST_CASE("attack: a binding that a child sets does not reach its joiner, wherever the child ran [HA4.3] [N-018]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      auto child = u.spawn(n, [] { level.set(7); });
      child.join();
      CHECK(!level.bound());
      n.start([] { level.set(8); });
    });
    CHECK(!level.bound());
  });
}

TEST_CASE("attack: what a child bound has died when its nursery ends, and died as that child [HB21] [N-018]") {
  in_each_universe([](const Universe& u) {
    for (const bool waits : {false, true}) {
      std::atomic<int> left{0};
      std::uint64_t died_as = 0;
      std::uint64_t id = 0;
      weft::with_nursery([&](weft::Nursery& n) {
        auto child = u.spawn(n, [&] { leaver.set(Leaver(&left, waits, &died_as)); });
        id = child.id();
      });
      CHECK(left.load() == 1);
      CHECK(died_as == id);
    }
  });
}

TEST_CASE("attack: what a child bound has died when its join returns [HB21] [N-018]") {
  in_each_universe([](const Universe& u) {
    weft::with_nursery([&](weft::Nursery& n) {
      std::atomic<int> left{0};
      auto child = u.spawn(n, [&] { leaver.set(Leaver(&left, true)); });
      child.join();
      CHECK(left.load() == 1);
    });
  });
}

TEST_CASE("attack: a scope swallows no Cancelled that an earlier one at its place has raised [N-027]") {
  weft::Runtime runtime(workers(1));
  runtime.run([] {
    std::exception_ptr kept;
    const auto once = [&](bool first) {
      return weft::timeout(1h, [&] {
        if (!first) std::rethrow_exception(kept);
        weft::cancel_scope();
        try {
          weft::yield_now();
        } catch (const weft::Cancelled&) {
          kept = std::current_exception();
        }
      });
    };
    CHECK(once(true));
    REQUIRE(kept != nullptr);
    CHECK_THROWS_AS(once(false), weft::Cancelled);
    const auto nursery = [&] { weft::with_nursery([&](weft::Nursery&) { std::rethrow_exception(kept); }); };
    for (int i = 0; i < 2; ++i) {
      weft::with_nursery([&](weft::Nursery& n) {
        n.cancel();
        try {
          weft::yield_now();
        } catch (const weft::Cancelled&) {
          kept = std::current_exception();
        }
      });
      CHECK_THROWS_AS(nursery(), weft::Cancelled);
    }
  });
}
