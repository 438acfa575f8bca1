// SPDX-License-Identifier: MIT
// An HTTP server on one core that answers "Hello, World!", and one that accepts, greets and sees off: ours by each
// engine, and a plain epoll loop that knows no HTTP but its one request line and the end of a head.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.hpp"
#include "bench/io/load.hpp"
#include "weft/http_server.hpp"
#include "weft/runtime.hpp"
#include "weft/server.hpp"

namespace bench {
namespace {

using Engine = weft::RuntimeOptions::IoEngine;

constexpr std::string_view greeting = "Hello, World!";
const Talk hello{"GET / HTTP/1.1\r\nHost: localhost:8080\r\nConnection: keep-alive\r\n\r\n",
                 std::string_view("HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 13\r\n"
                                  "Content-Type: text/plain\r\n\r\nHello, World!")
                     .size()};

template <class F>
void run_on(Engine engine, F&& body) {
  weft::RuntimeOptions options;
  options.workers = 1;
  options.io = engine;
  weft::Runtime runtime(options);
  runtime.run([&] { body(); });
}

template <Engine engine>
void serve_http(ServedPromise& served) {
  run_on(engine, [&] {
    weft::HttpServer server(weft::TcpListener::bind(weft::Address::loopback()), {},
                            [](weft::HttpRequest&, weft::HttpResponse& response) {
                              response.field("Content-Type", "text/plain").send(greeting);
                            });
    served.set_value({server.local().port(), [&] { server.stop(std::chrono::nanoseconds(0)); }});
    server.run();
  });
}

template <Engine engine>
void greet(ServedPromise& served) {
  run_on(engine, [&] {
    weft::Server server(weft::TcpListener::bind(weft::Address::loopback()), {}, [](weft::Connection& client) {
      char byte = 'h';
      std::size_t written = 0;
      (void)client.write_bytes({&byte, 1}, written, weft::never);
      (void)client.read({&byte, 1}, weft::never);
    });
    served.set_value({server.local().port(), [&] { server.stop(std::chrono::nanoseconds(0)); }});
    server.run();
  });
}

// A loop over a listener and its connections, until it is stopped.
class RawLoop {
 public:
  explicit RawLoop(ServedPromise& served)
      : epoll_(epoll_create1(EPOLL_CLOEXEC)),
        stop_(eventfd(0, EFD_CLOEXEC)),
        listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at);
    listen(listener_, 1024);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
    watch(listener_);
    watch(stop_);
    served.set_value({ntohs(at.sin_port), [fd = stop_] { eventfd_write(fd, 1); }});
  }
  ~RawLoop() {
    for (const int fd : {epoll_, stop_, listener_}) close(fd);
  }
  RawLoop(const RawLoop&) = delete;
  RawLoop& operator=(const RawLoop&) = delete;

  // begin(fd), once accepted; serve(fd): false if it is over.
  template <class B, class S>
  void run(B&& begin, S&& serve) {
    std::array<epoll_event, 256> events;
    for (;;) {
      const int n = epoll_wait(epoll_, events.data(), events.size(), -1);
      for (int i = 0; i < n; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == stop_) return;
        if (fd == listener_) {
          for (int client = 0; (client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
            begin(client);
            watch(client);
          }
        } else if (!serve(fd)) {
          close(fd);
        }
      }
    }
  }

 private:
  void watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  int epoll_;
  int stop_;
  int listener_;
};

void serve_http_raw(ServedPromise& served) {
  RawLoop loop(served);
  const std::string answer =
      "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 13\r\nContent-Type: "
      "text/plain\r\n\r\n" +
      std::string(greeting);
  loop.run(
      [](int fd) {
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      },
      [&](int fd) {
        std::array<char, 4096> room;
        const ssize_t got = recv(fd, room.data(), room.size(), 0);
        if (got <= 0) return false;
        const std::string_view head(room.data(), static_cast<std::size_t>(got));
        if (!head.starts_with("GET / HTTP/1.1\r\n") || head.find("\r\n\r\n") != head.size() - 4) return false;
        return send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(answer.size());
      });
}

void greet_raw(ServedPromise& served) {
  RawLoop loop(served);
  char byte = 'h';
  loop.run(
      [&](int fd) {
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        (void)send(fd, &byte, 1, MSG_NOSIGNAL);
      },
      [&](int fd) { return recv(fd, &byte, 1, 0) > 0; });
}

template <void (*serve)(ServedPromise&)>
std::vector<Reading> http(const std::string& suffix) {
  const Load load = measure_talk(hello, 100, serve);
  return {{"http_plaintext_100" + suffix, "k/s", load.requests_per_second / 1000},
          {"http_plaintext_100_cpu" + suffix, "ns", load.server_ns}};
}

template <void (*serve)(ServedPromise&)>
std::vector<Reading> arrivals(const std::string& suffix) {
  const Load load = measure_arrivals(64, serve);
  return {{"accept_rate" + suffix, "k/s", load.requests_per_second / 1000},
          {"accept_rate_cpu" + suffix, "ns", load.server_ns}};
}

const Register entries[] = {
    Register(Probe{"io", "http_plaintext_100", Side::weft, 9, [] { return http<serve_http<Engine::any>>(""); }}),
    Register(Probe{"io", "http_plaintext_100/epoll", Side::weft, 9,
                   [] { return http<serve_http<Engine::epoll>>("/epoll"); }}),
    Register(
        Probe{"io", "http_plaintext_100/raw_epoll", Side::plain, 9, [] { return http<serve_http_raw>("/raw_epoll"); }}),
    Register(Probe{"io", "accept_rate", Side::weft, 9, [] { return arrivals<greet<Engine::any>>(""); }}),
    Register(Probe{"io", "accept_rate/epoll", Side::weft, 9, [] { return arrivals<greet<Engine::epoll>>("/epoll"); }}),
    Register(Probe{"io", "accept_rate/raw_epoll", Side::plain, 9, [] { return arrivals<greet_raw>("/raw_epoll"); }}),
    Register(against_raw("http_plaintext_100", 0.95, Better::more)),
};

}  // namespace
}  // namespace bench
