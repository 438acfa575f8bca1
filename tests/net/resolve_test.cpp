// SPDX-License-Identifier: MIT
#include "weft/resolve.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "net/lookup.hpp"
#include "weft/nursery.hpp"
#include "weft/scope.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

std::atomic<bool> hangs{false};

struct HangingResolver {
  HangingResolver() {
    hangs = true;
    lookup = [](const std::string&, std::uint16_t port, std::vector<Address>& into) {
      while (hangs) std::this_thread::sleep_for(100us);
      into.push_back(Address::loopback(port));
      return 0;
    };
  }
  ~HangingResolver() {
    hangs = false;
    lookup = usual;
  }
  Lookup usual = lookup;
};

}  // namespace

TEST_CASE("resolve: a name of the hosts file, a number, and a name that nobody has [N-054]") {
  on_each_engine([] {
    bool loopback = false;
    for (const Address& address : resolve("localhost", 80))
      loopback |= address == Address::loopback(80) || address == Address::ip("::1", 80);
    CHECK(loopback);
    CHECK(resolve("127.0.0.1", 7).at(0) == Address::loopback(7));
    std::vector<Address> none;
    CHECK_FALSE(resolve_result(none, "no such name.invalid", 1).ok());
    CHECK_THROWS_AS((void)resolve("no such name.invalid", 1), std::system_error);
  });
}

TEST_CASE("resolve: a resolver that hangs holds no worker, and is left by a deadline or a cancel [N-054]") {
  for (const IoEngine engine : engines()) {
    HangingResolver hanging;
    Runtime runtime(with_engine(engine, 1));
    runtime.run([] {
      std::vector<Address> found;
      CHECK(resolve_result(found, "slow", 1, std::chrono::steady_clock::now() + 3ms).os_error() == ETIMEDOUT);
      CHECK_FALSE(timeout(3ms, [] { (void)resolve("slow", 1); }));
      with_nursery([&](Nursery& nursery) {
        auto task = nursery.spawn([] { (void)resolve("slow", 1); });
        until_parked(task);
        task.cancel();
        task.wait();
        CHECK(task.status() == TaskStatus::cancelled);
      });
      hangs = false;
      CHECK(resolve("slow", 5).at(0).port() == 5);
    });
  }
}
