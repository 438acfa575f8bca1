// SPDX-License-Identifier: MIT
// Storms over channels, select and locks: every value that was accepted is received once, given back, or still there.
//   wait_stress [--kind close|cancel|select|locks|all] [--seconds N] [--seed N] [--workers N] [--rounds N] [--from N]
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "stress/storm.hpp"
#include "weft/channel.hpp"
#include "weft/cond_var.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/select.hpp"
#include "weft/semaphore.hpp"

namespace {

using namespace std::chrono_literals;
using storm::Dice;
using storm::equal;

// A number that counts how many of it live.
class Value {
 public:
  static inline std::atomic<std::uint64_t> alive{0};
  explicit Value(std::uint64_t number) : number_(std::make_unique<std::uint64_t>(number)) { ++alive; }
  Value(Value&& other) noexcept : number_(std::move(other.number_)) { ++alive; }
  Value& operator=(Value&& other) noexcept = default;
  ~Value() { --alive; }
  bool holds() const { return number_ != nullptr; }
  std::uint64_t number() const { return *number_; }

 private:
  std::unique_ptr<std::uint64_t> number_;
};
using Channel = weft::Channel<Value>;

// What went in, what came out. A number in a wrong place changes a sum of squares, too.
struct Ledger {
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> sum{0};
  std::atomic<std::uint64_t> squares{0};
  void add(std::uint64_t number) {
    count.fetch_add(1, std::memory_order_relaxed);
    sum.fetch_add(number, std::memory_order_relaxed);
    squares.fetch_add(number * number, std::memory_order_relaxed);
  }
  void same_as(const Ledger& other) const {
    equal("values", count, other.count);
    equal("their sum", sum, other.sum);
    equal("the sum of their squares", squares, other.squares);
  }
};

struct Books {
  Ledger accepted;
  Ledger received;
  std::atomic<std::uint64_t> next{1};
  void got(const Value& value) {
    if (!value.holds()) equal("a received value that holds nothing", 0, 1);
    received.add(value.number());
  }
};

// Sends until the channel is closed or the count is reached, in every way there is. False: closed.
bool send_one(Channel& channel, Books& books, Dice& dice) {
  const std::uint64_t number = books.next.fetch_add(1);
  Value value(number);
  bool sent = false;
  bool open = true;
  bool single = true;
  const auto told = [&](weft::SendStatus status) {
    sent = status == weft::SendStatus::sent;
    open = status != weft::SendStatus::closed;
  };
  try {
    switch (dice.below(5)) {
      case 0:
        told(channel.try_send(std::move(value)));
        break;
      case 1:
        told(channel.send_for(std::move(value), dice.span(50'000)));
        break;
      case 2:
        told(channel.send_result(std::move(value), storm::Clock::now() + dice.span(100'000)));
        break;
      case 3: {
        single = false;
        Value several[3] = {std::move(value), Value(books.next.fetch_add(1)), Value(books.next.fetch_add(1))};
        std::uint64_t numbers[3];
        for (int i = 0; i < 3; ++i) numbers[i] = several[i].number();
        std::size_t count = 0;
        try {
          count = channel.send_many(several);
        } catch (const weft::ChannelClosed&) {
          open = false;
        }
        for (std::size_t i = 0; i < count; ++i) books.accepted.add(numbers[i]);
        for (std::size_t i = count; i < 3; ++i)
          if (!several[i].holds()) equal("an unsent value that was moved from", 1, 0);
        return open && count == 3;
      }
      default:
        channel.send(std::move(value));
        sent = true;
    }
  } catch (const weft::ChannelClosed&) {
    open = false;
  } catch (const weft::Cancelled&) {
    if (single && !value.holds()) equal("a cancelled send that took its value", 1, 0);
    throw;
  }
  if (sent) books.accepted.add(number);
  if (sent == value.holds()) equal("a value both sent and kept, or neither", sent, !sent);
  return open;
}

// False: closed and drained.
bool recv_one(Channel& channel, Books& books, Dice& dice) {
  switch (dice.below(5)) {
    case 0: {
      std::optional<Value> value;
      const weft::RecvStatus status = channel.try_recv(value);
      if (value) books.got(*value);
      if (status == weft::RecvStatus::empty) weft::yield_now();
      return status != weft::RecvStatus::closed;
    }
    case 1: {
      const auto value = channel.recv_for(dice.span(50'000));
      if (value) books.got(*value);
      return value || value.error() != weft::RecvStatus::closed;
    }
    case 2: {
      const auto value = channel.recv_result(storm::Clock::now() + dice.span(100'000));
      if (value) books.got(*value);
      return value || value.error() != weft::RecvStatus::closed;
    }
    case 3: {
      std::vector<Value> values;
      const std::size_t count = channel.recv_many(values, 1 + dice.below(5));
      for (const Value& value : values) books.got(value);
      return count != 0;
    }
    default: {
      const std::optional<Value> value = channel.recv();
      if (value) books.got(*value);
      return value.has_value();
    }
  }
}

void drain(Channel& channel, Books& books) {
  while (const std::optional<Value> value = channel.try_recv()) books.got(*value);
}

std::size_t some_capacity(Dice& dice) {
  constexpr std::size_t capacities[] = {0, 0, 1, 2, 16, 128};
  return capacities[dice.below(std::size(capacities))];
}

// --- close: senders, receivers and several closers of both ends; tasks and plain threads.
void close_storm(Dice& dice) {
  Books books;
  {
    Channel channel(some_capacity(dice));
    storm::Watched runtime(storm::some_options(dice));
    std::vector<std::jthread> threads;
    const std::uint64_t outside = dice.below(3);
    for (std::uint64_t i = 0; i < outside; ++i)
      threads.emplace_back([&channel, &books, own = Dice(dice()), sends = dice.one_in(2)]() mutable {
        while (sends ? send_one(channel, books, own) : recv_one(channel, books, own)) continue;
      });
    runtime->run([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        const std::uint64_t senders = 1 + dice.below(8);
        const std::uint64_t receivers = 1 + dice.below(8);
        for (std::uint64_t i = 0; i < senders; ++i)
          n.start([&channel, &books, own = Dice(dice()), most = dice.below(200)]() mutable {
            for (std::uint64_t k = 0; k < most && send_one(channel, books, own); ++k) continue;
          });
        for (std::uint64_t i = 0; i < receivers; ++i)
          n.start([&channel, &books, own = Dice(dice())]() mutable {
            while (recv_one(channel, books, own)) continue;
          });
        const std::uint64_t closers = 1 + dice.below(3);
        for (std::uint64_t i = 0; i < closers; ++i)
          n.start([&channel, &books, after = dice.span(2'000'000), receiving = dice.one_in(3)] {
            weft::sleep(after);
            if (!receiving) return (void)channel.close("storm");
            for (const Value& value : channel.close_recv("storm")) books.got(value);
          });
      });
    });
    threads.clear();
    drain(channel, books);
  }
  books.received.same_as(books.accepted);
  equal("values that live", Value::alive, 0);
}

// --- cancel: tasks on both sides are asked to stop at any time.
void cancel_storm(Dice& dice) {
  Books books;
  {
    Channel channel(some_capacity(dice));
    storm::Watched runtime(storm::some_options(dice));
    runtime->run([&] {
      for (std::uint64_t wave = 0; wave < 8; ++wave) {
        weft::with_nursery([&](weft::Nursery& n) {
          const auto forever = [&](bool sends) {
            return n.spawn([&channel, &books, sends, own = Dice(dice())]() mutable {
              while (sends ? send_one(channel, books, own) : recv_one(channel, books, own)) weft::yield_now();
            });
          };
          std::vector<weft::Task<void>> tasks;
          const std::uint64_t count = 2 + dice.below(12);
          for (std::uint64_t i = 0; i < count; ++i) tasks.push_back(forever(dice.one_in(2)));
          while (!tasks.empty()) {
            if (dice.one_in(2)) weft::sleep(dice.span(100'000));
            const std::size_t which = dice.below(tasks.size());
            tasks[which].cancel();
            tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(which));
            if (dice.one_in(8)) n.cancel();
          }
        });
      }
    });
    drain(channel, books);
  }
  books.received.same_as(books.accepted);
  equal("values that live", Value::alive, 0);
}

// --- select: over sends and receives of the same few channels, with timers, by tasks that are asked to stop at any
// time and by plain threads; beside plain operations and a close.
void select_storm(Dice& dice) {
  Books books;
  {
    std::vector<std::unique_ptr<Channel>> channels;
    const std::uint64_t width = 1 + dice.below(4);
    for (std::uint64_t i = 0; i < width; ++i) channels.push_back(std::make_unique<Channel>(dice.below(3)));
    const auto some = [&channels](Dice& own) -> Channel& { return *channels[own.below(channels.size())]; };
    const auto select_often = [&books, &some](Dice own) {
      for (int k = 0; k < 100; ++k) {
        Value mine(books.next.fetch_add(1));
        const std::uint64_t number = mine.number();
        try {
          auto got = weft::select(weft::op::send_from(some(own), mine), weft::op::recv(some(own)),
                                  weft::op::recv(some(own)), weft::op::timeout(own.span(200'000)));
          const bool sent = got.index() == 0 && std::get<0>(got) == weft::SendStatus::sent;
          if (sent) books.accepted.add(number);
          if (sent == mine.holds()) equal("a value both sent and kept, or neither", 1, 0);
          if (got.index() == 1 && std::get<1>(got)) books.got(*std::get<1>(got));
          if (got.index() == 2 && std::get<2>(got)) books.got(*std::get<2>(got));
        } catch (const weft::Cancelled&) {
          if (!mine.holds()) equal("a value sent by a select that was cancelled", 1, 0);
          throw;
        }
      }
    };
    storm::Watched runtime(storm::some_options(dice));
    std::vector<std::jthread> threads;
    const std::uint64_t outside = dice.below(3);
    for (std::uint64_t i = 0; i < outside; ++i)
      threads.emplace_back([&select_often, own = Dice(dice())] { select_often(own); });
    runtime->run([&] {
      weft::with_nursery([&](weft::Nursery& n) {
        std::vector<weft::Task<void>> selecting;
        const std::uint64_t count = 2 + dice.below(10);
        for (std::uint64_t i = 0; i < count; ++i)
          selecting.push_back(n.spawn([&select_often, own = Dice(dice())] { select_often(own); }));
        const std::uint64_t plain = dice.below(4);
        for (std::uint64_t i = 0; i < plain; ++i)
          n.start([&books, &some, own = Dice(dice()), sends = dice.one_in(2)]() mutable {
            for (int k = 0; k < 50; ++k) {
              Value mine(books.next.fetch_add(1));
              const std::uint64_t number = mine.number();
              if (sends) {
                if (some(own).send_for(std::move(mine), own.span(100'000)) == weft::SendStatus::sent)
                  books.accepted.add(number);
              } else if (const auto value = some(own).recv_for(own.span(100'000))) {
                books.got(*value);
              }
            }
          });
        if (dice.one_in(2))
          n.start([&some, own = Dice(dice())]() mutable {
            weft::sleep(own.span(3'000'000));
            some(own).close();
          });
        for (std::uint64_t stops = dice.below(count); stops > 0; --stops) {
          weft::sleep(dice.span(300'000));
          selecting[dice.below(count)].cancel();
        }
      });
    });
    threads.clear();
    for (const auto& channel : channels) drain(*channel, books);
  }
  books.received.same_as(books.accepted);
  equal("values that live", Value::alive, 0);
}

// --- locks: a mutex, a reader-writer mutex, a condition and a semaphore, with waits that are cancelled and timed out.
void locks_storm(Dice& dice) {
  struct Shared {
    weft::Mutex mutex;
    std::uint64_t plain = 0;  // guarded by mutex
    weft::RwMutex rw;
    std::uint64_t left = 0;  // equal, under rw
    std::uint64_t right = 0;
    weft::Semaphore permits{3};
    std::atomic<int> inside{0};
    weft::Mutex queue_mutex;
    weft::CondVar filled;
    std::uint64_t queued = 0;  // guarded by queue_mutex
  } shared;
  std::atomic<std::uint64_t> locked{0};
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> put{0};
  std::atomic<std::uint64_t> taken{0};
  const auto one = [&](Dice& own) {
    switch (own.below(6)) {
      case 0: {
        const std::lock_guard guard(shared.mutex);
        ++shared.plain;
        locked.fetch_add(1);
        if (own.one_in(8)) weft::yield_now();
        break;
      }
      case 1:
        if (shared.mutex.try_lock_for(own.span(20'000))) {
          const std::lock_guard guard(shared.mutex, std::adopt_lock);
          ++shared.plain;
          locked.fetch_add(1);
        }
        break;
      case 2: {
        const std::lock_guard guard(shared.rw);
        ++shared.left;
        written.fetch_add(1);
        if (own.one_in(4)) weft::shield([] { weft::yield_now(); });
        ++shared.right;
        break;
      }
      case 3: {
        const std::shared_lock guard(shared.rw);
        const std::uint64_t left = shared.left;
        if (own.one_in(4)) weft::yield_now();
        equal("what a reader sees", shared.right, left);
        break;
      }
      case 4: {
        shared.permits.acquire();
        if (shared.inside.fetch_add(1) >= 3) equal("holders of three permits", 4, 3);
        if (own.one_in(4)) weft::shield([] { weft::yield_now(); });
        shared.inside.fetch_sub(1);
        shared.permits.release();
        break;
      }
      default:
        if (own.one_in(2)) {
          const std::lock_guard guard(shared.queue_mutex);
          ++shared.queued;
          put.fetch_add(1);
          shared.filled.notify_one();
        } else {
          std::unique_lock lock(shared.queue_mutex);
          if (shared.filled.wait_for(lock, own.span(50'000), [&] { return shared.queued != 0; })) {
            --shared.queued;
            taken.fetch_add(1);
          }
        }
    }
  };
  storm::Watched runtime(storm::some_options(dice));
  runtime->run([&] {
    weft::with_nursery([&](weft::Nursery& n) {
      std::vector<weft::Task<void>> tasks;
      const std::uint64_t count = 2 + dice.below(12);
      for (std::uint64_t i = 0; i < count; ++i)
        tasks.push_back(n.spawn([&one, own = Dice(dice())]() mutable {
          for (int k = 0; k < 200; ++k) one(own);
        }));
      const std::uint64_t cancels = dice.below(count);
      for (std::uint64_t i = 0; i < cancels; ++i) {
        weft::sleep(dice.span(200'000));
        tasks[dice.below(tasks.size())].cancel();
      }
    });
  });
  equal("increments under the mutex", shared.plain, locked);
  equal("writes", shared.left, written);
  equal("left and right", shared.left, shared.right);
  equal("queued", shared.queued, put - taken);
  equal("permits", static_cast<std::uint64_t>(shared.inside), 0);
  if (!shared.mutex.try_lock()) equal("the mutex is free", 0, 1);
  shared.mutex.unlock();
}

constexpr storm::Kind kinds[] = {
    {"close", close_storm}, {"cancel", cancel_storm}, {"select", select_storm}, {"locks", locks_storm}};

}  // namespace

int main(int argc, char** argv) {
  return storm::run_storms(argc, argv, kinds);
}
