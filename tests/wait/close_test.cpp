// SPDX-License-Identifier: MIT
// The end of a channel, by either side [CHAN-1..6].
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using weft::Channel;
using weft::RecvStatus;
using weft::SendStatus;

namespace {

TEST_CASE(
    "close: a buffered value is received after it, then the end, without parking [W-054] [W-055] [W-056] [W-062]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    Channel<int> ch(4);
    ch.send(1);
    ch.send(2);
    CHECK(ch.close());
    const auto before = runtime.stats().parks;
    CHECK(*ch.recv() == 1);
    CHECK(*ch.recv() == 2);
    CHECK_FALSE(ch.recv().has_value());
    std::optional<int> none;
    CHECK(ch.try_recv(none) == RecvStatus::closed);
    CHECK(ch.recv_for(1h).error() == RecvStatus::closed);
    CHECK(ch.recv_result().error() == RecvStatus::closed);
    std::vector<int> more;
    CHECK(ch.recv_many(more, 5) == 0);
    CHECK(runtime.stats().parks == before);
  });
}

TEST_CASE("close: later sends fail in every form and every mode [W-061] [W-065]") {
  using weft::ChannelMode;
  weft::run([] {
    for (const std::size_t capacity : {0U, 2U}) {
      for (const ChannelMode mode : {ChannelMode::block, ChannelMode::drop_new, ChannelMode::drop_old}) {
        Channel<int> ch(capacity, mode);
        CHECK(ch.close("done"));
        CHECK_THROWS_AS(ch.send(1), weft::ChannelClosed);
        CHECK(ch.try_send(1) == SendStatus::closed);
        CHECK(ch.send_for(1, 1h) == SendStatus::closed);
        CHECK(ch.send_result(1) == SendStatus::closed);
        int two[2] = {1, 2};
        CHECK_THROWS_AS(ch.send_many(two), weft::ChannelClosed);
        CHECK(ch.size() == 0);
      }
    }
  });
}

TEST_CASE(
    "close: senders that stand are told `sent`, and their values come out in order [W-053] [W-055] [W-064] [W-066]") {
  in_each_universe([](const Universe&) {
    for (const std::size_t capacity : {0U, 2U}) {
      Channel<int> ch(capacity);
      weft::with_nursery([&](weft::Nursery& n) {
        for (std::size_t i = 0; i < capacity; ++i) ch.send(static_cast<int>(i));
        std::vector<weft::Task<void>> senders;
        for (int i = 0; i < 5; ++i) {
          senders.push_back(n.spawn([&ch, capacity, i] { ch.send(static_cast<int>(capacity) + i); }));
          until_parked(senders.back());
        }
        CHECK(ch.close());
        for (auto& sender : senders) sender.join();  // none has failed, though nobody has received yet
        int next = 0;
        for (int v : ch) CHECK(v == next++);
        CHECK(next == static_cast<int>(capacity) + 5);
      });
    }
  });
}

TEST_CASE("close: without memory for a drain list the senders stay parked and are drained in place [HB9]") {
  in_each_universe([](const Universe&) {
    Channel<int> ch(1);
    weft::with_nursery([&](weft::Nursery& n) {
      ch.send(0);
      std::vector<weft::Task<void>> senders;
      for (int i = 1; i <= 3; ++i) {
        senders.push_back(n.spawn([&ch, i] { ch.send(i); }));
        until_parked(senders.back());
      }
      std::string why = "no memory";
      weft::detail::Claimed woken;
      int asked = 0;
      CHECK(ch.core().close(
          why,
          [&](std::size_t) {
            ++asked;
            return static_cast<int*>(nullptr);
          },
          woken));
      CHECK(asked == 1);
      weft::detail::deliver_all(woken);
      CHECK(ch.closed());
      for (auto& sender : senders) CHECK_FALSE(sender.done());
      int next = 0;
      for (int v : ch) CHECK(v == next++);
      CHECK(next == 4);
      for (auto& sender : senders) sender.join();
    });
  });
}

TEST_CASE("close: of many at once one closes; its reason stays, both sides read it [W-059] [W-067] [N-031]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    Channel<int> ch;
    std::atomic<int> won{0};
    runtime.run([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        for (int i = 0; i < 8; ++i) n.start([&, i] { won += ch.close("by " + std::to_string(i)) ? i + 1 : 0; });
      });
      const std::string why = "by " + std::to_string(won - 1);
      CHECK(ch.close_reason() == why);
      CHECK_FALSE(ch.close("again"));
      CHECK(ch.close_reason() == why);
      try {
        ch.send(1);
        FAIL("sent");
      } catch (const weft::ChannelClosed& error) {
        CHECK(error.reason() == why);
        CHECK(std::string(error.what()).find(why) != std::string::npos);
      }
    });
    CHECK(won > 0);
  });
}

// Its body waits in recv() until it is closed.
std::vector<weft::Task<void>> parked_receivers(weft::Nursery& n, Channel<int>& ch, std::atomic<int>& ended) {
  std::vector<weft::Task<void>> receivers;
  for (int i = 0; i < 100; ++i)
    receivers.push_back(n.spawn([&] {
      CHECK_FALSE(ch.recv().has_value());
      CHECK_FALSE(ch.recv().has_value());  // again: no way back into the list
      ++ended;
    }));
  for (auto& receiver : receivers) until_parked(receiver);
  CHECK(ch.core().waiting().receivers == 100);
  return receivers;
}

TEST_CASE(
    "close: a hundred parked receivers end once each, by a claim each, from eight threads that close [W-060] [W-063] "
    "[W-067] [W-068] [B12]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    Channel<int> ch;
    std::atomic<int> ended{0};
    std::atomic<int> closed{0};
    std::atomic<int> woken{0};
    runtime.run([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        auto receivers = parked_receivers(n, ch, ended);
        std::vector<weft::detail::Ticket> tickets;
        for (auto& receiver : receivers) tickets.push_back(receiver.core()->word.look().ticket());
        // As Channel::close has it, with a count of what it wakes.
        const auto close = [&] {
          weft::detail::Claimed claimed;
          std::string why;
          closed += ch.core().close(why, [](std::size_t) { return static_cast<int*>(nullptr); }, claimed);
          claimed.deliver([&](weft::detail::TaskCore* task) {
            ++woken;
            weft::detail::deliver_wake(task);
          });
        };
        std::vector<std::thread> closers;
        for (int i = 0; i < 8; ++i) closers.emplace_back(close);
        for (auto& closer : closers) closer.join();
        CHECK(closed == 1);
        CHECK(woken == 100);
        CHECK(ch.core().waiting().receivers == 0);
        for (auto& receiver : receivers) receiver.join();
        for (std::size_t i = 0; i < tickets.size(); ++i)
          CHECK(receivers[i].core()->word.look().ticket() == tickets[i]);  // that was its last wait
      });
    });
    CHECK(ended == 100);
  });
}

TEST_CASE("close: eight times over it wakes a hundred receivers a hundred times in all [W-067] [W-068]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    Channel<int> ch;
    std::atomic<int> ended{0};
    runtime.run([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        auto receivers = parked_receivers(n, ch, ended);
        const std::uint64_t before = runtime.stats().wakes;
        int closed = 0;
        for (int i = 0; i < 8; ++i) closed += ch.close();
        CHECK(runtime.stats().wakes - before == 100);  // they wake nobody, and this task has not waited
        CHECK(closed == 1);
        for (auto& receiver : receivers) receiver.join();
      });
    });
    CHECK(ended == 100);
  });
}

TEST_CASE("close: a closed channel refuses to publish: the task runs on, no node is left [W-042] [W-058] [W-065]") {
  weft::run([] {
    Channel<int> ch;
    ch.close();
    weft::detail::TaskCore& self = *weft::detail::task_here();
    const auto ticket = self.word.look().ticket();
    std::optional<int> into;
    weft::detail::RecvWait<int> recv(ch.core(), into);
    CHECK(recv.publish(self) == weft::detail::Published::done);
    int value = 1;
    weft::detail::SendWait<int> send(ch.core(), value);
    CHECK(send.publish(self) == weft::detail::Published::done);
    CHECK_FALSE(send.sent());
    CHECK(self.word.look().state() == weft::detail::TaskState::running);
    CHECK(self.word.look().ticket() == ticket);
    CHECK(ch.core().waiting().receivers == 0);
    CHECK(ch.core().waiting().senders == 0);
  });
}

TEST_CASE("close_recv: parked and later senders fail and keep their values; the closer gets the rest back [N-034]") {
  in_each_universe([](const Universe&) {
    Channel<std::unique_ptr<int>> ch(2);
    weft::with_nursery([&](weft::Nursery& n) {
      ch.send(std::make_unique<int>(0));
      ch.send(std::make_unique<int>(1));
      std::vector<weft::Task<int>> senders;
      for (int i = 2; i < 5; ++i) {
        senders.push_back(n.spawn([&ch, i] {
          auto mine = std::make_unique<int>(i);
          try {
            ch.send(std::move(mine));
          } catch (const weft::ChannelClosed& error) {
            CHECK(error.reason() == "enough");
          }
          return mine ? *mine : -1;
        }));
        until_parked(senders.back());
      }
      const auto rest = ch.close_recv("enough");
      REQUIRE(rest.size() == 2);
      CHECK(*rest[0] == 0);
      CHECK(*rest[1] == 1);
      for (int i = 2; i < 5; ++i) CHECK(senders[static_cast<std::size_t>(i - 2)].join() == i);
      auto late = std::make_unique<int>(9);
      CHECK(ch.try_send(std::move(late)) == SendStatus::closed);
      CHECK(*late == 9);
      CHECK_FALSE(ch.recv().has_value());
      CHECK(ch.close_recv("again").empty());
      CHECK_FALSE(ch.close("again"));
      CHECK(ch.close_reason() == "enough");
    });
  });
}

TEST_CASE("close_recv: after close it gives back the drain list, and the first reason stays [N-034] [N-031]") {
  in_each_universe([](const Universe&) {
    Channel<int> ch(1);
    weft::with_nursery([&](weft::Nursery& n) {
      ch.send(1);
      auto sender = n.spawn([&] { ch.send(2); });
      until_parked(sender);
      CHECK(ch.close("first"));
      CHECK(ch.close_recv("second") == std::vector<int>{1, 2});
      CHECK(ch.close_reason() == "first");
      CHECK_FALSE(ch.recv().has_value());
    });
  });
}

TEST_CASE(
    "close: races with senders, receivers and cancel: each value once or kept, each wait ends once "
    "[W-050] [W-051] [W-052] [W-053] [W-055] [W-064] [B10] [B14]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    for (const std::size_t capacity : {0U, 1U, 4U}) {
      for (int round = 0; round < 15; ++round) {
        Channel<int> ch(capacity);
        std::atomic<int> sent{0}, received{0}, failed{0}, cancelled{0};
        std::atomic<long> in{0}, out{0};
        runtime.run([&] {
          weft::with_nursery([&](weft::Nursery& n) {
            std::vector<weft::Task<void>> tasks;
            for (int s = 0; s < 4; ++s)
              tasks.push_back(n.spawn([&, s] {
                for (int i = 0; i < 10; ++i) {
                  const SendStatus status = ch.send_result(1 << s);
                  if (status == SendStatus::sent) {
                    ++sent;
                    in += 1 << s;
                  } else {
                    status == SendStatus::closed ? ++failed : ++cancelled;
                  }
                }
              }));
            for (int r = 0; r < 3; ++r)
              n.start([&] {
                for (int v : ch) {
                  out += v;
                  if (++received > round) (void)ch.close("enough");
                }
              });
            if (round % 3 == 0) tasks[0].cancel();
          });
        });
        CHECK(sent == received);
        CHECK(in == out);
        if (round % 3 != 0) CHECK(sent + failed == 40);  // else a task may have been asked to stop before it began
        CHECK(ch.size() == 0);
      }
    }
  });
}

TEST_CASE("close: plain threads beside tasks: every value once [W-064] [V-059]") {
  for (int round = 0; round < 20; ++round) {
    weft::Runtime runtime(workers(2));
    Channel<int> ch(round % 3 ? 2 : 0);
    std::atomic<int> sent{0}, received{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&] {
        while (ch.send_result(1) == SendStatus::sent) ++sent;
      });
    runtime.run([&] {
      while (received < 30 + round) received += static_cast<int>(ch.recv().has_value());
      ch.close();
      while (ch.recv()) ++received;
    });
    for (auto& thread : threads) thread.join();
    while (ch.try_recv()) ++received;
    CHECK(sent == received);
  }
}

TEST_CASE("close: a channel's life is nobody's scope: a cancelled nursery leaves it open and usable [W-001] [W-002]") {
  in_each_universe([](const Universe&) {
    Channel<int> ch(1);
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        weft::with_nursery([&](weft::Nursery& inner) {
          inner.start([&] { (void)ch.recv(); });
          inner.start([&] { (void)ch.recv(); });
          weft::yield_now();
          inner.cancel();
        });
      });
    });
    CHECK_FALSE(ch.closed());
    CHECK(ch.core().waiting().receivers == 0);
    ch.send(3);
    CHECK(*ch.recv() == 3);
  });
}

}  // namespace
