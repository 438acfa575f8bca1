// SPDX-License-Identifier: MIT
#include "doctest/doctest.h"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/sim.hpp"

using namespace std::chrono_literals;
namespace sim = weft::sim;

namespace {

sim::ExploreOptions quietly(std::uint64_t seeds) {
  sim::ExploreOptions options;
  options.seeds = seeds;
  options.quiet = true;
  return options;
}

// Reads under the lock, writes under the lock, and forgets that somebody may come in between.
struct Account {
  weft::Mutex mutex;
  int balance = 0;
  void pay_badly(int amount) {
    int now = 0;
    {
      const std::lock_guard guard(mutex);
      now = balance;
    }
    const std::lock_guard guard(mutex);
    balance = now + amount;
  }
  void pay(int amount) {
    const std::lock_guard guard(mutex);
    balance += amount;
  }
};

void lose_an_update() {
  Account account;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 3; ++i) n.start([&] { account.pay_badly(1); });
  });
  sim::check(account.balance == 3, "no payment is lost");
}

}  // namespace

TEST_CASE("sim: a lost update is found, replayed and shrunk to one interruption [N-062]") {
  const sim::Exploration found = sim::explore(quietly(1000), lose_an_update);
  REQUIRE(found.failures == 1);
  CHECK(found.first.failure == sim::Failure::check);
  CHECK(found.first.text.find("no payment is lost") != std::string::npos);
  MESSAGE(found.text);
}

TEST_CASE("sim: the same program without the bug passes every seed [N-062]") {
  const sim::Exploration found = sim::explore(quietly(200), [] {
    Account account;
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 3; ++i) n.start([&] { account.pay(1); });
    });
    sim::check(account.balance == 3, "no payment is lost");
  });
  CHECK_MESSAGE(found.ok(), found.text);
  CHECK(found.tried == 200);
}
