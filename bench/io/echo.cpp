// SPDX-License-Identifier: MIT
// An echo server of 64-byte messages on one core: ours by the engine it chooses and by epoll, and a plain epoll loop.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "bench/io/load.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/stream.hpp"

namespace bench {
namespace {

// Before the loop that serves them: on a worker it would be a task that blocks it, and a second worker would come.
std::vector<int> accept_all(int listener, unsigned connections, int flags) {
  std::vector<int> accepted(connections);
  for (int& fd : accepted) fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | flags);
  return accepted;
}

void serve_weft(int listener, unsigned connections, weft::RuntimeOptions::IoEngine engine) {
  const std::vector<int> accepted = accept_all(listener, connections, 0);
  weft::RuntimeOptions options;
  options.workers = 1;
  options.io = engine;
  weft::Runtime runtime(options);
  runtime.run([&] {
    weft::with_nursery([&](weft::Nursery& nursery) {
      for (const int fd : accepted) {
        nursery.start([stream = weft::Stream(fd, true)]() mutable {
          std::array<char, 4096> room;
          // The clients leave in the middle of it.
          while (const std::size_t n = stream.read_result(room).count()) (void)stream.write_result({room.data(), n});
        });
      }
    });
  });
}

void serve_any_engine(int listener, unsigned connections) {
  serve_weft(listener, connections, weft::RuntimeOptions::IoEngine::any);
}
void serve_epoll_engine(int listener, unsigned connections) {
  serve_weft(listener, connections, weft::RuntimeOptions::IoEngine::epoll);
}

void serve_raw(int listener, unsigned connections) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  for (const int fd : accept_all(listener, connections, SOCK_NONBLOCK)) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  }
  unsigned left = connections;
  std::array<epoll_event, 256> events;
  while (left > 0) {
    const int n = epoll_wait(epoll, events.data(), events.size(), -1);
    for (int i = 0; i < n; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      std::array<char, 4096> room;
      const ssize_t got = recv(fd, room.data(), room.size(), 0);
      if (got <= 0) {
        close(fd);
        --left;
      } else if (send(fd, room.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) != got) {
        return;
      }
    }
  }
  close(epoll);
}

template <unsigned connections, void (*serve)(int, unsigned)>
std::vector<Reading> measured(const std::string& suffix) {
  const Load load = measure_echo(connections, serve);
  const std::string row = "echo_" + std::to_string(connections);
  return {{row + suffix, "k/s", load.requests_per_second / 1000}, {row + "_cpu" + suffix, "ns", load.server_ns}};
}

const Register entries[] = {
    Register(Probe{"io", "echo_100", Side::weft, 9, [] { return measured<100, serve_any_engine>(""); }}),
    Register(Probe{"io", "echo_100/epoll", Side::weft, 9, [] { return measured<100, serve_epoll_engine>("/epoll"); }}),
    Register(Probe{"io", "echo_100/raw_epoll", Side::plain, 9, [] { return measured<100, serve_raw>("/raw_epoll"); }}),
    Register(Probe{"io", "echo_1000", Side::weft, 9, [] { return measured<1000, serve_any_engine>(""); }}),
    Register(
        Probe{"io", "echo_1000/epoll", Side::weft, 9, [] { return measured<1000, serve_epoll_engine>("/epoll"); }}),
    Register(
        Probe{"io", "echo_1000/raw_epoll", Side::plain, 9, [] { return measured<1000, serve_raw>("/raw_epoll"); }}),
    Register(against_raw("echo_100", 0.95, Better::more)),
    Register(against_raw("echo_1000", 1.0, Better::more)),
    Register(against_raw("echo_100_cpu", 1.05, Better::less)),
};

}  // namespace
}  // namespace bench
