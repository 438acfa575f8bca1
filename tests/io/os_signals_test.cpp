// SPDX-License-Identifier: MIT
#include "weft/os_signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "weft/nursery.hpp"
#include "weft/scope.hpp"
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
