// SPDX-License-Identifier: MIT
#include "bench/io/load.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/harness.hpp"

namespace bench {
namespace {

constexpr std::uint64_t warm_up_ns = 200'000'000;
constexpr std::uint64_t measured_ns = 700'000'000;

void demand(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

int make_listener(sockaddr_in& at) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  demand(fd >= 0, "socket");
  at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  demand(bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0, "bind");
  demand(listen(fd, 2048) == 0, "listen");
  demand(getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0, "getsockname");
  return fd;
}

std::uint64_t cpu_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

class Clients {
 public:
  Clients(const sockaddr_in& to, unsigned count, std::string text, std::size_t answer)
      : epoll_(epoll_create1(EPOLL_CLOEXEC)), text_(std::move(text)), answer_(answer) {
    demand(epoll_ >= 0, "epoll_create1");
    for (unsigned i = 0; i < count; ++i) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      demand(fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0, "connect");
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = fd;
      demand(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
      fds_.push_back(fd);
    }
  }
  ~Clients() {
    for (const int fd : fds_) close(fd);
    close(epoll_);
  }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  void ask_all() {
    for (const int fd : fds_) ask(fd);
  }
  // Answers that came until then.
  std::uint64_t run_until(std::uint64_t when) {
    std::uint64_t answers = 0;
    while (now_ns(Clock::wall) < when) answers += run_once();
    return answers;
  }

 private:
  void ask(int fd) {
    demand(send(fd, text_.data(), text_.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text_.size()), "send");
  }
  std::uint64_t run_once() {
    std::array<epoll_event, 256> events;
    const int n = epoll_wait(epoll_, events.data(), events.size(), 1000);
    demand(n > 0, "no answer for a second");
    for (int i = 0; i < n; ++i) {
      std::array<char, 4096> room;
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      demand(recv(fd, room.data(), room.size(), 0) == static_cast<ssize_t>(answer_), "recv");
      ask(fd);
    }
    return static_cast<std::uint64_t>(n);
  }

  int epoll_;
  std::vector<int> fds_;
  std::string text_;
  std::size_t answer_;
};

}  // namespace

void pin_to(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu % std::thread::hardware_concurrency(), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

namespace {

template <class Side>
Load measured_by(Side& clients, clockid_t server) {
  (void)clients.run_until(now_ns(Clock::wall) + warm_up_ns);
  const std::uint64_t begin = now_ns(Clock::wall);
  const std::uint64_t cpu = cpu_of(server);
  const std::uint64_t answers = clients.run_until(begin + measured_ns);
  Load load;
  load.server_ns = static_cast<double>(cpu_of(server) - cpu) / static_cast<double>(answers);
  load.requests_per_second = static_cast<double>(answers) * 1e9 / static_cast<double>(now_ns(Clock::wall) - begin);
  return load;
}

// Runs it beside `client(where, the server's clock)`.
template <class F>
Load beside(void (*serve)(ServedPromise&), F&& client) {
  ServedPromise promise;
  std::future<Served> future = promise.get_future();
  std::thread server([&] {
    pin_to(server_cpu);
    serve(promise);
  });
  const Served served = future.get();
  clockid_t clock{};
  pthread_getcpuclockid(server.native_handle(), &clock);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(served.port);
  pin_to(client_cpu);
  const Load load = client(at, clock);
  served.stop();
  server.join();
  return load;
}

// Comes, waits for the greeting, and goes by a reset, which leaves nothing behind in the kernel.
class Arrivals {
 public:
  Arrivals(const sockaddr_in& to, unsigned at_once) : to_(to), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (unsigned i = 0; i < at_once; ++i) arrive();
  }
  ~Arrivals() {
    for (const int fd : fds_) close(fd);
    close(epoll_);
  }
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  std::uint64_t run_until(std::uint64_t when) {
    std::uint64_t greeted = 0;
    while (now_ns(Clock::wall) < when) {
      std::array<epoll_event, 256> events;
      const int n = epoll_wait(epoll_, events.data(), events.size(), 1000);
      demand(n > 0, "no greeting for a second");
      for (int i = 0; i < n; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        char byte = 0;
        demand(recv(fd, &byte, 1, 0) == 1, "recv");
        close(fd);
        fds_.erase(fd);
        arrive();
        ++greeted;
      }
    }
    return greeted;
  }

 private:
  void arrive() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    demand(fd >= 0, "socket");
    const linger reset{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    const int result = connect(fd, reinterpret_cast<const sockaddr*>(&to_), sizeof to_);
    demand(result == 0 || errno == EINPROGRESS, "connect");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    demand(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
    fds_.insert(fd);
  }

  sockaddr_in to_;
  int epoll_;
  std::set<int> fds_;
};

}  // namespace

Load measure_talk(const Talk& talk, unsigned connections, void (*serve)(ServedPromise&)) {
  return beside(serve, [&](const sockaddr_in& at, clockid_t clock) {
    Clients clients(at, connections, talk.question, talk.answer);
    clients.ask_all();
    return measured_by(clients, clock);
  });
}

Load measure_arrivals(unsigned at_once, void (*serve)(ServedPromise&)) {
  return beside(serve, [&](const sockaddr_in& at, clockid_t clock) {
    Arrivals arrivals(at, at_once);
    return measured_by(arrivals, clock);
  });
}

Load measure_echo(unsigned connections, void (*serve)(int listener, unsigned connections)) {
  sockaddr_in at{};
  const int listener = make_listener(at);
  std::thread server([=] {
    pin_to(server_cpu);
    serve(listener, connections);
  });
  clockid_t clock{};
  pthread_getcpuclockid(server.native_handle(), &clock);
  Load load;
  {
    pin_to(client_cpu);
    Clients clients(at, connections, std::string(question, '\0'), question);
    clients.ask_all();
    load = measured_by(clients, clock);
  }
  server.join();
  close(listener);
  return load;
}

Bar against_raw(const char* row, double limit, Better better) {
  return {"io",
          std::string(row) + ", against a plain epoll loop",
          "x",
          limit,
          better == Better::less,
          [row](const Results& results, Taken which) {
            return compared(results, which, row, std::string(row) + "/raw_epoll",
                            [](double a, double b) { return a / b; });
          }};
}

}  // namespace bench
