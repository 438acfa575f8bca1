// SPDX-License-Identifier: MIT
// Select over everything that can be waited for [SEL-1..7].
#include "weft/select.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/park.hpp"
#include "sched/universe.hpp"
#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/op.hpp"
#include "weft/runtime.hpp"
#include "weft/sync_event.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using weft::Channel;
using weft::Op;
using weft::SendStatus;
using weft::SyncEvent;
namespace op = weft::op;

namespace {

template <class T>
bool nobody_waits(Channel<T>& channel) {
  const auto waiting = channel.core().waiting();
  return waiting.senders == 0 && waiting.receivers == 0;
}

TEST_CASE("select: of two ready channels one is taken, the other keeps its value [V-053] [B7]") {
  in_each_universe([](const Universe&) {
    Channel<int> a(1), b(1);
    a.send(1);
    b.send(2);
    const auto got = weft::select(op::recv(a), op::recv(b));
    const auto& value = got.index() == 0 ? std::get<0>(got) : std::get<1>(got);
    CHECK(*value == static_cast<int>(got.index()) + 1);
    CHECK(a.size() + b.size() == 1);
  });
}

TEST_CASE("select: ready cases are taken in turn, none starves") {
  weft::run([] {
    Channel<int> channels[3] = {Channel<int>(1), Channel<int>(1), Channel<int>(1)};
    int counts[3] = {};
    for (int i = 0; i < 300; ++i) {
      for (auto& channel : channels) (void)channel.try_send(1);
      ++counts[weft::select(op::recv(channels[0]), op::recv(channels[1]), op::recv(channels[2])).index()];
    }
    for (const int count : counts) CHECK(count > 50);
  });
}

TEST_CASE("select: it waits, is woken by one, and has left all lists when it returns [V-054] [B7] [W-089]") {
  in_each_universe([](const Universe&) {
    for (int which = 0; which < 3; ++which) {
      Channel<int> channels[3];
      weft::with_nursery([&](weft::Nursery& n) {
        auto waiter = n.spawn([&] {
          const auto got = weft::select(op::recv(channels[0]), op::recv(channels[1]), op::recv(channels[2]));
          for (auto& channel : channels) CHECK(nobody_waits(channel));
          return static_cast<int>(got.index());
        });
        until_parked(waiter);
        channels[which].send(7);
        CHECK(waiter.join() == which);
      });
    }
  });
}

TEST_CASE("select: a send that loses keeps its value and does not say closed [SEL-5] [B11]") {
  in_each_universe([](const Universe&) {
    Channel<std::unique_ptr<int>> out;
    Channel<int> in;
    weft::with_nursery([&](weft::Nursery& n) {
      auto waiter = n.spawn([&] {
        auto send = op::send(out, std::make_unique<int>(5));
        auto mine = std::make_unique<int>(6);
        const auto got = weft::select(send, op::send_from(out, mine), op::recv(in));
        REQUIRE(got.index() == 2);
        REQUIRE(send.value() != nullptr);
        CHECK(*send.value() == 5);
        REQUIRE(mine != nullptr);
        // The same op again, and now it wins.
        const auto next = weft::select(send, op::recv(in));
        REQUIRE(next.index() == 0);
        CHECK(std::get<0>(next) == SendStatus::sent);
        CHECK(send.value() == nullptr);
      });
      until_parked(waiter);
      in.send(1);
      CHECK(**out.recv() == 5);
    });
  });
}

TEST_CASE("select: closed is ready: a receive gives nothing, a send says so [W-062] [W-061]") {
  weft::run([] {
    Channel<int> ch;
    ch.close("over");
    CHECK_FALSE(std::get<0>(weft::select(op::recv(ch))).has_value());
    CHECK(std::get<0>(weft::select(op::send(ch, 1))) == SendStatus::closed);
    Channel<int> open;
    weft::with_nursery([&](weft::Nursery& n) {
      auto waiter = n.spawn([&] { return weft::select(op::send(open, 1), op::recv(open)).index(); });
      until_parked(waiter);
      (void)open.close_recv();
      (void)waiter.join();
      CHECK(nobody_waits(open));
    });
  });
}

TEST_CASE("select: the same channel twice, and send and receive of one channel [N-030] [B9]") {
  in_each_universe([](const Universe&) {
    Channel<int> ch;
    // Alone it cannot serve itself.
    CHECK(weft::select(op::send(ch, 1), op::recv(ch), op::recv(ch), op::timeout(1ms)).index() == 3);
    CHECK(nobody_waits(ch));
    weft::with_nursery([&](weft::Nursery& n) {
      std::atomic<int> sent{0}, received{0};
      for (int t = 0; t < 2; ++t)
        n.start([&] {
          for (int i = 0; i < 50; ++i) {
            const auto got = weft::select(op::send(ch, 1), op::recv(ch), op::recv(ch));
            got.index() == 0 ? ++sent : ++received;
          }
        });
      until([&] { return sent + received == 100; });
      CHECK(sent == received);
    });
    CHECK(nobody_waits(ch));
  });
}

TEST_CASE("select: it does not take the wake of a plain receiver [B8]") {
  in_each_universe([](const Universe&) {
    for (int round = 0; round < 20; ++round) {
      Channel<int> a, b;
      weft::with_nursery([&](weft::Nursery& n) {
        auto selecting = n.spawn([&] { return weft::select(op::recv(a), op::recv(b)).index(); });
        until_parked(selecting);
        auto receiving = n.spawn([&] { return *b.recv(); });
        until_parked(receiving);
        a.send(1);  // the select's, whatever happens on b
        b.send(2);  // its node there may still be linked: the next one's then
        CHECK(selecting.join() == 0);
        CHECK(receiving.join() == 2);
      });
    }
  });
}

TEST_CASE("select: two selects that could serve each other do [HA7]") {
  in_each_universe([](const Universe&) {
    Channel<int> a, b;
    std::atomic<int> done{0};
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        for (int i = 0; i < 100; ++i) (void)weft::select(op::send(a, i), op::recv(b));
        ++done;
      });
      n.start([&] {
        for (int i = 0; i < 100; ++i) (void)weft::select(op::send(b, i), op::recv(a));
        ++done;
      });
    });
    CHECK(done == 2);
  });
}

TEST_CASE("select: timeout, otherwise, event, join beside a channel, each won once [N-030] [W-015]") {
  in_each_universe([](const Universe&) {
    Channel<int> never;
    CHECK(weft::select(op::recv(never), op::otherwise()).index() == 1);
    CHECK(weft::select(op::recv(never), op::timeout(1ms)).index() == 1);
    CHECK(weft::select(op::recv(never), op::timeout(1h), op::at(std::chrono::steady_clock::now() + 1ms)).index() == 2);
    CHECK(weft::select(op::timeout(0ns)).index() == 0);
    CHECK_THROWS_AS((void)op::timeout(-1ns), std::invalid_argument);
    SyncEvent set(true), unset;
    CHECK(weft::select(op::event(unset), op::event(set)).index() == 1);
    weft::with_nursery([&](weft::Nursery& n) {
      auto waiter = n.spawn([&] { return weft::select(op::recv(never), op::event(unset)).index(); });
      until_parked(waiter);
      unset.set();
      CHECK(waiter.join() == 1);

      Channel<int> gate;
      auto child = n.spawn([&] { return *gate.recv() + 1; });
      auto joiner = n.spawn([&] {
        const auto got = weft::select(op::recv(never), op::join(child), op::timeout(1h));
        return std::get<1>(got);
      });
      until_parked(joiner);
      gate.send(41);
      CHECK(joiner.join() == 42);

      auto ended = n.spawn([] {});
      ended.wait();
      CHECK(weft::select(op::recv(never), op::join(ended)).index() == 1);
    });
    CHECK(nobody_waits(never));
  });
}

TEST_CASE("select: a send to a full channel that drops never waits, and says what it did [N-030] [W-051]") {
  in_each_universe([](const Universe&) {
    Channel<std::unique_ptr<int>> newest(1, weft::ChannelMode::drop_old);
    Channel<std::unique_ptr<int>> oldest(1, weft::ChannelMode::drop_new);
    Channel<std::unique_ptr<int>> nothing(0, weft::ChannelMode::drop_old);
    Channel<int> never;
    const auto put = [&](Channel<std::unique_ptr<int>>& channel, int value) {
      auto send = op::send(channel, std::make_unique<int>(value));
      const auto got = weft::select(send, op::recv(never));
      REQUIRE(got.index() == 0);
      CHECK((std::get<0>(got) == SendStatus::sent) == (send.value() == nullptr));
      return std::get<0>(got);
    };
    CHECK(put(newest, 1) == SendStatus::sent);
    CHECK(put(newest, 2) == SendStatus::sent);
    CHECK(newest.dropped() == 1);
    CHECK(**newest.recv() == 2);
    CHECK(put(oldest, 1) == SendStatus::sent);
    CHECK(put(oldest, 2) == SendStatus::dropped);
    CHECK(oldest.dropped() == 1);
    CHECK(**oldest.recv() == 1);
    CHECK(put(nothing, 1) == SendStatus::dropped);
    newest.close();
    CHECK(put(newest, 3) == SendStatus::closed);
  });
}

TEST_CASE("select: every pair of kinds, each side ready once [N-030]") {
  weft::run([] {
    // kind: 0 recv, 1 send, 2 join, 3 event, 4 timeout, 5 otherwise
    for (int first = 0; first < 6; ++first) {
      for (int second = 0; second < 6; ++second) {
        for (const bool first_ready : {true, false}) {
          if ((first_ready ? second : first) >= 4 && !((first_ready ? first : second) < 4)) continue;
          SyncEvent go;  // outlives the nursery, whose last child waits for it
          weft::with_nursery([&](weft::Nursery& n) {
            Channel<int> full(1), empty(1), block;
            full.send(1);
            SyncEvent set(true), unset;
            auto ended = n.spawn([] { return 0; });
            ended.wait();
            auto alive = n.spawn([&] {
              go.wait();
              return 0;
            });
            const auto make = [&](int kind, bool ready) -> Op<int> {
              switch (kind) {
                case 0:
                  return op::wrap(op::recv(ready ? full : block), [](auto) { return 0; });
                case 1:
                  return op::wrap(op::send(ready ? empty : block, 1), [](auto) { return 1; });
                case 2:
                  return op::wrap(op::join(ready ? ended : alive), [](auto) { return 2; });
                case 3:
                  return op::wrap(op::event(ready ? set : unset), [](auto) { return 3; });
                case 4:
                  return op::wrap(op::timeout(ready ? 0ns : 1h), [](auto) { return 4; });
                default:
                  return op::wrap(op::otherwise(), [](auto) { return 5; });
              }
            };
            std::vector<Op<int>> ops;
            ops.push_back(make(first, first_ready));
            ops.push_back(make(second, !first_ready));
            const auto got = weft::select(ops);
            const int ready = first_ready ? first : second;
            CHECK(got.value == ready);
            if (first != second) CHECK(got.index == (first_ready ? 0U : 1U));
            go.set();
          });
        }
      }
    }
  });
}

TEST_CASE("select: a task's failure comes out of the join case") {
  weft::run([] {
    auto failing = weft::go([] { throw std::runtime_error("broken"); });
    Channel<int> never;
    CHECK_THROWS_WITH((void)weft::select(op::recv(never), op::join(failing)), "broken");
    CHECK(nobody_waits(never));
  });
}

TEST_CASE("select: ops are values: a function returns one, another selects over it; wrap and choose [N-036]") {
  in_each_universe([](const Universe&) {
    Channel<int> numbers(1);
    Channel<std::string> words(1);
    const auto next_text = [&]() -> Op<std::string> {
      std::vector<Op<std::string>> both;
      both.push_back(op::wrap(op::recv(numbers), [](std::optional<int> v) { return v ? std::to_string(*v) : "end"; }));
      both.push_back(op::wrap(op::recv(words), [](std::optional<std::string> v) { return v.value_or("end"); }));
      return op::choose(std::move(both));
    };
    Op<std::string> text = next_text();
    CHECK(weft::select(text, op::otherwise()).index() == 1);
    words.send("hello");
    CHECK(std::get<0>(weft::select(text, op::timeout(1h))) == "hello");
    numbers.send(7);
    auto longer = op::wrap(std::move(text), [](const std::string& s) { return s.size(); });
    CHECK(std::get<0>(weft::select(longer)) == 1);
  });
}

TEST_CASE("select: _for, _until and _result end at their time [N-033]") {
  in_each_universe([](const Universe&) {
    Channel<int> never;
    CHECK_FALSE(weft::select_for(1ms, op::recv(never)).has_value());
    CHECK_FALSE(weft::select_until(std::chrono::steady_clock::now() + 1ms, op::recv(never)).has_value());
    CHECK(weft::select_result(std::chrono::steady_clock::now() + 1ms, op::recv(never)).error() ==
          weft::WaitResult::timed_out);
    CHECK(weft::select_for(1h, op::recv(never), op::timeout(1ms))->index() == 1);
    CHECK(nobody_waits(never));
    std::vector<Op<int>> none;
    CHECK_THROWS_AS((void)weft::select(none), std::invalid_argument);
  });
}

TEST_CASE("select: asked to stop it throws and has left all lists; quietly it says so [N-022] [B14]") {
  in_each_universe([](const Universe&) {
    Channel<int> a, b;
    weft::with_nursery([&](weft::Nursery& n) {
      auto loud = n.spawn([&] { (void)weft::select(op::recv(a), op::send(b, 1)); });
      auto quiet = n.spawn(
          [&] { return weft::select_result(std::chrono::steady_clock::time_point::max(), op::recv(a)).error(); });
      until_parked(loud);
      until_parked(quiet);
      loud.cancel();
      quiet.cancel();
      loud.wait();
      CHECK(loud.status() == weft::TaskStatus::cancelled);
      CHECK(quiet.join() == weft::WaitResult::cancelled);
      CHECK(nobody_waits(a));
      CHECK(nobody_waits(b));
    });
  });
}

TEST_CASE("select: a woken select that finds nothing goes back with one node per case [V-058]") {
  in_each_universe([](const Universe&) {
    Channel<int> a, b;
    weft::with_nursery([&](weft::Nursery& n) {
      auto waiter = n.spawn([&] { return *std::get<0>(weft::select(op::recv(a), op::recv(b))); });
      auto plain = n.spawn([&] { return *b.recv(); });
      for (int i = 0; i < 20; ++i) {
        until_parked(waiter);
        until_parked(plain);
        CHECK(a.core().waiting().receivers == 1);
        CHECK(b.core().waiting().receivers == 2);
        for (auto* core : {waiter.core(), plain.core()}) {
          const auto now = core->word.look();
          weft::detail::wake_task(core, now.ticket(), weft::detail::WakeReason::flag);
          until([&] { return core->word.look().ticket() != now.ticket(); });
        }
      }
      until_parked(plain);
      a.send(1);
      b.send(2);
      CHECK(waiter.join() == 1);
      CHECK(plain.join() == 2);
    });
  });
}

TEST_CASE("select: from plain threads, against tasks [N-030] [V-059] [N-013]") {
  weft::Runtime runtime(workers(2));
  Channel<int> a, b;
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (;;) {
        const auto got = weft::select(op::recv(a), op::recv(b));
        const auto& value = got.index() == 0 ? std::get<0>(got) : std::get<1>(got);
        if (!value) return;
        sum += *value;
      }
    });
  runtime.run([&] {
    for (int i = 0; i < 300; ++i) (void)weft::select(op::send(a, 1), op::send(b, 1));
    a.close();
  });
  for (auto& thread : threads) thread.join();
  CHECK(sum == 300);
}

TEST_CASE("select: churn of selects, closes and cancels leaves nothing behind [W-089] [B7] [B10] [B14] [B16]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    for (int round = 0; round < 10; ++round) {
      Channel<int> channels[3] = {Channel<int>(0), Channel<int>(1), Channel<int>(2)};
      std::atomic<int> sent{0}, received{0};
      runtime.run([&] {
        weft::with_nursery([&](weft::Nursery& n) {
          std::vector<weft::Task<void>> tasks;
          for (int t = 0; t < 6; ++t)
            tasks.push_back(n.spawn([&, t] {
              Channel<int>& mine = channels[t % 3];
              Channel<int>& other = channels[(t + 1) % 3];
              for (int i = 0; i < 30; ++i) {
                const auto got = weft::select_result(std::chrono::steady_clock::time_point::max(), op::send(mine, 1),
                                                     op::recv(other), op::timeout(std::chrono::microseconds(20 * t)));
                if (!got) break;
                if (got->index() == 0 && std::get<0>(*got) == SendStatus::sent) ++sent;
                if (got->index() == 1 && std::get<1>(*got).has_value()) ++received;
              }
            }));
          tasks[static_cast<std::size_t>(round % 6)].cancel();
          if (round % 2) (void)channels[round % 3].close();
        });
        for (auto& channel : channels) {
          CHECK(nobody_waits(channel));
          channel.close();
          while (channel.recv()) ++received;
        }
      });
      CHECK(sent == received);
    }
  });
}

TEST_CASE("select: a list made at run time has every form, and takes what is ready [N-033]") {
  in_each_universe([](const Universe&) {
    Channel<int> channels[3] = {Channel<int>(1), Channel<int>(1), Channel<int>(1)};
    std::vector<Op<std::optional<int>>> ops;
    for (auto& channel : channels) ops.emplace_back(op::recv(channel));
    const auto soon = [] { return std::chrono::steady_clock::now() + 200us; };
    CHECK_FALSE(weft::select_for(200us, ops).has_value());
    CHECK_FALSE(weft::select_until(soon(), ops).has_value());
    CHECK(weft::select_result(soon(), ops).error() == weft::WaitResult::timed_out);
    for (auto& channel : channels) CHECK(nobody_waits(channel));
    channels[2].send(5);
    const auto got = weft::select_for(1h, std::span(ops));
    CHECK(got->index == 2);
    CHECK(got->value == 5);
    channels[1].send(6);
    CHECK(weft::select_until(soon() + 1h, ops)->index == 1);
    channels[0].send(7);
    CHECK(weft::select_result(soon() + 1h, ops)->value == 7);
  });
}

}  // namespace
