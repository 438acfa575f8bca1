// SPDX-License-Identifier: MIT
#include "weft/resolve.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "io/lookup.hpp"
#include "weft/future.hpp"
#include "weft/intercept.hpp"
#include "weft/nursery.hpp"
#include "weft/scope.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

std::atomic<bool> hangs{false};
std::atomic<int> asked_for{0};

struct HangingResolver {
  HangingResolver() {
    hangs = true;
    asked_for = 0;
    lookup = [](const std::string&, const std::string& service, std::vector<sockaddr_storage>& into) {
      ++asked_for;
      while (hangs) std::this_thread::sleep_for(100us);
      const Address found = Address::loopback(static_cast<std::uint16_t>(std::stoi(service)));
      std::memcpy(&into.emplace_back(), found.data(), found.size);
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

TEST_CASE("resolve: a lookup that nobody waits for any more is not made, if it has not begun [N-054]") {
  for (const IoEngine engine : engines()) {
    HangingResolver hanging;
    RuntimeOptions options = with_engine(engine, 1);
    options.blocking_threads = 1;
    Runtime runtime(options);
    runtime.run([] {
      with_nursery([&](Nursery& nursery) {
        auto first = nursery.spawn([] { return resolve("slow", 1).at(0).port(); });
        while (asked_for == 0) yield_now();
        std::vector<Address> found;
        CHECK(resolve_result(found, "late", 2, std::chrono::steady_clock::now() + 1ms).os_error() == ETIMEDOUT);
        CHECK_FALSE(timeout(1ms, [] { (void)resolve("late", 3); }));
        auto cancelled = nursery.spawn([] { (void)resolve("late", 4); });
        until_parked(cancelled);
        cancelled.cancel();
        cancelled.wait();
        hangs = false;
        CHECK(first.join() == 1);
        CHECK(resolve("slow", 5).at(0).port() == 5);
        CHECK(asked_for == 2);
      });
    });
  }
}

TEST_CASE("resolve: an interceptor sees a lookup, answers it, refuses it, or lets it go on [N-057]") {
  on_each_engine([] {
    std::atomic<int> asked{0};
    const auto names = [&](IoRequest& request) {
      if (request.op != IoOp::resolve) return perform_io(request);
      ++asked;
      const std::string host = request.path;
      if (host == "localhost") return perform_io(request);
      if (host != "made.up") return IoResult::failed(EACCES);
      const Address all[] = {Address::ip("192.0.2.1", static_cast<std::uint16_t>(std::stoi(request.to))),
                             Address::ip("2001:db8::1", 7)};
      for (std::size_t i = 0; i < 2; ++i)
        std::memcpy(static_cast<sockaddr_storage*>(request.data) + i, all[i].data(), all[i].size);
      return IoResult(2);
    };
    intercept(names, [&] {
      const std::vector<Address> two{Address::ip("192.0.2.1", 443), Address::ip("2001:db8::1", 7)};
      CHECK(resolve("made.up", 443) == two);
      CHECK(async([] { return resolve("made.up", 443); }).await() == two);
      CHECK_FALSE(resolve("localhost", 80).empty());
      std::vector<Address> none;
      CHECK(resolve_result(none, "elsewhere", 1).os_error() == EACCES);
      CHECK_THROWS_WITH_AS((void)resolve("elsewhere", 1), doctest::Contains("resolve elsewhere"), std::system_error);
    });
    CHECK(asked == 5);
    // A mock that claims more than there is room for, or what is no address.
    intercept([](IoRequest&) { return IoResult(1'000'000); },
              [] { CHECK_THROWS_AS((void)resolve("made.up", 1), std::system_error); });
    CHECK(std::string(to_string(IoOp::resolve)) == "resolve");
  });
}
