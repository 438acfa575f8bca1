// SPDX-License-Identifier: MIT
#include <cstdint>
#include <memory>
#include <string>

#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "sched/universe.hpp"
#include "weft/channel.hpp"
#include "weft/dump.hpp"

using namespace weft_test;

TEST_CASE("undelivered: what went with its channel is counted, what was received or given back is not [HB9]") {
  const std::uint64_t before = weft::undelivered_values();
  const auto lost = [&] { return weft::undelivered_values() - before; };
  {
    weft::Channel<std::string> channel(4);
    channel.send("a");
    channel.send("b");
    (void)channel.recv();
    channel.close();
    (void)channel.recv();
  }
  CHECK(lost() == 0);
  {
    weft::Channel<std::string> channel(4);
    channel.send("a");
    channel.send("b");
    CHECK(channel.close_recv().size() == 2);
  }
  CHECK(lost() == 0);
  {
    weft::Channel<std::unique_ptr<int>> channel(4);
    for (int i = 0; i < 3; ++i) channel.send(std::make_unique<int>(i));
  }
  CHECK(lost() == 3);
}

TEST_CASE("undelivered: values of parked senders that close() has taken in count, too [HB9]") {
  in_each_universe([](const Universe& u) {
    const std::uint64_t before = weft::undelivered_values();
    {
      weft::Channel<int> channel;
      weft::with_nursery([&](weft::Nursery& n) {
        auto sender = u.spawn(n, [&] { channel.send(1); });
        until_parked(sender);
        channel.close();
      });
    }
    CHECK(weft::undelivered_values() - before == 1);
  });
}

TEST_CASE("undelivered: the leak report says how many when the runtime is shut down [HB9]") {
  const Outcome outcome = run_program("lost_values", {}, {"WEFT_LEAK_REPORT=1"});
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  const std::string line =
      "weft: shutdown: 3 values were sent, received by nobody, and destroyed with their channels\n";
  CHECK(outcome.output == line);
  CHECK(run_program("lost_values", {}).output == "");
}
