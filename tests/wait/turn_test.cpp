// SPDX-License-Identifier: MIT
// Operations that never have to wait are suspension points all the same, now and then.
#include <atomic>
#include <chrono>

#include "doctest/doctest.h"
#include "sched/universe.hpp"
#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"

using namespace std::chrono_literals;
using namespace weft_test;

namespace {

TEST_CASE("channel: a loop of sends that never wait ends when it is cancelled, and by a deadline [N-022]") {
  weft::run(workers(1), [] {
    weft::Channel<int> channel(1, weft::ChannelMode::drop_old);
    CHECK_FALSE(weft::timeout(5ms, [&] {
      for (;;) channel.send(1);
    }));
    weft::Task<void> sender;  // its canceller may run after the body of the nursery
    weft::with_nursery([&](weft::Nursery& n) {
      sender = n.spawn([&] {
        for (;;) channel.send(1);
      });
      n.start([&] { sender.cancel(); });
    });
  });
}

TEST_CASE("channel: two that keep each other busy starve nobody on their worker") {
  weft::run(workers(1), [] {
    weft::Channel<int> channel(128);
    std::atomic<bool> third = false;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        while (!third) {
          channel.send(1);
          (void)channel.recv();
        }
      });
      n.start([&] { third = true; });
    });
    CHECK(third);
  });
}

TEST_CASE("channel: what the turn before a receive raises has taken nothing [N-022]") {
  weft::run(workers(1), [] {
    weft::Channel<int> channel(1000);
    for (int i = 0; i < 1000; ++i) channel.send(i);
    int received = 0;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        for (;;) {
          (void)channel.recv();
          if (++received == 100) n.cancel();
        }
      });
    });
    CHECK(received < 200);
    CHECK(channel.size() == static_cast<std::size_t>(1000 - received));
  });
}

}  // namespace
