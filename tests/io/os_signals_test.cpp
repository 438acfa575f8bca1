// SPDX-License-Identifier: MIT
#include "weft/os_signals.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "base/sys.hpp"
#include "doctest/doctest.h"
#include "fiber/child_process.hpp"
#include "io/engines.hpp"
#include "weft/channel.hpp"
#include "weft/nursery.hpp"
#include "weft/scope.hpp"
#include "weft/sync_event.hpp"
#include "weft/tcp.hpp"

using namespace weft;
using namespace weft_test;
using namespace std::chrono_literals;

TEST_CASE("os signals: each watcher reads them, and afterwards they do what they did [N-053]") {
  struct sigaction before = {};
  sigaction(SIGUSR1, nullptr, &before);
  on_each_engine([] {
    OsSignals one({SIGUSR1, SIGUSR2});
    OsSignals two({SIGUSR1});
    with_nursery([&](Nursery& nursery) {
      auto reader = nursery.spawn([&] { return one.next(); });
      until_parked(reader);
      ::kill(getpid(), SIGUSR1);
      CHECK(reader.join() == SIGUSR1);
      CHECK(two.next() == SIGUSR1);
      ::kill(getpid(), SIGUSR2);
      CHECK(one.next() == SIGUSR2);
      CHECK(two.next_result(std::chrono::steady_clock::now() + 2ms).os_error() == ETIMEDOUT);
    });
    CHECK_THROWS_AS(OsSignals({SIGKILL}), std::system_error);
  });
  struct sigaction after = {};
  sigaction(SIGUSR1, nullptr, &after);
  CHECK((before.sa_handler == after.sa_handler));
}

TEST_CASE("os signals: SIGINT cancels the main nursery, SIGTERM drains it [N-053]") {
  for (const int number : {SIGINT, SIGTERM}) {
    on_each_engine([number] {
      OsSignals signals({SIGINT, SIGTERM});
      TcpListener listener = TcpListener::bind(Address::loopback());
      bool served = false;
      bool cancelled = false;
      SyncEvent accepted;  // a listener that closes resets who was not
      with_nursery([&](Nursery& nursery) {
        nursery.start([&] {
          if (signals.next() == SIGINT) {
            nursery.cancel();
          } else {
            listener.close();
          }
        });
        nursery.start([&] {
          with_nursery([&](Nursery& clients) {
            TcpStream client;
            while (listener.accept_result(client).ok()) {
              accepted.set();
              clients.start([&, client = std::move(client)]() mutable {
                char byte = 0;
                try {
                  served = client.read({&byte, 1}) == 1;
                } catch (const Cancelled&) {
                  cancelled = true;
                  throw;
                }
              });
            }
          });
        });
        nursery.start([&] {
          TcpStream client = TcpStream::connect(listener.local());
          accepted.wait();
          ::kill(getpid(), number);
          // The one that is there is served to its end, if the server drains.
          if (number == SIGTERM) {
            while (listener.is_open()) yield_now();
            client.write_all("x");
          }
          char byte = 0;
          (void)client.read({&byte, 1});
        });
      });
      CHECK(served == (number == SIGTERM));
      if (number == SIGTERM) CHECK_FALSE(cancelled);
    });
  }
}

namespace {

SignalBell* rung = nullptr;
std::atomic<std::uint64_t> handled{0};

void ring_it(int) {
  rung->notify_from_signal();
  ++handled;
}

class Handler {
 public:
  Handler(int number, int flags) : number_(number) {
    struct sigaction action = {};
    action.sa_handler = ring_it;
    action.sa_flags = flags;
    sigaction(number, &action, &before_);
  }
  ~Handler() { sigaction(number_, &before_, nullptr); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  int number_;
  struct sigaction before_ = {};
};

// Every third call in which a thread would wait comes back at once, as if a signal had come.
bool interrupt_waits(const detail::sys::Call& call, long* result, void* context) {
  const bool waits = (call.number == SYS_futex && (call.args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) ||
                     call.number == SYS_epoll_pwait || call.number == SYS_epoll_pwait2 ||
                     (call.number == SYS_io_uring_enter && call.args[2] != 0);
  if (!waits || static_cast<std::atomic<unsigned>*>(context)->fetch_add(1) % 3 != 0) return false;
  *result = -EINTR;
  return true;
}

}  // namespace

TEST_CASE("os signals: a handler of the program's own wakes a task, and each ring is counted [HC13]") {
  on_each_engine([] {
    SignalBell bell;
    rung = &bell;
    const Handler handler(SIGUSR1, SA_ONSTACK);
    with_nursery([&](Nursery& nursery) {
      auto waiter = nursery.spawn([&] { return bell.wait(); });
      until_parked(waiter);
      ::kill(getpid(), SIGUSR1);
      CHECK(waiter.join() == 1);
      bell.notify_from_signal();
      bell.notify_from_signal();
      CHECK(bell.wait_for(1h) == 2);
      CHECK(bell.wait_result(std::chrono::steady_clock::now() + 2ms).os_error() == ETIMEDOUT);
      CHECK_THROWS_AS((void)bell.wait_for(1ms), std::system_error);
    });
  });
}

TEST_CASE(
    "os signals: a storm of signals at the workers and waits that end by EINTR: every value, every ring arrives [B39] "
    "[HC13]") {
  const std::uint64_t signals = !plain_run() ? 300 : full_run() ? 100'000 : 8'000;
  for (const IoEngine engine : engines()) {
    CAPTURE(to_string(engine));
    SignalBell bell;
    rung = &bell;
    handled = 0;
    std::atomic<unsigned> waits{0};
    detail::sys::set_interceptor(interrupt_waits, &waits);
    const auto begun = std::chrono::steady_clock::now();
    {
      const Handler on_alternate(SIGUSR1, SA_ONSTACK | SA_RESTART);
      const Handler on_the_fiber(SIGUSR2, 0);  // on whatever stack is in use, and calls of the system end with EINTR
      std::array<std::atomic<int>, 2> workers_seen{};
      std::atomic<bool> over{false};
      std::atomic<bool> storm_over{false};
      std::thread storm([&] {
        for (unsigned i = 0; !over; ++i) {
          const int thread = workers_seen[i % 2];
          if (thread != 0) syscall(SYS_tgkill, getpid(), thread, i % 4 < 2 ? SIGUSR1 : SIGUSR2);
          if (handled >= signals) over = true;
        }
        storm_over = true;
        bell.notify_from_signal();  // the last one
      });
      Runtime runtime(with_engine(engine, 2));
      std::uint64_t heard = 0;
      std::uint64_t sent = 0;
      std::uint64_t got = 0;
      std::uint64_t sum = 0;
      bool in_order = true;
      runtime.run([&] {
        Channel<std::uint64_t> values(0);
        with_nursery([&](Nursery& nursery) {
          nursery.start([&] {
            while (!storm_over) heard += bell.wait();
          });
          nursery.start([&] {
            for (; !over; ++sent) {
              workers_seen[sent % 2] = static_cast<int>(detail::sys::gettid());
              values.send(sent);
              if (sent % 64 == 0) sleep(50us);
              if (sent % 7 == 0) yield_now();
            }
            values.close();
          });
          nursery.start([&] {
            for (const std::uint64_t value : values) {
              in_order &= value == got++;
              sum += value;
              workers_seen[got % 2] = static_cast<int>(detail::sys::gettid());
            }
          });
        });
      });
      storm.join();
      CHECK(runtime.shutdown());
      // What came after the storm's own ring.
      if (const IoResult rest = bell.wait_result(std::chrono::steady_clock::now()); rest.ok())
        heard += static_cast<std::uint64_t>(rest.value());
      CHECK(got == sent);
      CHECK(in_order);
      CHECK(sum == sent * (sent - 1) / 2);
      CHECK(heard == handled + 1);
    }
    detail::sys::set_interceptor(nullptr, nullptr);
    CHECK(waits > 0);
    const auto took = std::chrono::steady_clock::now() - begun;
    MESSAGE(handled.load(), " signals in ", std::chrono::duration_cast<std::chrono::milliseconds>(took).count(),
            " ms, ", waits.load(), " waits");
  }
}
