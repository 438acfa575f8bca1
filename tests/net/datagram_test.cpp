// SPDX-License-Identifier: MIT
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "weft/nursery.hpp"
#include "weft/udp.hpp"
#include "weft/unix_socket.hpp"

using namespace weft;
using namespace weft_test;
using namespace std::chrono_literals;

TEST_CASE("udp: datagrams keep their borders and their senders [N-051] [N-056]") {
  on_each_engine([] {
    UdpSocket a = UdpSocket::bind(Address::loopback());
    UdpSocket b = UdpSocket::bind(Address::loopback());
    char room[100];
    with_nursery([&](Nursery& nursery) {
      auto receiver = nursery.spawn([&] {
        const Datagram one = b.receive(room);
        CHECK(std::string(room, one.size) == "one");
        CHECK(one.from == a.local());
        const Datagram two = b.receive(room);
        CHECK(std::string(room, two.size) == "second");
        (void)b.send_to("back", two.from);
      });
      until_parked(receiver);
      CHECK(a.send_to("one", b.local()) == 3);
      CHECK(a.send_to("second", b.local()) == 6);
      CHECK(a.receive(room).size == 4);
    });
    Address from;
    CHECK(a.receive_result(room, from, std::chrono::steady_clock::now() + 3ms).os_error() == ETIMEDOUT);
    CHECK(a.send_to("", b.local()) == 0);
    CHECK(b.receive(room).size == 0);
  });
}

TEST_CASE("udp: nobody there: the next call on a connected socket says so [N-051]") {
  on_each_engine([] {
    UdpSocket a = UdpSocket::bind(Address::loopback());
    Address nobody;
    {
      const UdpSocket gone = UdpSocket::bind(Address::loopback());
      nobody = gone.local();
    }
    a.connect(nobody);
    (void)a.send("anybody?");
    char room[10];
    Address from;
    CHECK(a.receive_result(room, from, std::chrono::steady_clock::now() + 2s).os_error() == ECONNREFUSED);
  });
}

TEST_CASE("unix: streams by an abstract name and as a pair; a full queue makes a client wait [N-051] [N-056]") {
  on_each_engine([] {
    const std::string name = std::string(1, '\0') + "weft-test-" + std::to_string(seam::monotonic_ns());
    const Address where = Address::unix_path(name);
    UnixListener listener = UnixListener::bind(where, 1);
    CHECK(listener.local() == where);
    with_nursery([&](Nursery& nursery) {
      for (int i = 0; i < 6; ++i) {
        nursery.start([&] {
          UnixStream stream = UnixStream::connect(where);
          stream.write_all("hi");
          stream.shutdown_write();
          char byte = 0;
          CHECK(stream.read({&byte, 1}) == 0);
        });
      }
      for (int i = 0; i < 6; ++i) {
        UnixStream client = listener.accept();
        char room[2];
        client.read_exactly(room);
        char byte = 0;
        CHECK(client.read({&byte, 1}) == 0);
      }
    });
    auto [a, b] = UnixStream::make_pair();
    a.write_all("pair");
    char room[4];
    b.read_exactly(room);
    listener.close();
    UnixStream none;
    CHECK(UnixStream::connect_result(none, where).os_error() == ECONNREFUSED);
  });
}

TEST_CASE("address: read and written") {
  CHECK(Address::ip("10.1.2.3", 80).to_string() == "10.1.2.3:80");
  CHECK(Address::ip("::1", 443).to_string() == "[::1]:443");
  CHECK(Address::loopback(5).port() == 5);
  CHECK(Address::unix_path("/run/x").to_string() == "unix:/run/x");
  CHECK_THROWS_AS((void)Address::ip("localhost", 1), std::invalid_argument);
  CHECK_THROWS_AS((void)Address::unix_path(std::string(200, 'x')), std::invalid_argument);
}
