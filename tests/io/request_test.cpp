// SPDX-License-Identifier: MIT
// Requests as values, performed by each engine and on a plain thread.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "io/fd_table.hpp"
#include "sched/io_door.hpp"
#include "weft/fiber.hpp"
#include "weft/io_request.hpp"
#include "weft/nursery.hpp"
#include "weft/pipe.hpp"
#include "weft/scope.hpp"
#include "weft/stream.hpp"
#include "weft/sugar.hpp"
#include "weft/wait.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

struct Pair {
  Pair() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    a = Stream(ends[0], true);
    b = Stream(ends[1], true);
  }
  Stream a;
  Stream b;
};

std::string text_of(const char* data, std::size_t size) {
  return {data, size};
}

}  // namespace

TEST_CASE("io: a read waits for bytes, and others run meanwhile [N-056]") {
  on_each_engine([] {
    Pipe pipe = make_pipe();
    with_nursery([&](Nursery& nursery) {
      auto reader = nursery.spawn([&] {
        char room[16];
        const std::size_t n = pipe.reader.read(room);
        return text_of(room, n);
      });
      until_parked(reader);
      CHECK(pipe.writer.write("hello") == 5);
      CHECK(reader.join() == "hello");
    });
  });
}

TEST_CASE("io: a deadline ends a read, and what comes later is read by the next [N-022] [N-056]") {
  on_each_engine([] {
    Pair pair;
    char room[16];
    const auto before = std::chrono::steady_clock::now();
    const IoResult late = pair.a.read_result(room, before + 20ms);
    CHECK(late.os_error() == ETIMEDOUT);
    CHECK(std::chrono::steady_clock::now() - before >= 20ms);
    CHECK_THROWS_AS(pair.a.read_for(room, 1ms), std::system_error);
    pair.b.write_all("kept");
    CHECK(pair.a.read(room) == 4);
    CHECK(text_of(room, 4) == "kept");
  });
}

TEST_CASE("io: a cancel ends a read by Cancelled, and no byte is lost [N-022] [N-056] [HA5]") {
  on_each_engine([] {
    Pair pair;
    char room[16];
    for (int round = 0; round < 20; ++round) {
      std::size_t got = 0;
      bool begun = false;
      bool cancelled = false;
      with_nursery([&](Nursery& nursery) {
        auto reader = nursery.spawn([&] {
          begun = true;
          try {
            got = pair.a.read(room);
          } catch (const Cancelled&) {
            cancelled = true;
            throw;
          }
        });
        if (round % 2 == 0) until_parked(reader);
        // At the same time.
        auto writer = nursery.spawn([&] { pair.b.write_all("x"); });
        reader.cancel();
        writer.join();
        reader.wait();
      });
      CHECK((!begun || cancelled == (got == 0)));
      if (got == 0) got = pair.a.read(room);  // it is still there
      CHECK(got == 1);
    }
  });
}

TEST_CASE("io: a read under an interrupt that must wait parks, it does not spin [HB1] [J-103]") {
  for (const IoEngine engine : engines()) {
    INFO("engine: ", std::string(weft::to_string(engine)));
    Runtime runtime(with_engine(engine, 1));
    // In a cleanup; in a scope between here and who would catch it.
    const std::function<void(const std::function<void()>&)> places[] = {
        [](const std::function<void()>& act) { defer(act, [] {}); },
        [](const std::function<void()>& act) { timeout(1h, act); }};
    for (const auto& place : places) {
      runtime.run([&] {
        Pair pair;
        std::uint64_t parks = 0;
        int seen = 0;
        auto writer = go([&] {
          sleep(5ms);
          pair.b.write_all("x");
        });
        Fiber fiber(
            [&] {
              place([&] {
                interrupter().interrupt();
                const std::uint64_t before = runtime.stats().parks;
                char room[4];
                CHECK(pair.a.read(room) == 1);
                parks = runtime.stats().parks - before;
              });
              checkpoint();
            },
            SignalSet{sig::interrupt});
        (void)fiber.resume();
        for (; !fiber.finished(); (void)fiber.resume()) ++seen;
        CHECK(seen == 1);
        CHECK(parks <= 10);
        writer.wait();
      });
    }
  }
}

TEST_CASE("io: a quiet request answers a cancel by ECANCELED") {
  on_each_engine([] {
    Pair pair;
    with_nursery([&](Nursery& nursery) {
      auto reader = nursery.spawn([&] {
        char room[16];
        CHECK(pair.a.read_result(room).os_error() == ECANCELED);
        CHECK(pair.a.read_result(room).os_error() == ECANCELED);  // not begun
      });
      until_parked(reader);
      reader.cancel();
      reader.wait();
    });
  });
}

TEST_CASE("io: close wakes those who wait on the descriptor, with EBADF [B37]") {
  on_each_engine([] {
    Pair pair;
    with_nursery([&](Nursery& nursery) {
      auto wait = [&] {
        char room[16];
        return pair.a.read_result(room).os_error();
      };
      auto one = nursery.spawn(wait);
      auto two = nursery.spawn(wait);
      until_parked(one);
      until_parked(two);
      pair.a.close();
      CHECK(one.join() == EBADF);
      CHECK(two.join() == EBADF);
      CHECK(wait() == EBADF);
      CHECK(pair.a.close_result().os_error() == EBADF);
    });
  });
}

TEST_CASE("io: a number that is used again never gets what was meant for its last owner [B37]") {
  on_each_engine([] {
    for (int round = 0; round < 200; ++round) {
      auto first = std::make_unique<Pair>();
      with_nursery([&](Nursery& nursery) {
        auto reader = nursery.spawn([&] {
          char room[8];
          return first->a.read_result(room);
        });
        if (round % 2 == 0) until_parked(reader);
        // The event is on its way when the descriptor closes.
        first->b.write_all("old");
        first->a.close();
        Pair second;
        char room[8];
        CHECK(second.a.read_result(room, std::chrono::steady_clock::now() + 1ms).os_error() == ETIMEDOUT);
        second.b.write_all("new");
        CHECK(second.a.read(room) == 3);
        CHECK(text_of(room, 3) == "new");
        const IoResult end = reader.join();
        CHECK((end.os_error() == EBADF || end.value() == 3));
      });
    }
  });
}

TEST_CASE("io: writes wait for room, short writes go on, and all bytes arrive in order") {
  on_each_engine([] {
    Pair pair;
    const std::size_t total = 4'000'000;
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] {
        std::string piece(100'000, ' ');
        for (std::size_t sent = 0; sent < total; sent += piece.size()) {
          for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = static_cast<char>((sent + i) % 251);
          pair.a.write_all(piece);
        }
        pair.a.close();
      });
      std::string room(70'001, ' ');
      std::size_t got = 0;
      bool right = true;
      while (const std::size_t n = pair.b.read(room)) {
        for (std::size_t i = 0; i < n; ++i) right &= room[i] == static_cast<char>((got + i) % 251);
        got += n;
      }
      CHECK(right);
      CHECK(got == total);
    });
  });
}

TEST_CASE("io: a task that always finds bytes lets others run") {
  on_each_engine([] {
    Pair pair;
    std::atomic<bool> other{false};
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] { other = true; });
      char byte = 'x';
      for (int i = 0; i < 100'000 && !other; ++i) {
        pair.a.write_all({&byte, 1});
        CHECK(pair.b.read({&byte, 1}) == 1);
      }
      CHECK(other.load());
    });
  });
}

TEST_CASE("io: a poll of somebody else's descriptor, closed and opened again behind our back [B37]") {
  on_each_engine([] {
    RuntimeCore& runtime = *this_worker()->runtime;
    for (int round = 0; round < 3; ++round) {
      int ends[2];
      REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
      with_nursery([&](Nursery& nursery) {
        auto waiter = nursery.spawn([&] { return io_block_on(runtime, ends[0], io_readable, seam::no_deadline); });
        until_parked(waiter);
        CHECK(::write(ends[1], "x", 1) == 1);
        CHECK((waiter.join().value() & io_readable) != 0);
      });
      CHECK(io_block_on(runtime, ends[1], io_writable, seam::no_deadline).value() == io_writable);
      const std::int64_t soon = seam::monotonic_ns() + 2'000'000;
      char byte = 0;
      CHECK(::read(ends[0], &byte, 1) == 1);
      CHECK(io_block_on(runtime, ends[0], io_readable, soon).os_error() == ETIMEDOUT);
      ::close(ends[0]);
      ::close(ends[1]);
    }
    CHECK(io_block_on(runtime, 99999, io_readable, seam::no_deadline).os_error() == EBADF);
  });
}

TEST_CASE("io: a blocking descriptor that is not ours is read without holding the worker") {
  on_each_engine([] {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    with_nursery([&](Nursery& nursery) {
      auto reader = nursery.spawn([&] {
        char room[8];
        IoRequest request;
        request.op = IoOp::read;
        request.fd = ends[0];
        request.data = room;
        request.size = sizeof room;
        return perform_io(request).value();
      });
      until_parked(reader);
      CHECK(::write(ends[1], "ab", 2) == 2);
      CHECK(reader.join() == 2);
    });
    ::close(ends[0]);
    ::close(ends[1]);
  });
}

TEST_CASE("io: on a plain thread requests wait in poll, with deadline, and a close gets them out") {
  Pair pair;
  char room[16];
  CHECK(pair.a.read_result(room, std::chrono::steady_clock::now() + 5ms).os_error() == ETIMEDOUT);
  pair.b.write_all("abc");
  CHECK(pair.a.read(room) == 3);
  for (int round = 0; round < 20; ++round) {
    Pipe pipe = make_pipe();
    std::atomic<int> ended{0};
    const auto wait = [&] {
      char byte = 0;
      CHECK(pipe.reader.read_result({&byte, 1}).os_error() == EBADF);
      ++ended;
    };
    std::thread one(wait);
    std::thread two(wait);
    if (round % 2 == 0) {
      CHECK(eventually([&] {
        FdEntry* entry = fd_entry(pipe.reader.fd());
        const std::lock_guard guard(entry->lock);
        return entry->threads == 2;
      }));
    }
    pipe.reader.close();
    one.join();
    two.join();
    CHECK(ended == 2);
  }
}

TEST_CASE("io: on a plain thread a scope's deadline ends a request, too") {
  Pair pair;
  char room[16];
  CHECK_FALSE(timeout(5ms, [&] { (void)pair.a.read(room); }));
  CHECK(timeout(5ms, [&] { CHECK(pair.a.read_result(room).os_error() == ECANCELED); }));
  pair.b.write_all("abc");
  CHECK(timeout(5s, [&] { CHECK(pair.a.read(room) == 3); }));
}

TEST_CASE("io: tasks of two runtimes and a thread share a stream") {
  for (const IoEngine engine : engines()) {
    Pair pair;
    std::atomic<int> got{0};
    const auto echo = [&] {
      char byte = 0;
      while (pair.b.read({&byte, 1}) == 1) {
        ++got;
        pair.b.write_all({&byte, 1});
      }
    };
    Runtime first(with_engine(engine, 2));
    Runtime second(with_engine(engine, 2));
    auto one = first.go(echo);
    auto two = second.go(echo);
    char byte = 'x';
    for (int i = 0; i < 300; ++i) {
      pair.a.write_all({&byte, 1});
      REQUIRE(pair.a.read({&byte, 1}) == 1);
    }
    pair.a.close();
    one.join();
    two.join();
    CHECK(got == 300);
  }
}
