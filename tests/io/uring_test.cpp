// SPDX-License-Identifier: MIT
// What io_uring has of its own: rings that are too small, threads that end, buffers that the kernel still holds.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "io/uring_sizes.hpp"
#include "weft/file.hpp"
#include "weft/nursery.hpp"
#include "weft/pipe.hpp"
#include "weft/unix_socket.hpp"

using namespace weft;
using namespace weft::detail;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

struct SmallRing {
  SmallRing(unsigned entries, unsigned completions) { uring_sizes = {.entries = entries, .completions = completions}; }
  ~SmallRing() { uring_sizes = UringSizes(); }
};

// What is sent in company waits so long for the next who sends.
struct Gathering {
  explicit Gathering(std::int64_t ns) { uring_sizes.gathering_ns = ns; }
  ~Gathering() { uring_sizes = UringSizes(); }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;
};

// How often the kernel was called to send, and to take what the ring has.
struct CallCount {
  CallCount() {
    sys::set_interceptor(
        [](const sys::Call& call, long*, void* context) {
          auto& mine = *static_cast<CallCount*>(context);
          if (call.number == SYS_sendto) ++mine.sends;
          if (call.number == SYS_io_uring_enter) ++mine.enters;
          return false;
        },
        this);
  }
  ~CallCount() { sys::set_interceptor(nullptr, nullptr); }
  CallCount(const CallCount&) = delete;
  CallCount& operator=(const CallCount&) = delete;
  std::atomic<int> sends{0};
  std::atomic<int> enters{0};
};

std::string engine_name() {
  long error = 0;
  const Engine* engine = engine_of(*this_worker()->runtime, error);
  return engine != nullptr ? engine->name() : "";
}

}  // namespace

TEST_CASE(
    "engine: io_uring where it is allowed, else epoll by itself; a forced one that is refused is an error [N-056] "
    "[N-091]") {
  const NoWish no_wish;
  const char* call = std::getenv("WEFT_TEST_REFUSED");
  const bool refused = call != nullptr && std::string_view(call) == "io_uring";
  const bool has = has_uring();  // it asks a runtime of its own, so not inside one
  if (refused) CHECK_FALSE(has);
  Runtime(with_engine(IoEngine::any, 1)).run([&] { CHECK(engine_name() == (has ? "uring" : "epoll")); });
  Runtime(with_engine(IoEngine::epoll, 1)).run([] { CHECK(engine_name() == "epoll"); });
  Runtime(with_engine(IoEngine::uring, 1)).run([&] {
    File file;
    const IoResult opened = File::open_result(file, "/dev/null");
    if (has) {
      CHECK(engine_name() == "uring");
      CHECK(opened.ok());
    } else {
      CHECK((opened.os_error() == EPERM || opened.os_error() == ENOSYS || opened.os_error() == EACCES));
    }
  });
}

TEST_CASE("engine: WEFT_IO names it for options that name none; another word is refused [N-056]") {
  const NoWish no_wish;
  const bool has = has_uring();
  const auto name_with = [](const char* word) {
    setenv("WEFT_IO", word, 1);
    return Runtime(workers(1)).run([] { return engine_name(); });
  };
  CHECK(name_with("epoll") == "epoll");
  CHECK(name_with("any") == (has ? "uring" : "epoll"));
  CHECK(name_with("uring") == (has ? "uring" : ""));
  CHECK_THROWS_WITH((void)name_with("kqueue"), doctest::Contains("WEFT_IO=kqueue"));
}

TEST_CASE("uring: what many send goes to the kernel by few calls, what one sends alone by a call of its own [URI-5]") {
  if (!has_uring()) return;
  constexpr int many = 64;
  const Gathering patient(1'000'000'000);
  Runtime(with_engine(IoEngine::uring, 1)).run([&] {
    if (this_worker()->runtime->options.migration_check)
      return;  // everybody is in the shared queue: nobody has company
    std::vector<std::pair<UnixStream, UnixStream>> pairs;
    for (int i = 0; i < many; ++i) pairs.push_back(UnixStream::make_pair());
    CallCount count;
    for (int i = 0; i < many; ++i) pairs[0].first.write_all("x");
    CHECK(count.sends == many);
    CHECK(count.enters <= 2);
    count.sends = count.enters = 0;
    with_nursery([&](Nursery& nursery) {
      for (auto& pair : pairs) {
        nursery.start([&pair] {
          yield_now();  // until all have begun
          for (int turn = 0; turn < 10; ++turn) pair.first.write_all("x");
        });
      }
    });
    CHECK(count.sends <= 10 * many / 8);
    CHECK(count.enters <= 10 * many / 8);
    for (auto& pair : pairs) {
      char room[10];
      pair.second.read_exactly(room);
    }
  });
}

TEST_CASE("uring: what is sent does not wait for long until others have sent, too [URI-5]") {
  if (!has_uring()) return;
  constexpr int many = 24;
  const Gathering impatient(0);
  Runtime(with_engine(IoEngine::uring, 1)).run([&] {
    if (this_worker()->runtime->options.migration_check) return;  // as above
    std::vector<std::pair<UnixStream, UnixStream>> pairs;
    for (int i = 0; i < many; ++i) pairs.push_back(UnixStream::make_pair());
    pairs[0].first.write_all("x");  // the engine is there
    CallCount count;
    with_nursery([&](Nursery& nursery) {
      for (auto& pair : pairs) {
        nursery.start([&pair] {
          yield_now();  // until all have begun
          pair.first.write_all("x");
        });
      }
    });
    CHECK(count.sends + count.enters >= many - 2);
  });
}

TEST_CASE("uring: a completion ring of 8 loses nothing of 10000 operations in flight [B35]") {
  if (!has_uring()) return;
  for (const unsigned count : {1U, 2U}) {
    const SmallRing small(4, 8);
    Runtime runtime(with_engine(IoEngine::uring, count));
    runtime.run([] {
      auto [a, b] = UnixStream::make_pair();
      std::atomic<int> begun{0};
      std::atomic<int> got{0};
      constexpr int operations = 10'000;
      with_nursery([&](Nursery& nursery) {
        for (int i = 0; i < operations; ++i) {
          nursery.start([&, &stream = b] {
            char byte = 0;
            ++begun;
            if (stream.read({&byte, 1}) == 1) ++got;
          });
        }
        while (begun != operations) yield_now();
        const std::string bytes(100, 'x');
        for (int i = 0; i < operations; i += 100) a.write_all(bytes);
      });
      CHECK(got == operations);
      long error = 0;
      CHECK(engine_of(*this_worker()->runtime, error)->overflows() > 0);
    });
  }
}

TEST_CASE("io: a read that was asked to stop leaves its buffer alone once it has returned [B33] [HA5]") {
  on_each_engine([] {
    for (int round = 0; round < 100; ++round) {
      Pipe pipe = make_pipe();
      with_nursery([&](Nursery& nursery) {
        auto reader = nursery.spawn([&] {
          std::string seen;
          char room[64];
          std::memset(room, '.', sizeof room);
          const IoResult got = pipe.reader.read_result(room, std::chrono::steady_clock::now() + 200us);
          if (got.ok()) seen.assign(room, got.count());
          for (std::size_t i = seen.size(); i < sizeof room; ++i) CHECK(room[i] == '.');
          std::memset(room, 'c', sizeof room);  // it is somebody else's from now on
          pipe.writer.write_all("late");
          sleep(100us);
          for (const char c : room) CHECK(c == 'c');
          return seen;
        });
        if (round % 2 == 0) sleep(190us);
        pipe.writer.write_all("early");
        const std::string seen = reader.join();
        // Nothing is lost: what it did not get is still there.
        char room[64];
        const std::size_t rest = pipe.reader.read(room);
        CHECK(seen + std::string(room, rest) ==
              (seen.empty() && rest == 9 && room[0] == 'l' ? "lateearly" : "earlylate"));
      });
    }
  });
}

TEST_CASE("uring: operations outlive the thread that submitted them") {
  if (!has_uring()) return;
  Runtime runtime(with_engine(IoEngine::uring, 2));
  Pipe pipe = make_pipe();
  std::atomic<int> got{0};
  std::vector<Task<void>> readers;
  // Worker 0 is this thread for a moment: what it has submitted goes on when it has left.
  std::thread([&] {
    runtime.run([&] {
      for (int i = 0; i < 8; ++i) {
        readers.push_back(runtime.go([&] {
          char byte = 0;
          if (pipe.reader.read({&byte, 1}) == 1) ++got;
        }));
      }
      for (const auto& reader : readers) until_parked(reader);
    });
  }).join();
  CHECK(got == 0);
  pipe.writer.write_all("12345678");
  for (auto& reader : readers) reader.join();
  CHECK(got == 8);
}
