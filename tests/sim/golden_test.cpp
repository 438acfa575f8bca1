// SPDX-License-Identifier: MIT
// Twenty programs, a hundred seeds each: the same trace when it is repeated, and the same as on every other machine and
// with every other compiler, as tests/sim/hashes.inc has it. A change of the runtime that changes who waits where
// changes them: the failing test prints the new lines.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "doctest/doctest.h"
#include "weft/barrier.hpp"
#include "weft/broadcast.hpp"
#include "weft/channel.hpp"
#include "weft/cond_var.hpp"
#include "weft/file.hpp"
#include "weft/future.hpp"
#include "weft/generator.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/once.hpp"
#include "weft/op.hpp"
#include "weft/par.hpp"
#include "weft/race.hpp"
#include "weft/runtime.hpp"
#include "weft/select.hpp"
#include "weft/semaphore.hpp"
#include "weft/sim.hpp"
#include "weft/tcp.hpp"
#include "weft/time.hpp"
#include "weft/udp.hpp"

using namespace std::chrono_literals;
namespace sim = weft::sim;

namespace {

void mutexes() {
  weft::Mutex mutex;
  int sum = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 4; ++i)
      n.start([&, i] {
        for (int k = 0; k < 3; ++k) {
          const std::lock_guard guard(mutex);
          const int before = sum;
          weft::yield_now();
          sum = before + i;
        }
      });
  });
  sim::note(std::to_string(sum));
}

void readers_and_writers() {
  weft::RwMutex mutex;
  std::string log;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 3; ++i)
      n.start([&] {
        const std::shared_lock reading(mutex);
        weft::sleep(1ms);
        log += 'r';
      });
    for (int i = 0; i < 2; ++i)
      n.start([&] {
        const std::lock_guard writing(mutex);
        weft::sleep(1ms);
        log += 'w';
      });
  });
  sim::note(log);
}

void rendezvous() {
  weft::Channel<int> ch;
  std::string log;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 3; ++i)
      n.start([&, i] {
        for (int k = 0; k < 3; ++k) ch.send(10 * i + k);
      });
    for (int k = 0; k < 9; ++k) log += std::to_string(ch.recv().value_or(-1)) + " ";
  });
  sim::note(log);
}

void pipeline() {
  weft::Channel<int> first(2);
  weft::Channel<int> second(2);
  int sum = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    n.start([&] {
      for (int i = 0; i < 10; ++i) first.send(i);
      first.close();
    });
    n.start([&] {
      for (int v : first) second.send(v * v);
      second.close();
    });
    for (int v : second) sum += v;
  });
  sim::check(sum == 285, "all of it");
}

void selects() {
  weft::Channel<int> left(1);
  weft::Channel<int> right(1);
  std::string log;
  weft::with_nursery([&](weft::Nursery& n) {
    n.start([&] {
      for (int i = 0; i < 4; ++i) left.send(i);
    });
    n.start([&] {
      for (int i = 0; i < 4; ++i) right.send(i);
    });
    for (int i = 0; i < 8; ++i) {
      const auto got = weft::select(weft::op::recv(left), weft::op::recv(right));
      log += got.index() == 0 ? "l" + std::to_string(std::get<0>(got).value_or(-1))
                              : "r" + std::to_string(std::get<1>(got).value_or(-1));
    }
  });
  sim::note(log);
}

void semaphores() {
  weft::Semaphore seats(2);
  int most = 0;
  int inside = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 5; ++i)
      n.start([&, i] {
        seats.acquire();
        most = std::max(most, ++inside);
        weft::sleep(1ms * (i + 1));
        --inside;
        seats.release();
      });
  });
  sim::check(most <= 2, "two seats");
}

void conditions() {
  weft::Mutex mutex;
  weft::CondVar ready;
  int value = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 3; ++i)
      n.start([&] {
        std::unique_lock lock(mutex);
        ready.wait(lock, [&] { return value > 0; });
        --value;
      });
    for (int i = 0; i < 3; ++i) {
      const std::lock_guard guard(mutex);
      ++value;
      ready.notify_one();
    }
  });
  sim::check(value == 0, "each took one");
}

void barriers() {
  weft::Barrier barrier(3);
  std::string log;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 3; ++i)
      n.start([&, i] {
        for (int k = 0; k < 2; ++k) {
          log += static_cast<char>('a' + i);
          (void)barrier.arrive_and_wait();
        }
      });
  });
  sim::note(log);
}

void failures() {
  std::string log;
  try {
    weft::with_nursery([&](weft::Nursery& n) {
      for (int i = 0; i < 3; ++i)
        n.start([&, i] {
          weft::sleep(1ms * sim::choose(3));
          if (i == 1) throw std::runtime_error("the second");
          try {
            weft::sleep(1s);
          } catch (const weft::Cancelled&) {
            log += std::to_string(i);
            throw;
          }
        });
    });
  } catch (const std::runtime_error& error) {
    log += error.what();
  }
  sim::note(log);
}

void deadlines() {
  std::string log;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 4; ++i)
      n.start([&, i] {
        const bool in_time = weft::timeout(5ms, [&] { weft::sleep(1ms * sim::choose(10)); });
        log += in_time ? static_cast<char>('a' + i) : '-';
      });
  });
  sim::note(log);
}

void futures() {
  std::vector<weft::Future<int>> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(weft::async([i] {
      weft::sleep(1ms * sim::choose(4));
      return i;
    }));
  int sum = 0;
  for (auto& each : all) sum += each.await();
  sim::check(sum == 6, "all of them");
}

void races() {
  const auto first = weft::race(
      [] {
        weft::sleep(1ms * sim::choose(3));
        return 1;
      },
      [] {
        weft::sleep(1ms * sim::choose(3));
        return std::string("two");
      });
  sim::note(first.index() == 0 ? "one" : "two");
}

void forks() {
  std::vector<int> numbers(40);
  std::iota(numbers.begin(), numbers.end(), 0);
  weft::parallel_for(
      numbers,
      [](int& each) {
        weft::yield_now();
        each *= 2;
      },
      5);
  sim::check(std::accumulate(numbers.begin(), numbers.end(), 0) == 1560, "each of them once");
}

void strands() {
  weft::Strand strand;
  int inside = 0;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 4; ++i)
      (void)n.spawn(
          [&] {
            sim::check(++inside == 1, "one at a time");
            sim::point();
            --inside;
            weft::sleep(1ms);
          },
          weft::TaskOptions{.strand = &strand});
  });
}

void generators() {
  weft::Channel<int> ch(1);
  weft::with_nursery([&](weft::Nursery& n) {
    n.start([&] {
      // A wait in the middle of a generator parks the task that uses it.
      weft::Generator<int> numbers([&] {
        for (int i = 0; i < 5; ++i) {
          weft::sleep(1ms);
          weft::yield(i);
        }
      });
      for (int v : numbers) ch.send(v);
      ch.close();
    });
    int sum = 0;
    for (int v : ch) sum += v;
    sim::check(sum == 10, "all of it");
  });
}

void broadcasts() {
  weft::Broadcast<int> news(4);
  std::string log;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 2; ++i)
      n.start([&, i, mine = std::make_shared<weft::Broadcast<int>::Subscriber>(news.subscribe())] {
        while (const auto value = mine->recv()) log += std::to_string(i * 10 + **value) + " ";
      });
    for (int k = 0; k < 3; ++k) {
      (void)news.send(k);
      weft::yield_now();
    }
    news.close();
  });
  sim::note(log);
}

void streams() {
  weft::TcpListener listener = sim::on_host("b", [] { return weft::TcpListener::bind(weft::Address::any(80)); });
  weft::with_nursery([&](weft::Nursery& n) {
    n.start([&] {
      for (int i = 0; i < 2; ++i)
        n.start([client = std::make_shared<weft::TcpStream>(listener.accept())] {
          char room[16];
          while (const std::size_t got = client->read(room)) client->write_all({room, got});
        });
    });
    for (int i = 0; i < 2; ++i)
      n.start([i] {
        sim::on_host(i == 0 ? "a" : "c", [i] {
          weft::TcpStream server = weft::TcpStream::connect(sim::address("b", 80));
          server.write_all(std::string(20, static_cast<char>('x' + i)));
          char room[20];
          server.read_exactly(room);
        });
      });
  });
}

void datagrams() {
  std::string log;
  weft::with_nursery([&](weft::Nursery& n) {
    weft::UdpSocket receiver = sim::on_host("b", [] { return weft::UdpSocket::bind(weft::Address::any(9)); });
    n.start([] {
      sim::on_host("a", [] {
        weft::UdpSocket sender = weft::UdpSocket::bind(weft::Address::any(0));
        for (const char* text : {"1", "2", "3", "4"}) (void)sender.send_to(text, sim::address("b", 9));
      });
    });
    char room[4];
    weft::timeout(100ms, [&] {
      for (;;) log.append(room, receiver.receive(room).size);
    });
  });
  sim::note(log);
}

void files() {
  std::string log;
  weft::with_nursery([&](weft::Nursery& n) {
    for (int i = 0; i < 2; ++i)
      n.start([&, i] {
        const std::string path = "/tmp/" + std::to_string(i);
        try {
          weft::File file = weft::File::open(path, {.write = true, .create = true});
          file.write("some text");
          file.sync();
          log += weft::read_file(path);
        } catch (const std::system_error& error) {
          log += "!" + std::to_string(error.code().value());
        }
      });
  });
  sim::note(log);
}

void detached() {
  weft::Once once;
  std::string log;
  for (int i = 0; i < 3; ++i)
    (void)weft::go([&, i] {
      once.call([&] { log += static_cast<char>('a' + i); });
      if (sim::fault("slow", 0.3)) weft::sleep(2ms);
      log += static_cast<char>('0' + i);
    });
  weft::sleep(10ms);
  sim::note(log);
}

struct Scenario {
  const char* name;
  void (*body)();
};
constexpr std::array<Scenario, 20> scenarios = {{
    {"mutexes", mutexes},       {"readers_and_writers", readers_and_writers},
    {"rendezvous", rendezvous}, {"pipeline", pipeline},
    {"selects", selects},       {"semaphores", semaphores},
    {"conditions", conditions}, {"barriers", barriers},
    {"failures", failures},     {"deadlines", deadlines},
    {"futures", futures},       {"races", races},
    {"forks", forks},           {"strands", strands},
    {"generators", generators}, {"broadcasts", broadcasts},
    {"streams", streams},       {"datagrams", datagrams},
    {"files", files},           {"detached", detached},
}};

struct Golden {
  const char* name;
  std::uint64_t hash;
};
constexpr Golden golden[] = {
#include "hashes.inc"
};

}  // namespace

TEST_CASE("sim: twenty programs, a hundred seeds each, have the same traces everywhere, and when repeated [N-060]") {
  sim::Options options;
  options.workers = 3;
  options.network.loss = 0.1;
  options.network.duplicate = 0.1;
  options.network.cut = 0.2;
  options.files.cut = 0.2;
  options.files.error = 0.05;
  std::string lines;
  bool same = std::size(golden) == scenarios.size();
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    std::uint64_t all = 0xcbf29ce484222325U;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const sim::Report report = sim::run(seed, options, scenarios[i].body);  // twice, and compared
      INFO(std::string(scenarios[i].name), " seed ", seed, ": ", report.text);
      REQUIRE(report.ok());
      all = (all ^ report.hash) * 0x100000001b3U;
    }
    char line[96];
    std::snprintf(line, sizeof line, "{\"%s\", 0x%016llxU},\n", scenarios[i].name,
                  static_cast<unsigned long long>(all));
    lines += line;
    same = same && golden[i].hash == all && std::string(golden[i].name) == scenarios[i].name;
  }
  CHECK_MESSAGE(same, "tests/sim/hashes.inc would be\n", lines);
}
