// SPDX-License-Identifier: MIT
#include "weft/process.hpp"

#include <fcntl.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "fiber/tool_hooks.hpp"
#include "io/engines.hpp"
#include "weft/file.hpp"
#include "weft/net.hpp"
#include "weft/nursery.hpp"
#include "weft/pipe.hpp"
#include "weft/scope.hpp"

using namespace weft;
using namespace weft_test;
using namespace std::chrono_literals;

namespace {

std::string all_of(Stream& stream) {
  std::string text;
  char room[1000];
  while (const std::size_t n = stream.read(room)) text.append(room, n);
  return text;
}

bool lives(int pid) {
  return ::kill(pid, 0) == 0;
}

}  // namespace

TEST_CASE("process: what it writes is read, what it reads is written, and its end is known [N-052]") {
  if (detail::on_valgrind()) return;  // no pidfd_open
  on_each_engine([] {
    Process cat = Process::start("cat", {}, {.in = ProcessStream::pipe, .out = ProcessStream::pipe});
    with_nursery([&](Nursery& nursery) {
      nursery.start([&] {
        cat.in().write_all(std::string(200'000, 'x'));
        cat.in().close();
      });
      CHECK(all_of(cat.out()) == std::string(200'000, 'x'));
    });
    CHECK(cat.wait() == ExitStatus{0, 0});
    CHECK(cat.wait().ok());  // again
    Process shell = Process::start("/bin/sh", {"-c", "echo out; echo err >&2; echo $WORD; exit 7"},
                                   {.in = ProcessStream::null,
                                    .out = ProcessStream::pipe,
                                    .err = ProcessStream::pipe,
                                    .environment = std::vector<std::string>{"WORD=word"}});
    CHECK(all_of(shell.out()) == "out\nword\n");
    CHECK(all_of(shell.err()) == "err\n");
    CHECK(shell.wait() == ExitStatus{7, 0});
    // An emulator forks where vfork is meant: what the child tells of its failure stays in the child.
    if (!emulated()) CHECK_THROWS_AS((void)Process::start("/no/such/program"), std::system_error);
  });
}

TEST_CASE("process: a cancelled wait kills and reaps; so does the end of its owner [N-052]") {
  if (detail::on_valgrind()) return;  // no pidfd_open
  on_each_engine([] {
    int pid = 0;
    {
      Process sleeper = Process::start("sleep", {"1000"});
      pid = sleeper.pid();
      CHECK(lives(pid));
      CHECK_THROWS_AS((void)sleeper.wait_for(1ms), std::system_error);
      CHECK(lives(pid));
      CHECK_FALSE(timeout(5ms, [&] { (void)sleeper.wait(); }));
      CHECK_FALSE(lives(pid));
      CHECK(sleeper.wait() == ExitStatus{0, SIGKILL});
    }
    {
      const Process sleeper = Process::start("sleep", {"1000"});
      pid = sleeper.pid();
    }
    CHECK_FALSE(lives(pid));
    Process killed = Process::start("sleep", {"1000"});
    killed.kill(SIGTERM);
    CHECK(killed.wait() == ExitStatus{0, SIGTERM});
    killed.kill(SIGTERM);  // nobody
  });
}

TEST_CASE("io: every descriptor that we open closes on exec [B38]") {
  if (detail::on_valgrind()) return;  // no pidfd_open
  const auto kept = [] {
    std::vector<int> open;
    for (int fd = 0; fd < 1000; ++fd) {
      const long flags = weft::detail::sys::fcntl(fd, F_GETFD, 0);
      if (flags >= 0 && (flags & FD_CLOEXEC) == 0) open.push_back(fd);
    }
    return open;
  };
  const std::vector<int> before = kept();
  on_each_engine([&] {
    Process cat = Process::start("cat", {}, {.in = ProcessStream::pipe, .out = ProcessStream::pipe});
    TcpListener listener = TcpListener::bind(Address::loopback());
    const TcpStream client = TcpStream::connect(listener.local());
    const TcpStream server = listener.accept();
    const UdpSocket udp = UdpSocket::bind(Address::loopback());
    const auto pair = UnixStream::make_pair();
    const Pipe pipe = make_pipe();
    const File file = File::open("/dev/null");
    CHECK(kept() == before);
  });
}
