// SPDX-License-Identifier: MIT
// Channels while they are open: order, hand-over, buffers, modes, batches, every form of every verb.
#include "weft/channel.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "sched/park.hpp"
#include "sched/universe.hpp"
#include "weft/fiber.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

using namespace std::chrono_literals;
using namespace weft_test;
using weft::Channel;
using weft::ChannelMode;
using weft::RecvStatus;
using weft::SendStatus;

namespace {

TEST_CASE("channel: what one task sends another receives, in order, whatever the capacity [V-060] [V-061] [W-069]") {
  in_each_universe([](const Universe& universe) {
    for (const std::size_t capacity : {0U, 1U, 2U, 16U}) {
      Channel<int> ch(capacity);
      std::vector<int> got;
      weft::with_nursery([&](weft::Nursery& n) {
        auto sender = universe.spawn(n, [&] {
          for (int i = 0; i < 200; ++i) ch.send(i);
          ch.close();
        });
        for (int v : ch) got.push_back(v);
        sender.join();
      });
      CHECK(got.size() == 200);
      CHECK(std::ranges::is_sorted(got));
    }
  });
}

TEST_CASE("channel: two fibers meet on an unbuffered channel with one worker; no thread blocks [V-056]") {
  weft::Runtime runtime(workers(1));
  runtime.run([&] {
    Channel<int> there;
    Channel<int> back;
    weft::with_nursery([&](weft::Nursery& n) {
      n.start([&] {
        for (int v : there) back.send(v + 1);
        back.close();
      });
      int v = 0;
      for (int i = 0; i < 1000; ++i) {
        there.send(v);
        v = *back.recv();
      }
      CHECK(v == 1000);
      there.close();
      CHECK_FALSE(back.recv().has_value());
    });
  });
}

TEST_CASE("channel: two plain threads, no runtime [V-059] [N-013]") {
  for (const std::size_t capacity : {0U, 4U}) {
    Channel<int> ch(capacity);
    long sum = 0;
    std::thread receiver([&] {
      for (int v : ch) sum += v;
    });
    for (int i = 1; i <= 1000; ++i) ch.send(i);
    ch.close();
    receiver.join();
    CHECK(sum == 500500);
  }
}

TEST_CASE("channel: plain threads and fibers share one channel [V-059] [V-065] [N-013]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    Channel<int> ch(2);
    std::atomic<long> sum{0};
    std::thread sender([&] {
      for (int i = 1; i <= 100; ++i) ch.send(i);
      ch.close();
    });
    std::thread receiver([&] {
      for (int v : ch) sum += v;
    });
    runtime.run([&] {
      for (int v : ch) sum += v;
    });
    sender.join();
    receiver.join();
    CHECK(sum == 5050);
  });
}

TEST_CASE(
    "channel: a full buffer makes the sender wait, one value taken lets it go on; the negative beside it [V-060]") {
  in_each_universe([](const Universe&) {
    Channel<int> ch(1);
    CHECK(ch.try_send(1) == SendStatus::sent);
    CHECK(ch.try_send(2) == SendStatus::full);
    weft::with_nursery([&](weft::Nursery& n) {
      std::atomic<bool> went_on{false};
      auto sender = n.spawn([&] {
        ch.send(2);
        went_on = true;
      });
      until_parked(sender);
      CHECK_FALSE(went_on);
      CHECK(ch.size() == 1);
      CHECK(*ch.recv() == 1);
      CHECK(ch.size() == 1);  // the waiting sender's value moved up under the same lock
      sender.join();
      CHECK(*ch.recv() == 2);
      CHECK_FALSE(ch.try_recv().has_value());
    });
  });
}

TEST_CASE("channel: a receiver that waits gets the value itself, the buffer stays empty [W-049] [V-060]") {
  in_each_universe([](const Universe&) {
    Channel<std::unique_ptr<int>> ch(4);
    weft::with_nursery([&](weft::Nursery& n) {
      auto receiver = n.spawn([&] { return **ch.recv(); });
      until_parked(receiver);
      ch.send(std::make_unique<int>(7));
      CHECK(ch.size() == 0);
      CHECK(receiver.join() == 7);
    });
  });
}

TEST_CASE("channel: what need not wait does not touch the scheduler [V-055]") {
  weft::RuntimeOptions options = workers(1);
  options.sysmon = false;  // which may ask for a look at what is shared
  weft::Runtime runtime(options);
  runtime.run([&] {
    Channel<int> ch(8);
    const auto before = runtime.stats();
    for (int round = 0; round < 100; ++round) {
      for (int i = 0; i < 8; ++i) ch.send(i);
      for (int i = 0; i < 8; ++i) CHECK(*ch.recv() == i);
      CHECK_FALSE(ch.try_recv().has_value());
    }
    const auto after = runtime.stats();
    CHECK(after.parks == before.parks);
    CHECK(after.wakes == before.wakes);
    CHECK(after.switches == before.switches);
  });
}

TEST_CASE("channel: a send that fails has not touched its value [W-050]") {
  weft::run([] {
    Channel<std::unique_ptr<int>> ch;
    auto value = std::make_unique<int>(5);
    CHECK(ch.try_send(std::move(value)) == SendStatus::full);
    REQUIRE(value != nullptr);
    CHECK(ch.send_for(std::move(value), 1ms) == SendStatus::timed_out);
    REQUIRE(value != nullptr);
    CHECK_FALSE(weft::timeout(1ms, [&] { ch.send(std::move(value)); }));
    REQUIRE(value != nullptr);
    ch.close("no more");
    CHECK_THROWS_AS(ch.send(std::move(value)), weft::ChannelClosed);
    CHECK(*value == 5);
  });
}

TEST_CASE("channel: every wait ends at its time: _for and _until of both verbs, in tasks and threads [N-033] [B16]") {
  const auto all = [] {
    Channel<int> empty;
    const auto soon = [] { return std::chrono::steady_clock::now() + 1ms; };
    CHECK(empty.recv_for(1ms).error() == RecvStatus::timed_out);
    CHECK(empty.recv_until(soon()).error() == RecvStatus::timed_out);
    CHECK(empty.recv_result(soon()).error() == RecvStatus::timed_out);
    CHECK(empty.send_for(1, 1ms) == SendStatus::timed_out);
    CHECK(empty.send_until(1, soon()) == SendStatus::timed_out);
    CHECK(empty.send_result(1, soon()) == SendStatus::timed_out);
    CHECK(empty.recv_for(0ns).error() == RecvStatus::timed_out);
    CHECK_THROWS_AS((void)empty.recv_for(-1ns), std::invalid_argument);
    CHECK_THROWS_AS((void)empty.send_for(1, -1ns), std::invalid_argument);
    Channel<int> one(1);
    CHECK(one.send_for(3, 0ns) == SendStatus::sent);  // what need not wait is done, whatever its deadline
    CHECK(one.recv_until({}).value() == 3);
  };
  all();
  each_universe([&](const Universe&, weft::Runtime& runtime) { runtime.run(all); });
}

TEST_CASE("channel: a value that comes before the deadline is received, and the timer ends nothing later [B16]") {
  in_each_universe([](const Universe&) {
    Channel<int> ch;
    weft::with_nursery([&](weft::Nursery& n) {
      auto receiver = n.spawn([&] {
        int sum = 0;
        for (int i = 0; i < 20; ++i) sum += ch.recv_for(10s).value_or(-1000);
        sum += ch.recv().value_or(-1000);  // the armed timer is still there, and is nobody's
        return sum;
      });
      for (int i = 0; i < 21; ++i) ch.send(1);
      CHECK(receiver.join() == 21);
    });
  });
}

TEST_CASE("channel: drop_new throws away what finds no room, drop_old the oldest; senders never wait") {
  weft::run([] {
    Channel<int> fresh(2, ChannelMode::drop_new);
    for (int i = 0; i < 5; ++i) fresh.send(i);
    CHECK(fresh.try_send(9) == SendStatus::dropped);
    CHECK(fresh.dropped() == 4);
    CHECK(*fresh.recv() == 0);
    CHECK(*fresh.recv() == 1);
    Channel<int> old(2, ChannelMode::drop_old);
    for (int i = 0; i < 5; ++i) old.send(i);
    CHECK(old.dropped() == 3);
    CHECK(*old.recv() == 3);
    CHECK(*old.recv() == 4);
    Channel<int> nowhere(0, ChannelMode::drop_old);
    nowhere.send(1);
    CHECK(nowhere.dropped() == 1);
    weft::with_nursery([&](weft::Nursery& n) {
      auto receiver = n.spawn([&] { return *nowhere.recv(); });
      until_parked(receiver);
      nowhere.send(2);
      CHECK(receiver.join() == 2);
    });
    old.close();
    CHECK(old.try_send(1) == SendStatus::closed);
  });
}

TEST_CASE("channel: a range takes lazily: three of it take three values") {
  weft::run([] {
    Channel<int> ch(8);
    for (int i = 0; i < 5; ++i) ch.send(i);
    std::vector<int> got;
    for (int v : std::ranges::subrange(ch.begin(), ch.end()) | std::views::take(3)) got.push_back(v);
    CHECK(got == std::vector<int>{0, 1, 2});
    CHECK(ch.size() == 2);
  });
}

TEST_CASE("channel: batches keep the order and their counts are true [N-035]") {
  in_each_universe([](const Universe& universe) {
    Channel<int> ch(8);
    std::vector<int> values(100);
    std::iota(values.begin(), values.end(), 0);
    std::vector<int> got;
    weft::with_nursery([&](weft::Nursery& n) {
      auto sender = universe.spawn(n, [&] {
        const std::size_t sent = ch.send_many(values);
        ch.close();
        return sent;
      });
      while (const std::size_t count = ch.recv_many(got, 7)) CHECK(count <= 7);
      CHECK(sender.join() == 100);
    });
    CHECK(got.size() == 100);
    CHECK(std::ranges::is_sorted(got));
  });
}

TEST_CASE("channel: a batch that is cut short by close or cancel says how much of it was sent [N-035]") {
  in_each_universe([](const Universe&) {
    for (const bool by_close : {true, false}) {
      Channel<std::unique_ptr<int>> ch(3);
      std::vector<std::unique_ptr<int>> values;
      for (int i = 0; i < 10; ++i) values.push_back(std::make_unique<int>(i));
      weft::with_nursery([&](weft::Nursery& n) {
        auto sender = n.spawn([&] { return ch.send_many(values); });
        until_parked(sender);
        CHECK(**ch.recv() == 0);
        by_close ? (void)ch.close() : sender.cancel();
        const std::size_t sent = sender.join();
        CHECK(sent >= 4);
        std::size_t came = 1;
        ch.close();
        for (auto& value : ch) CHECK(*value == static_cast<int>(came++));
        CHECK(came == sent);
        for (std::size_t i = 0; i < 10; ++i) CHECK((values[i] == nullptr) == (i < sent));
      });
    }
  });
}

TEST_CASE("channel: a capacity that cannot be is refused") {
  CHECK_THROWS_AS(Channel<char>(std::size_t{1} << 31), std::length_error);
}

TEST_CASE("channel: many senders and receivers: every value once, those of one sender in order [W-064]") {
  each_universe([](const Universe& universe, weft::Runtime& runtime) {
    for (const std::size_t capacity : {0U, 3U}) {
      constexpr int senders = 4, each = 300;
      Channel<std::pair<int, int>> ch(capacity);
      std::atomic<int> received{0};
      std::atomic<int> out_of_order{0};
      runtime.run([&] {
        weft::with_nursery([&](weft::Nursery& n) {
          std::vector<weft::Task<void>> tasks;
          for (int s = 0; s < senders; ++s)
            tasks.push_back(universe.spawn(n, [&, s] {
              for (int i = 0; i < each; ++i) ch.send({s, i});
            }));
          for (int r = 0; r < 3; ++r)
            n.start([&] {
              std::vector<int> last(senders, -1);
              for (auto [s, i] : ch) {
                auto& before = last[static_cast<std::size_t>(s)];
                if (i <= before) ++out_of_order;
                before = i;
                ++received;
              }
            });
          for (auto& task : tasks) task.join();
          ch.close();
        });
      });
      CHECK(received == senders * each);
      CHECK(out_of_order == 0);
    }
  });
}

TEST_CASE("channel: asked to stop, a receiver has its value or leaves it [N-022] [B14] [V-061]") {
  each_universe([](const Universe&, weft::Runtime& runtime) {
    runtime.run([&] {
      for (int round = 0; round < 50; ++round) {
        Channel<int> ch(1);
        int got = 0;
        weft::with_nursery([&](weft::Nursery& n) {
          auto receiver = n.spawn([&] {
            try {
              got += ch.recv().has_value();
            } catch (const weft::Cancelled&) {
            }
          });
          if (round % 2) until_parked(receiver);
          auto canceller = n.spawn([&] { receiver.cancel(); });
          ch.send(1);
          canceller.join();
          receiver.wait();
        });
        got += ch.try_recv().has_value();
        CHECK(got == 1);
      }
    });
  });
}

TEST_CASE("channel: a fiber that catches wait is asked before a receive and may refuse it [HB8]") {
  weft::run([] {
    Channel<int> ch;
    std::string said;
    weft::Fiber f(
        [&] {
          try {
            (void)ch.recv();
          } catch (const std::runtime_error& error) {
            said = error.what();
          }
        },
        "w");
    const weft::Event& event = f.resume();
    CHECK(std::string(event.value.as<weft::WaitRequest>().kind) == "recv");
    f.cancel(weft::Payload(std::make_exception_ptr(std::runtime_error("not now"))));
    CHECK(said == "not now");
    CHECK(ch.try_send(1) == SendStatus::full);  // nobody is left waiting
  });
}

TEST_CASE("channel: the order of looks: closed, receiver, room, park; buffer, sender, closed, park [W-069]") {
  in_each_universe([](const Universe&) {
    weft::with_nursery([&](weft::Nursery& n) {
      {  // closed before room
        Channel<int> ch(1);
        ch.close();
        CHECK(ch.try_send(1) == SendStatus::closed);
      }
      {  // receiver before room
        Channel<int> ch(1);
        auto receiver = n.spawn([&] { return *ch.recv(); });
        until_parked(receiver);
        ch.send(1);
        CHECK(ch.size() == 0);
        CHECK(receiver.join() == 1);
      }
      {  // room before parking, parking last
        Channel<int> ch(1);
        CHECK(ch.try_send(1) == SendStatus::sent);
        CHECK(ch.try_send(2) == SendStatus::full);
        auto sender = n.spawn([&] { ch.send(2); });
        until_parked(sender);
        CHECK(ch.core().waiting().senders == 1);
        // buffer before the parked sender
        CHECK(*ch.recv() == 1);
        sender.join();
        CHECK(*ch.recv() == 2);
      }
      {  // the parked sender before closed (no memory for a drain list), closed before parking
        Channel<int> ch;
        auto sender = n.spawn([&] { ch.send(3); });
        until_parked(sender);
        std::string why;
        weft::detail::Claimed woken;
        (void)ch.core().close(why, [](std::size_t) { return static_cast<int*>(nullptr); }, woken);
        CHECK(*ch.recv() == 3);
        CHECK_FALSE(ch.recv().has_value());
        sender.join();
      }
    });
  });
}

// The same checks for a wait whose node lies on the stack and for one that lies in an object of its own.
template <class Make>
void conforms(Make&& make) {
  Channel<int> ch;
  std::optional<int> into;
  auto&& wait = make(ch, into);
  CHECK(weft::detail::wait_on(wait, weft::detail::deadline_after(1ms), weft::detail::Raise::yes) ==
        weft::WaitResult::timed_out);
  CHECK(ch.core().waiting().receivers == 0);
  weft::with_nursery([&](weft::Nursery& n) {
    n.start([&] { ch.send(5); });
    CHECK(weft::detail::wait_on(wait, weft::seam::no_deadline, weft::detail::Raise::yes) == weft::WaitResult::done);
    CHECK(*into == 5);
  });
  CHECK(ch.core().waiting().receivers == 0);
}

TEST_CASE("channel: a node may lie on the stack or in an object [V-057]") {
  in_each_universe([](const Universe&) {
    conforms([](Channel<int>& ch, std::optional<int>& into) { return weft::detail::RecvWait<int>(ch.core(), into); });
    struct Object {
      int other[16] = {};
      std::optional<weft::detail::RecvWait<int>> wait;
    };
    const auto object = std::make_unique<Object>();
    conforms(
        [&](Channel<int>& ch, std::optional<int>& into) -> auto& { return object->wait.emplace(ch.core(), into); });
  });
}

TEST_CASE("channel: many with a limit: how many came, and why not more; the rest is untouched [N-033] [N-022]") {
  in_each_universe([](const Universe&) {
    Channel<std::unique_ptr<int>> ch(2);
    const auto make = [](int count) {
      std::vector<std::unique_ptr<int>> values;
      for (int i = 0; i < count; ++i) values.push_back(std::make_unique<int>(i));
      return values;
    };
    auto values = make(4);
    const weft::SentMany some = ch.send_many_for(values, 200us);
    CHECK(some.count == 2);
    CHECK(some.status == SendStatus::timed_out);
    CHECK(values[1] == nullptr);
    CHECK(*values[2] == 2);
    std::vector<std::unique_ptr<int>> got;
    CHECK(*ch.recv_many_for(got, 8, 1h) == 2);
    CHECK(ch.recv_many_until(got, 8, std::chrono::steady_clock::now() + 200us).error() == RecvStatus::timed_out);
    CHECK(got.size() == 2);
    weft::with_nursery([&](weft::Nursery& n) {
      auto fresh = make(3);
      auto stopped = n.spawn([&] { return ch.send_many_until(fresh, std::chrono::steady_clock::time_point::max()); });
      until_parked(stopped);
      stopped.cancel();
      const weft::SentMany two = stopped.join();  // it had sent: it says so and throws nothing
      CHECK(two.count == 2);
      CHECK(two.status == SendStatus::cancelled);
      CHECK(*fresh[2] == 2);
    });
    CHECK(*ch.recv_many_result(got, 8) == 2);
    auto whole = make(2);
    const weft::SentMany all = ch.send_many_result(whole);
    CHECK(all.count == 2);
    CHECK(all.status == SendStatus::sent);
    ch.close();
    auto late = make(1);
    const weft::SentMany none = ch.send_many_result(late);
    CHECK(none.count == 0);
    CHECK(none.status == SendStatus::closed);
    CHECK(late[0] != nullptr);
    CHECK(*ch.recv_many_result(got, 8) == 2);
    CHECK(ch.recv_many_result(got, 8).error() == RecvStatus::closed);
    CHECK(got.size() == 6);
    CHECK_THROWS_AS((void)ch.send_many(late), weft::ChannelClosed);
  });
}

// Ends the wait that it is in, if any, for nothing.
bool wake_for_nothing(weft::detail::TaskCore* task) {
  const auto now = task->word.look();
  return now.state() == weft::detail::TaskState::parking &&
         weft::detail::wake_task(task, now.ticket(), weft::detail::WakeReason::flag);
}

TEST_CASE("channel: woken for nothing, a send and a recv wait on with one node, and move one value [V-041]") {
  in_each_universe([](const Universe&) {
    Channel<int> in, out;
    weft::with_nursery([&](weft::Nursery& n) {
      auto receiver = n.spawn([&] { return *in.recv(); });
      auto patient = n.spawn([&] { return *in.recv_for(1h); });
      auto sender = n.spawn([&] { out.send(3); });
      weft::detail::TaskCore* const all[] = {receiver.core(), patient.core(), sender.core()};
      for (int i = 0; i < 20; ++i) {
        until_parked(receiver);
        until_parked(patient);
        until_parked(sender);
        CHECK(in.core().waiting().receivers == 2);
        CHECK(out.core().waiting().senders == 1);
        for (auto* core : all) {
          const auto before = core->word.look().ticket();
          CHECK(wake_for_nothing(core));
          until([&] { return core->word.look().ticket() != before; });  // it has gone back by itself
        }
      }
      CHECK(*out.recv() == 3);
      in.send(1);
      in.send(2);
      CHECK(receiver.join() + patient.join() == 3);
    });
  });
}

TEST_CASE("channel: under a rain of wakes for nothing every value arrives once, in order [V-041]") {
  in_each_universe([](const Universe& u) {
    for (const std::size_t capacity : {0U, 2U}) {
      Channel<int> ch(capacity);
      std::atomic<int> rain{0};
      weft::with_nursery([&](weft::Nursery& n) {
        auto sender = u.spawn(n, [&] {
          for (int i = 0; i < 100; ++i) {
            ch.send(i);
            if (i % 10 == 0) weft::sleep(20us);  // the receiver parks
          }
          until([&] { return rain > 3; });
          ch.close();
        });
        auto receiver = u.spawn(n, [&] {
          int next = 0;
          while (auto value = ch.recv()) {
            CHECK(*value == next++);
            if (*value % 10 == 5) weft::sleep(20us);  // the sender parks
          }
          return next;
        });
        while (!receiver.done()) {
          const auto waiting = ch.core().waiting();
          if (waiting.senders != 0) rain += wake_for_nothing(sender.core());
          if (waiting.receivers != 0) rain += wake_for_nothing(receiver.core());
          weft::yield_now();
        }
        CHECK(receiver.join() == 100);
      });
      CHECK(rain > 3);
      CHECK(ch.core().waiting().receivers == 0);
      CHECK(ch.core().waiting().senders == 0);
    }
  });
}

}  // namespace
