// SPDX-License-Identifier: MIT
// A server that the system gives less than it needs: no clients, no descriptors, no memory, no stacks.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <new>
#include <string>
#include <vector>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "fiber/tool_hooks.hpp"
#include "io/engines.hpp"
#include "net/server_help.hpp"
#include "weft/intercept.hpp"
#include "weft/runtime.hpp"
#include "weft/time.hpp"

using namespace weft;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

// Answers all calls of accept by an error.
class BadAccept {
 public:
  explicit BadAccept(int error) : error_(error) { detail::sys::set_interceptor(answer, this); }
  ~BadAccept() { detail::sys::set_interceptor(nullptr, nullptr); }
  BadAccept(const BadAccept&) = delete;
  BadAccept& operator=(const BadAccept&) = delete;
  int calls() const { return calls_.load(); }

 private:
  static bool answer(const detail::sys::Call& call, long* result, void* context) {
    auto& mine = *static_cast<BadAccept*>(context);
    if (call.number != SYS_accept4) return false;
    ++mine.calls_;
    *result = -long{mine.error_};
    return true;
  }
  int error_;
  std::atomic<int> calls_{0};
};

// There is no address space for more stacks.
class NoStacks {
 public:
  NoStacks() { detail::sys::set_interceptor(answer, nullptr); }
  ~NoStacks() { detail::sys::set_interceptor(nullptr, nullptr); }
  NoStacks(const NoStacks&) = delete;
  NoStacks& operator=(const NoStacks&) = delete;

 private:
  static bool answer(const detail::sys::Call& call, long* result, void* /*context*/) {
    constexpr long stacks_at_once = 64 << 20;  // a ring maps less
    if (call.number != SYS_mmap || call.args[1] < stacks_at_once) return false;
    *result = -long{ENOMEM};
    return true;
  }
};

// Where a test runs in little address space there may be none for more stacks, without anybody who forbids it.
bool has_room_for_stacks() {
  constexpr std::size_t size = std::size_t{128} << 20;  // a mapping of them, to be aligned
  const long at = detail::sys::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  if (detail::sys::is_error(at)) return false;
  return detail::sys::munmap(reinterpret_cast<void*>(at), size) == 0;
}

}  // namespace

TEST_CASE("server: errors of accept are survived, told once per row, and do not make it spin [SERVE-2]") {
  for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM}) {
    // The system call is made by the worker here; a ring makes its own.
    Runtime runtime(with_engine(IoEngine::epoll, 2));
    runtime.run([&] {
      std::atomic<int> told{0};
      ServerOptions options;
      options.max_pause = 4ms;
      options.on_trouble = [&](const ServerTrouble& trouble) {
        CHECK(trouble.os_error == error);
        ++told;
      };
      with_server(options, echo, [&](Server& server) {
        TcpStream stream;
        {
          const BadAccept bad(error);
          stream = TcpStream::connect(server.local());
          sleep(40ms);
          CHECK(bad.calls() >= 1);
          CHECK(bad.calls() < 40);
        }
        CHECK(talks(stream));
        CHECK(told.load() == 1);
      });
    });
  }
}

TEST_CASE("server: a pause of nothing, or less, does not make it spin [SERVE-2]") {
  for (const std::chrono::nanoseconds pause : {0ns, -1ns}) {
    Runtime runtime(with_engine(IoEngine::epoll, 2));
    runtime.run([&] {
      std::atomic<int> told{0};
      ServerOptions options;
      options.max_pause = pause;
      options.on_trouble = [&](const ServerTrouble&) { ++told; };
      with_server(options, echo, [&](Server& server) {
        TcpStream stream;
        {
          const BadAccept bad(EMFILE);
          const Deadline begin = now();
          stream = TcpStream::connect(server.local());
          until([&] { return bad.calls() > 5; });
          const int calls = bad.calls();
          CHECK(calls <= (now() - begin) / 1ms + 2);
        }
        CHECK(talks(stream));
        CHECK(told.load() == 1);
      });
    });
  }
}

TEST_CASE("server: without descriptors nobody is dropped; who waits is served once there are some [SERVE-2] [N-091]") {
  if (detail::on_valgrind()) return;  // it accepts, sees its limit, and closes what it has accepted
  on_each_engine([] {
    with_server({.max_pause = 2ms}, echo, [](Server& server) {
      rlimit before{};
      getrlimit(RLIMIT_NOFILE, &before);
      TcpStream first = TcpStream::connect(server.local());
      CHECK(talks(first));
      rlimit few = before;
      few.rlim_cur = static_cast<rlim_t>(first.fd()) + 8;
      setrlimit(RLIMIT_NOFILE, &few);
      // Both ends take of the same: some ends are missing on the other side in the end.
      std::vector<TcpStream> streams;
      IoResult made;
      for (;;) {
        TcpStream next;
        made = TcpStream::connect_result(next, server.local());
        if (!made.ok()) break;
        streams.push_back(std::move(next));
      }
      CHECK(made.os_error() == EMFILE);
      until([&] { return server.counts().accept_errors > 2 || server.counts().open == streams.size() + 1; });
      CHECK(talks(first));
      setrlimit(RLIMIT_NOFILE, &before);
      TcpStream last = TcpStream::connect(server.local());
      for (TcpStream& stream : streams) CHECK(talks(stream));
      CHECK(talks(last));
    });
  });
}

TEST_CASE("server: no memory for one connection is told, and the others go on [SERVE-2] [SERVE-3]") {
  on_each_engine([] {
    for (const IoOp op : {IoOp::accept, IoOp::option}) {
      std::atomic<int> left{0};
      std::atomic<int> told{0};
      const auto fails = [&](IoRequest& request) {
        if (request.op == op && left.fetch_sub(1) > 0) throw std::bad_alloc();
        return perform_io(request);
      };
      ServerOptions options;
      options.max_pause = 2ms;
      options.on_trouble = [&](const ServerTrouble& trouble) {
        CHECK(trouble.os_error == ENOMEM);
        ++told;
      };
      intercept(fails, [&] {
        with_server(options, echo, [&](Server& server) {
          TcpStream first = TcpStream::connect(server.local());
          CHECK(talks(first));
          left = 1;
          TcpStream second = TcpStream::connect(server.local());
          until([&] { return told.load() == 1; });
          TcpStream third = TcpStream::connect(server.local());
          CHECK(talks(first));
          CHECK(talks(third));
        });
      });
    }
  });
}

TEST_CASE("server: those for whom there is no stack are closed, counted and told; the others go on [SERVE-3] [B31]") {
  constexpr int clients = 40;
  for (const IoEngine engine : engines()) {
    for (const unsigned count : {1U, 2U}) {
      INFO("engine: ", std::string(to_string(engine)), ", workers: ", count);
      if (!has_room_for_stacks()) continue;
      RuntimeOptions few = with_engine(engine, count);
      few.stack_size = std::size_t{7} << 20;  // eight to a mapping, and nobody else has some of that size
      Runtime runtime(few);
      runtime.run([&] {
        std::atomic<int> told{0};
        ServerOptions options;
        options.max_pause = 1ms;
        options.on_trouble = [&](const ServerTrouble& trouble) {
          CHECK(trouble.os_error == ENOMEM);
          CHECK(trouble.error == nullptr);
          ++told;
        };
        with_server(options, echo, [&](Server& server) {
          std::vector<TcpStream> served;
          std::uint64_t refused = 0;
          {
            const NoStacks no_stacks;
            for (int i = 0; i < clients; ++i) {
              TcpStream stream = TcpStream::connect(server.local());
              char back[4];
              std::size_t written = 0;
              (void)stream.write_all_result("ping", written);
              if (stream.read_result(back).count() == 0) {
                ++refused;
              } else {
                served.push_back(std::move(stream));
              }
            }
            CHECK(served.size() > 0);
            CHECK(refused > 0);
            for (TcpStream& stream : served) CHECK(talks(stream));
            until([&] { return server.counts().refused == refused && told.load() > 0; });
            CHECK(server.counts().failed == refused);
            CHECK(server.counts().open == served.size());
          }
          // There are stacks again.
          if (!has_room_for_stacks()) return;
          TcpStream last = TcpStream::connect(server.local());
          CHECK(talks(last));
          for (TcpStream& stream : served) CHECK(talks(stream));
          CHECK(told.load() <= static_cast<int>(refused));
        });
      });
    }
  }
}
