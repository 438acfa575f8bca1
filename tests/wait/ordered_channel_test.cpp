// SPDX-License-Identifier: MIT
// OrderedChannel: results in the order of submission, and what a handle is.
#include "weft/ordered_channel.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/sync_event.hpp"
#include "weft/time.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using weft::OrderedChannel;

namespace {

TEST_CASE("ordered: results come in the order of submission, whoever is first [V-062]") {
  in_each_universe([](const Universe&) {
    OrderedChannel<int> ordered(4);
    std::vector<int> got;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        for (int i = 0; i < 12; ++i)
          ordered.spawn(n, [i] {
            for (int k = i % 4; k < 4; ++k) weft::yield_now();
            return i;
          });
        ordered.close();
      });
      while (auto value = ordered.recv()) got.push_back(*value);
    });
    CHECK(got.size() == 12);
    CHECK(std::ranges::is_sorted(got));
  });
}

TEST_CASE("ordered: a slow first one holds back the others: that is what it is for [V-064]") {
  in_each_universe([](const Universe&) {
    OrderedChannel<int> ordered(2);
    weft::with_nursery([&](weft::Nursery& n) {
      const auto begin = std::chrono::steady_clock::now();
      ordered.spawn(n, [] {
        weft::sleep(50ms);
        return 1;
      });
      ordered.spawn(n, [] { return 2; });
      CHECK(*ordered.recv() == 1);
      CHECK(std::chrono::steady_clock::now() - begin >= 50ms);
      CHECK(*ordered.recv() == 2);
    });
  });
}

TEST_CASE("ordered: a received handle is awaited by a fiber that parks and by a thread that blocks [V-065]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      OrderedChannel<int> ordered(2);
      weft::SyncEvent go;
      ordered.spawn(n, [&] {
        go.wait();
        return 7;
      });
      auto handle = ordered.recv_task();
      bool worked = false;
      n.start([&] {
        worked = true;  // the one worker is free while the joiner waits
        go.set();
      });
      const auto before = runtime.stats().parks;
      CHECK(handle->join() == 7);
      CHECK(worked);
      CHECK(runtime.stats().parks >= before + 1);
    });
  });
  weft::Runtime other(workers(2));
  OrderedChannel<int> ordered(1);
  int got = 0;
  std::thread thread([&] { got = *ordered.recv(); });
  other.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      ordered.spawn(n, [] {
        weft::sleep(5ms);
        return 9;
      });
      thread.join();  // holds this worker; the task is another's
    });
  });
  CHECK(got == 9);
}

TEST_CASE("ordered: what join gave is the receiver's own: the record is used again at once [V-066]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      struct Big {
        std::array<int, 8> words;
      };
      OrderedChannel<Big> ordered(1);
      const weft::detail::TaskCore* first = nullptr;
      bool reused = false;
      for (int i = 0; i < 50; ++i) {
        auto task = n.spawn([i] {
          Big big;
          big.words.fill(i);
          return big;
        });
        if (i == 0) first = task.core();
        if (i > 0 && task.core() == first) reused = true;
        ordered.send(std::move(task));
        const Big got = *ordered.recv();
        auto next = n.spawn([] {
          Big other;
          other.words.fill(-1);
          return other;
        });
        (void)next.join();
        CHECK(got.words[0] == i);
        CHECK(got.words[7] == i);
      }
      CHECK(reused);
    });
  });
}

TEST_CASE("ordered: a struct result lies at the beginning of the record's room, without heap memory [V-067]") {
  weft::run([] {
    struct Point {
      double x, y, z;
    };
    static_assert(weft::detail::fits_room<Point>);
    weft::with_nursery([&](weft::Nursery& n) {
      auto task = n.spawn([] { return Point{1, 2, 3}; });
      task.wait();
      const auto* at_zero = reinterpret_cast<const Point*>(task.core()->room);
      CHECK(&weft::detail::TaskRoom<Point>::at(task.core()) == at_zero);
      CHECK(at_zero->z == 3);
      CHECK(task.join().y == 2);
    });
  });
}

TEST_CASE("ordered: to send a task's handle and to send in a task are two things [V-068]") {
  in_each_universe([](const Universe&) {
    weft::with_nursery([&](weft::Nursery& n) {
      OrderedChannel<int> handles(1);
      handles.spawn(n, [] { return 3; });
      CHECK(*handles.recv() == 3);
      weft::Channel<int> values;
      auto sending = weft::send_in_task(n, values, 4);
      until_parked(sending);  // the value waits in a task of its own, the caller does not
      CHECK(*values.recv() == 4);
      sending.join();
    });
  });
}

TEST_CASE("ordered: a handle that cannot be sent is joined: its work is done, nothing is left [V-069]") {
  in_each_universe([](const Universe&) {
    weft::with_nursery([&](weft::Nursery& n) {
      OrderedChannel<int> closed(4);
      closed.close("no more");
      std::atomic<bool> worked{false};
      CHECK_THROWS_AS(closed.spawn(n,
                                   [&] {
                                     weft::yield_now();
                                     worked = true;
                                     return 1;
                                   }),
                      weft::ChannelClosed);
      CHECK(worked);  // before spawn() came back
      OrderedChannel<int> full(0);
      std::atomic<bool> ended{false};
      auto sender = n.spawn([&] {
        weft::with_nursery([&](weft::Nursery& inner) {
          full.spawn(inner, [&] {
            ended = true;
            return 1;
          });
        });
      });
      until_parked(sender);
      sender.cancel();
      sender.wait();
      CHECK(full.size() == 0);
    });
  });
}

TEST_CASE("ordered: a failure comes out at its place") {
  in_each_universe([](const Universe&) {
    OrderedChannel<int> ordered(3);
    ordered.send(weft::go([] { return 1; }));
    ordered.send(weft::go([]() -> int { throw std::runtime_error("second"); }));
    ordered.send(weft::go([] { return 3; }));
    CHECK(*ordered.recv() == 1);
    CHECK_THROWS_WITH((void)ordered.recv(), "second");
    CHECK(*ordered.recv() == 3);
  });
}

TEST_CASE("ordered: a receiver that leaves without a result leaves the oldest to the next [N-022] [N-033]") {
  in_each_universe([](const Universe& u) {
    OrderedChannel<int> ordered(2);
    weft::SyncEvent go;
    weft::with_nursery([&](weft::Nursery& n) {
      CHECK(ordered.recv_for(100us).error() == weft::RecvStatus::timed_out);
      CHECK(ordered.try_send(u.spawn(n, [&] {
        go.wait();
        return 1;
      })) == weft::SendStatus::sent);
      CHECK(ordered.try_send(n.spawn([] { return 2; })) == weft::SendStatus::sent);
      auto third = n.spawn([] { return 3; });
      CHECK(ordered.try_send(std::move(third)) == weft::SendStatus::full);
      CHECK(ordered.send_for(std::move(third), 100us) == weft::SendStatus::timed_out);
      CHECK(third.join() == 3);  // still the caller's
      // Each of them has waited for the first one's end.
      CHECK_FALSE(ordered.try_recv().has_value());
      CHECK(ordered.recv_for(100us).error() == weft::RecvStatus::timed_out);
      CHECK(ordered.recv_result(weft::now() + 100us).error() == weft::RecvStatus::timed_out);
      auto stopped = n.spawn([&] { (void)ordered.recv(); });
      until_parked(stopped);
      auto second = n.spawn([&] { return *ordered.recv(); });  // waits for its turn
      until_parked(second);
      CHECK_FALSE(ordered.try_recv_task().has_value());
      CHECK(ordered.recv_task_for(100us).error() == weft::RecvStatus::timed_out);
      stopped.cancel();
      stopped.wait();
      CHECK(stopped.status() == weft::TaskStatus::cancelled);
      go.set();
      CHECK(second.join() == 1);
      CHECK(*ordered.recv_until(weft::now() + 1h) == 2);
    });
  });
}

TEST_CASE("ordered: quietly a failure comes as a task that has ended; what nobody got is given back [N-028]") {
  in_each_universe([](const Universe&) {
    OrderedChannel<int> ordered(4);
    CHECK(ordered.send_result(weft::go([]() -> int { throw std::runtime_error("first"); })) == weft::SendStatus::sent);
    auto failed = ordered.recv_result();
    REQUIRE(failed.has_value());
    CHECK(failed->done());
    const auto why = failed->join_result();
    REQUIRE_FALSE(why.has_value());
    CHECK(why.error().why == weft::AwaitError::Why::failed);
    CHECK_THROWS_WITH(std::rethrow_exception(why.error().failure), "first");
    weft::SyncEvent go;
    ordered.send(weft::go([&] {
      go.wait();
      return 2;
    }));
    ordered.send(weft::go([] { return 3; }));
    CHECK(ordered.recv_for(100us).error() == weft::RecvStatus::timed_out);
    std::vector<weft::Task<int>> rest = ordered.close_recv();
    go.set();
    REQUIRE(rest.size() == 2);
    CHECK(rest[0].join() == 2);  // the one that was waited for is the first
    CHECK(*rest[1].join_for(1h) == 3);
    CHECK(ordered.recv_result().error() == weft::RecvStatus::closed);
    CHECK(ordered.recv_task_result().error() == weft::RecvStatus::closed);
    CHECK(ordered.send_result(weft::go([] { return 4; })) == weft::SendStatus::closed);
  });
}

}  // namespace
